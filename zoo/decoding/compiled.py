"""Functions of a model, compiled for the backend and kept with the model.

Torch compiles nothing, but traces one step of a search for each shape: without Keras's
and Python's own work for each operation, a step of greedy search on a CPU takes a third
less. `torch.jit.trace` is deprecated, but `make_fx` took longer and its steps were no
faster.
"""

import collections
import contextlib
import functools
import threading
from collections.abc import Callable, Hashable
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from zoo.backend import Tensor, trace
from zoo.layers.lora import merged_lora

_keeping = threading.RLock()


def compiled(
    model: Any, key: Hashable, function: Callable[..., tuple[Tensor, ...]]
) -> Callable[..., list[np.ndarray]]:
    """Compiles a function of tensors, to a tuple of them, that reads a model's weights.

    It takes and returns NumPy arrays; it is kept with the model and reused for the same
    key until the model's variables are replaced (another backbone, quantization).
    """
    # A partial, since TensorFlow counts the programs of one function as retracings.
    whole = functools.partial(_share_lora_sums, model, function)
    return cached_on_model(model, key, functools.partial(_compile, whole))


def cached_on_model(model: Any, key: Hashable, make: Callable[[list[Any]], Any]) -> Any:
    """Keeps what `make` makes of a model's variables with it, as `compiled` is."""
    variables = list(model.variables)
    with _keeping:  # two batches at a time may ask for it
        previous, made = model.__dict__.get("_compiled", ([], {}))
        if list(map(id, previous)) != list(map(id, variables)):
            made = {}
        model.__dict__["_compiled"] = variables, made
        if key not in made:
            made[key] = make(variables)
        return made[key]


def _share_lora_sums(model, function, *arrays):
    """Calls the function, whose steps share the sums of LoRA's matrices."""
    members = getattr(model, "models", [model])  # of an ensemble
    # A model of a user's own may be no Keras model.
    tasks = [task for task in members if isinstance(task, keras.Layer)]
    with merged_lora(layer for task in tasks for layer in task._flatten_layers()):
        return function(*arrays)


def _compile(function, variables):
    backend = keras.backend.backend()
    if backend == "torch":  # nothing to compile
        import torch

        def run_eagerly(*arrays):
            with torch.no_grad():
                outputs = function(*map(ops.convert_to_tensor, arrays))
            return [ops.convert_to_numpy(output) for output in outputs]

        return run_eagerly
    if backend == "tensorflow":
        import tensorflow as tf

        graph = tf.function(function, reduce_retracing=True, autograph=False)

        def run(*arrays):
            return graph(*map(tf.constant, arrays))

    else:
        import jax

        @jax.jit
        def graph(values, *arrays):
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return function(*arrays)

        def run(*arrays):
            return graph([variable.value for variable in variables], *arrays)

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


# === Steps traced by torch ===


def can_trace(model: Any) -> bool:
    """Returns whether the steps of a search with a model can be traced.

    Those of a user's own object without Keras variables can't, nor those of a model
    with LoRA, whose sums are computed before a search.
    """
    variables = getattr(model, "variables", ())
    return bool(variables) and all(
        isinstance(variable, keras.Variable) and not variable.name.startswith("lora_")
        for variable in variables
    )


def traced(
    model: Any, key: Hashable, function: Callable[[Any, Any], Any], *given: Any
) -> Callable[[Any], Any]:
    """Traces a function of two structures of tensors that returns one like the first.

    The result is a function of the first; the second is the same at each call. What
    isn't a tensor, such as None, is part of what is traced. The program is kept with
    the model and takes the weights as arguments.
    """
    import torch

    first, as_first = _tensors(given[0])
    second, as_second = _tensors(given[1])
    variables = list(model.variables)
    weights = [variable.value.detach() for variable in variables]

    def flat(*inputs):
        rest = inputs[len(variables) :]
        mapping = list(zip(variables, inputs, strict=False))
        with keras.StatelessScope(state_mapping=mapping):
            after = function(as_first(rest), as_second(rest[len(first) :]))
        return tuple(_tensors(after)[0])

    kinds = tuple(
        (x.shape, x.dtype, x.device) if isinstance(x, torch.Tensor) else repr(x)
        for x in tree.flatten((given, weights))
    )
    inputs = *weights, *first, *second
    program = cached_on_model(model, (key, kinds), lambda _: trace(flat, *inputs))
    # The executor's optimizations cost as much as ten steps and gain nothing on a CPU.
    optimize = first[0].device.type != "cpu"

    def run(structure):
        with torch.jit.optimized_execution(optimize):
            return as_first(program(*weights, *_tensors(structure)[0], *second))

    return run


def _tensors(structure: Any) -> tuple[list[Tensor], Callable[[Any], Any]]:
    """Returns a structure's tensors, and a function that puts others in their places.

    What isn't a tensor stays as it is.
    """
    import torch

    flat = tree.flatten(structure)

    def replaced(tensors):
        left = iter(tensors)
        new = [next(left) if isinstance(x, torch.Tensor) else x for x in flat]
        return tree.pack_sequence_as(structure, new)

    return [x for x in flat if isinstance(x, torch.Tensor)], replaced
