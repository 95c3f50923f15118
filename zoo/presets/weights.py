"""A preset's weights files, and the model that is made for them.

A configuration says how large a model is, and the files how large the weights are. Here
the two are compared before a model of that size takes its memory.
"""

import contextlib
import json
import math
import threading
from pathlib import Path

from zoo.presets.card import CONFIG_FILE, TASK_FILE, WEIGHTS_FILES, PresetError

_LAYERS = "num_layers"
_loading = threading.RLock()


def measure(folder):
    """Counts what the weights files of a preset hold, by their headers alone.

    Args:
        folder: path of the preset folder.

    Returns:
        (int, int). Arrays, and numbers in all of them.

    Raises:
        PresetError: if a file is none of Keras's, or declares more than it has.
        FileNotFoundError: without any such file.
    """
    import h5py

    arrays = numbers = 0
    paths = [path for name in WEIGHTS_FILES if (path := Path(folder) / name).is_file()]
    if not paths:
        raise FileNotFoundError(f"{folder} has no {WEIGHTS_FILES[0]}")
    for path in paths:
        try:
            with h5py.File(path) as file:
                sizes = _sizes(file)
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            raise PresetError(f"{path} is no weights file: {error}") from error
        declared, there = sum(size for _, size in sizes), path.stat().st_size
        if declared > there:  # Keras compresses nothing
            raise PresetError(
                f"{path} is damaged: it declares {declared:,} bytes of weights, "
                f"received a file of {there:,}"
            )
        arrays += len(sizes)
        numbers += sum(size for size, _ in sizes)
    return arrays, numbers


def _sizes(file):
    """(numbers, bytes) of each array in an open HDF5 file."""
    sizes = []

    def note(_, item):
        if hasattr(item, "shape"):
            sizes.append((item.size, item.nbytes))

    file.visititems(note)
    return sizes


@contextlib.contextmanager
def fitting(folder):
    """While a preset's model is made, holds it to what the weights files hold.

    Its weights begin as zeros, since they are read from the files in the end: random
    ones take time, under JAX most of what loading takes.

    Args:
        folder: path of the preset folder.

    Raises:
        PresetError: where the configuration asks for more layers or weights than there
            are.
    """
    import keras

    arrays, numbers = measure(folder)
    _check_layers(folder, arrays)
    this, count = threading.get_ident(), 0

    def add_weight(layer, shape=None, initializer=None, *args, **kwargs):
        nonlocal count
        if threading.get_ident() != this:  # another thread's model is its own
            return plain(layer, shape, initializer, *args, **kwargs)
        count += math.prod(shape or ())
        # A quantized layer makes its matrix twice. The rest is refused to the number
        # when the files are read.
        if count > 2 * numbers:
            raise PresetError(
                f"the files of {folder} hold {numbers:,} weights, its configuration "
                f"asks for more: {layer.name} has {kwargs.get('name')} of shape {shape}"
            )
        return plain(layer, shape, "zeros", *args, **kwargs)

    with _loading:
        plain, keras.Layer.add_weight = keras.Layer.add_weight, add_weight
        try:
            yield
        finally:
            keras.Layer.add_weight = plain


def _check_layers(folder, arrays):
    """Layers are made before their weights: a million take a minute."""
    for name in (CONFIG_FILE, TASK_FILE):
        path = Path(folder) / name
        if not path.is_file():
            continue
        pending = [json.loads(path.read_text(encoding="utf-8"))]
        while pending:
            item = pending.pop()
            if isinstance(item, list):
                pending += item
            elif isinstance(item, dict):
                pending += item.values()
                layers = item.get(_LAYERS)
                if isinstance(layers, int) and layers > arrays:
                    raise PresetError(
                        f"{path} asks for {_LAYERS}={layers:,}, more than the weights "
                        f"files have arrays, {arrays}"
                    )


def check_finite(model, folder):
    """Refuses weights that are NaN or infinite: a model with them answers nonsense."""
    import keras
    from keras import ops

    for variable in model.variables:
        if not keras.backend.is_float_dtype(variable.dtype):
            continue
        wrong = int(ops.sum(ops.cast(~ops.isfinite(variable.value), "int32")))
        if wrong:
            raise PresetError(
                f"the weights of {folder} are damaged: {variable.path} must be finite, "
                f"received {wrong} numbers that are NaN or infinite"
            )
