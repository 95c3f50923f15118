"""Builds models from the files of verified presets.

Nothing here unpickles, and Keras's safe mode stays on.
"""

import contextlib
import json
import math
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import keras
import keras_hub
import numpy as np

from zoo.backend import without_tensorflow
from zoo.files import StrPath
from zoo.presets.card import CONFIG_FILE, TASK_FILE, WEIGHTS_FILES, PresetError

# What Keras, h5py and SentencePiece raise for a file that does not fit. RuntimeError
# covers a RecursionError, LookupError a key or an index.
_MISFITS = (AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def build(cls: Any, folder: StrPath, kwargs: dict[str, Any]) -> Any:
    """Builds a task or a backbone of the class from the files of a verified folder.

    It raises a PresetError if the files do not make such an object with `kwargs`.
    """
    # zoo's `from_preset` would verify the folder again.
    from_folder = getattr(cls, "_from_folder", cls.from_preset)
    weighted = kwargs.get("load_weights", True)
    try:
        with (
            warnings.catch_warnings(),
            without_tensorflow(),
            fitting(folder) if weighted else contextlib.nullcontext(),
        ):
            # Keras only warns if it finds no weights for layers in a nested list.
            warnings.filterwarnings("error", message=".*freshly-initialized weights")
            # An absolute path, since KerasHub would fetch a bare name of its own.
            model = from_folder(str(Path(folder).absolute()), **kwargs)
    except (*_MISFITS, UserWarning) as error:
        reason = " ".join(str(error).split())
        given = "".join(f" with {name}={value!r}" for name, value in kwargs.items())
        raise PresetError(
            f"the files of {folder} do not make a {cls.__name__}{given}: {reason}"
        ) from error
    _check_finite(model, folder)
    return model


def task_class(folder: Path) -> Any:
    """Returns the task's class in zoo; rejects any other class before it is loaded."""
    cls = _registered_class(folder, TASK_FILE)
    if not issubclass(cls, keras_hub.models.Task):
        raise PresetError(f"{TASK_FILE} in {folder} should name a task of zoo.models")
    if _registered_class(folder, CONFIG_FILE) is not cls.backbone_cls:
        raise PresetError(
            f"{CONFIG_FILE} in {folder} should name {cls.backbone_cls.__name__} of "
            f"zoo.models, the backbone of {cls.__name__}"
        )
    return cls


def _registered_class(folder, file_name):
    """Returns the class of zoo that a file names."""
    try:
        config = json.loads((folder / file_name).read_text(encoding="utf-8"))
        name = config["registered_name"]
        cls = name.startswith("zoo>") and keras.saving.get_registered_object(name)
    except _MISFITS as error:
        raise PresetError(
            f"{file_name} is missing from {folder}, or damaged; a task of zoo.models "
            f"that save_to_preset wrote can be loaded: {error!r}"
        ) from None
    if not isinstance(cls, type):
        raise PresetError(
            f"{file_name} in {folder} should name a class of zoo.models, received "
            f"{name!r}"
        )
    return cls


# === Weights ===

_LOADING = threading.RLock()


def measure(folder: StrPath) -> tuple[int, int]:
    """Counts the arrays in a preset's weights files, and the numbers in all of them.

    Their headers alone are read. A file that is not one of Keras's, or declares more
    than it has, is a PresetError.
    """
    sizes, paths = list[int](), [Path(folder) / name for name in WEIGHTS_FILES]
    for path in [path for path in paths if path.is_file()] or paths[:1]:
        items = list[Any]()
        try:
            with h5py.File(path) as file:
                file.visititems(lambda _, item: items.append(item))  # noqa: B023
                items = [item for item in items if hasattr(item, "shape")]
                sizes += [item.size for item in items]
                declared = sum(item.nbytes for item in items)
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            raise PresetError(f"{path} is not a weights file: {error}") from error
        actual = path.stat().st_size
        if declared > actual:  # Keras compresses nothing
            raise PresetError(
                f"{path} is damaged: it declares {declared:,} bytes of weights, "
                f"received a file of {actual:,}"
            )
    return len(sizes), sum(sizes)


def _check_layers(folder, arrays):
    """Rejects more layers than there are arrays; thousands take minutes to create."""
    for path in Path(folder).glob("*.json"):
        found = re.findall(r'"num_layers"\s*:\s*(\d+)', path.read_text("utf-8"))
        layers = max(map(int, found), default=0)
        if layers > arrays:
            raise PresetError(
                f"the files of {folder} hold {arrays:,} arrays, {path.name} asks for "
                f"more: num_layers={layers:,}"
            )


@contextlib.contextmanager
def fitting(folder: StrPath) -> Iterator[None]:
    """Limits a model that is built inside to the content of its weights files.

    Weights are initialized with zeros, since they are read from the files anyway, and
    random ones take time: under JAX most of the loading time.
    """
    arrays, numbers = measure(folder)
    _check_layers(folder, arrays)
    this, count = threading.get_ident(), 0

    class Zeros(keras.initializers.Zeros):  # a function's __call__ JAX cannot compile
        def __call__(self, shape, dtype=None):  # by NumPy: JAX compiles each shape
            return keras.ops.convert_to_tensor(np.zeros(shape, "float32"), dtype)

    def add_weight(layer, shape=None, initializer=None, *args, **kwargs):
        nonlocal count
        if threading.get_ident() != this:  # another thread's model is its own
            return plain(layer, shape, initializer, *args, **kwargs)
        count += math.prod(shape or ())
        # A quantized layer creates its matrix twice. Reading the files checks exactly.
        if count > 2 * numbers:
            raise PresetError(
                f"the files of {folder} hold {numbers:,} weights, its configuration "
                f"asks for more: {layer.name} has {kwargs.get('name')} of shape {shape}"
            )
        return plain(layer, shape, Zeros(), *args, **kwargs)

    with _LOADING:
        plain, keras.Layer.add_weight = keras.Layer.add_weight, add_weight
        try:
            yield
        finally:
            keras.Layer.add_weight = plain


def _check_finite(model: Any, folder: StrPath) -> None:
    """Rejects weights that are NaN or infinite."""
    for variable in model.variables:
        if not keras.backend.is_float_dtype(variable.dtype):
            continue
        with warnings.catch_warnings():  # what NumPy 2 has to say of Keras under torch
            warnings.simplefilter("ignore", DeprecationWarning)
            # By NumPy: JAX would compile it for each shape.
            values = keras.ops.convert_to_numpy(variable.value)
        if wrong := np.count_nonzero(~np.isfinite(values)):
            raise PresetError(
                f"the weights of {folder} are damaged: {variable.path} must be finite, "
                f"received {wrong} numbers that are NaN or infinite"
            )
