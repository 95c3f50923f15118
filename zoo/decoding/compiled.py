"""Functions of a model, compiled for the backend and kept with the model."""

import collections
import contextlib
import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.backend import Tensor
from zoo.layers.lora import merged_lora

_keeping = threading.RLock()


def compiled(
    model: Any, key: Hashable, function: Callable[..., tuple[Tensor, ...]]
) -> Callable[..., list[np.ndarray]]:
    """Returns a compiled version of a function that reads a model's weights.

    It is kept with the model and reused for the same key until the model's variables
    are replaced (another backbone, quantization).

    Args:
        model: a Keras model.
        key: identifies the function among those of the model.
        function: function of tensors that returns a tuple of tensors.

    Returns:
        A function of NumPy arrays that returns a list of NumPy arrays.
    """
    # A partial, since TensorFlow counts the programs of one function as retracings.
    whole = functools.partial(_share_lora_sums, model, function)
    return kept(model, key, lambda variables: _compile(variables, whole))


def kept(model: Any, key: Hashable, make: Callable[[list[Any]], Any]) -> Any:
    """Returns what `make` makes of a model's variables, kept with it as `compiled` is.

    Args:
        model: a Keras model.
        key: identifies it among what is kept.
        make: function of the list of the model's variables.
    """
    variables = list(model.variables)
    with _keeping:  # two batches at a time may ask for it
        previous, functions = model.__dict__.get("_compiled", ([], {}))
        if len(previous) != len(variables) or any(
            a is not b for a, b in zip(previous, variables, strict=True)
        ):
            functions = {}
        model.__dict__["_compiled"] = variables, functions
        if key not in functions:
            functions[key] = make(variables)
        return functions[key]


def compile_search(
    model: Any, search: Any, steps: int, names: Sequence[str] = ()
) -> Callable[..., list[np.ndarray]]:
    """Returns the search as a function of arrays, `steps` wide; see `Search.program`.

    Searches of equal arguments share one program.
    """
    names = (*names, "settings", *["banned"] * bool(search.banned_ids))

    def run(source_ids, limits, *options):
        options = dict(zip(names, options, strict=True))
        return search(model, source_ids, limits, steps, **options)

    program = compiled(model, (search.key(), steps, names), run)
    settings = [search.settings()] + ([search.banned()] if search.banned_ids else [])
    return lambda *arrays: program(*arrays, *settings)


def _share_lora_sums(model, function, *arrays):
    """Calls the function, whose steps share the sums of LoRA's matrices."""
    members = getattr(model, "models", [model])  # of an ensemble
    # A model of a user's own may be no Keras model.
    tasks = [task for task in members if isinstance(task, keras.Layer)]
    with merged_lora(layer for task in tasks for layer in task._flatten_layers()):
        return function(*arrays)


def _compile(variables, function):
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        graph = tf.function(function, reduce_retracing=True, autograph=False)

        def run(*arrays):
            return graph(*(tf.constant(array) for array in arrays))

    elif backend == "jax":
        import jax

        @jax.jit
        def graph(values, *arrays):
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return function(*arrays)

        def run(*arrays):
            return graph([variable.value for variable in variables], *arrays)

    else:
        import torch

        def run(*arrays):
            with torch.no_grad():
                return function(*(ops.convert_to_tensor(array) for array in arrays))

    # Two batches of a new shape don't both compile it.
    first: dict[Any, Any] = collections.defaultdict(threading.Lock)
    known = set()

    def convert(*arrays):
        shapes = tuple(array.shape for array in arrays)
        with contextlib.nullcontext() if shapes in known else first[shapes]:
            outputs = run(*arrays)
        known.add(shapes)
        return [ops.convert_to_numpy(output) for output in outputs]

    return convert
