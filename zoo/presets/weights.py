"""Checks a preset's configuration against the size of its weights files.

The configuration determines how large a model is. Here it is compared with the weights
files before the model takes any memory.
"""

import contextlib
import math
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.presets.card import CONFIG_FILE, TASK_FILE, WEIGHTS_FILES, PresetError

_loading = threading.RLock()


def measure(folder: StrPath) -> tuple[int, int]:
    """Counts the arrays in a preset's weights files, and the values in all of them.

    Their headers alone are read.

    Raises:
        PresetError: if a file is not one of Keras's, or declares more than it has.
    """
    import h5py

    sizes = list[int]()
    paths = [path for name in WEIGHTS_FILES if (path := Path(folder) / name).is_file()]
    if not paths:
        raise FileNotFoundError(f"{folder} has no {WEIGHTS_FILES[0]}")
    for path in paths:
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


@contextlib.contextmanager
def fitting(folder: StrPath) -> Iterator[None]:
    """Limits a model that is built inside to the content of its weights files.

    Weights are initialized with zeros, since they are read from the files anyway, and
    random ones take time: under JAX most of the loading time.
    """
    import keras
    import numpy as np

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

    with _loading:
        plain, keras.Layer.add_weight = keras.Layer.add_weight, add_weight
        try:
            yield
        finally:
            keras.Layer.add_weight = plain


def _check_layers(folder, arrays):
    """Checks layer counts; a million layers would take a minute to create."""
    for name in (CONFIG_FILE, TASK_FILE):
        path = Path(folder) / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for layers in map(int, re.findall(r'"num_layers"\s*:\s*(\d+)', text)):
            if layers > arrays:
                raise PresetError(
                    f"{path} asks for num_layers={layers:,}, more than the weights "
                    f"files have arrays, {arrays}"
                )


def check_finite(model: Any, folder: StrPath) -> None:
    """Rejects weights that are NaN or infinite."""
    import keras
    import numpy as np

    for variable in model.variables:
        if not keras.backend.is_float_dtype(variable.dtype):
            continue
        with warnings.catch_warnings():  # what NumPy 2 has to say of Keras under torch
            warnings.simplefilter("ignore", DeprecationWarning)
            # By NumPy: JAX would compile it for each shape.
            values = keras.ops.convert_to_numpy(variable.value)
        wrong = values.size - np.count_nonzero(np.isfinite(values))
        if wrong:
            raise PresetError(
                f"the weights of {folder} are damaged: {variable.path} must be finite, "
                f"received {wrong} numbers that are NaN or infinite"
            )
