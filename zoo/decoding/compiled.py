"""Functions of a model, compiled for the backend and kept with the model.

Torch compiles nothing, but traces one step of a search for each shape: without Keras's
and Python's own work for each operation, a step of greedy search on a CPU takes a third
less. `torch.jit.trace` is deprecated, but `make_fx` took longer and its steps were no
faster.
"""

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from zoo.backend import trace
from zoo.layers.lora import merged_lora

_TRACING = threading.Lock()  # batches may run in several threads


def compiled(
    model: Any,
    key: Hashable,
    function: Callable[..., tuple[Any, ...]],
    make: Callable[[Any, Any], Any] | None = None,
) -> Callable[..., list[np.ndarray]]:
    """Compiles a function of tensors, to a tuple of them, that reads a model's weights.

    It takes and returns NumPy arrays; it is kept with the model and reused for the same
    key until the model's variables are replaced (another backbone, quantization).
    `make` compiles it otherwise.
    """
    variables = list(model.variables)
    previous, programs = model.__dict__.get("_compiled", ([], {}))
    if list(map(id, previous)) != list(map(id, variables)):
        programs = {}
        model.__dict__["_compiled"] = variables, programs
    if key not in programs:
        programs.setdefault(key, (make or _compile)(model, function))
    return programs[key]


def _compile(model, function):
    if any(variable.name.startswith("lora_") for variable in model.variables):
        function = _share_lora_sums(model, function)
    # A partial, since TensorFlow counts the programs of one function as retracings.
    function = functools.partial(function)
    backend = keras.backend.backend()
    if backend == "torch":  # nothing to compile
        import torch

        run = torch.no_grad()(function)
    elif backend == "tensorflow":
        import tensorflow as tf

        run = tf.function(function, reduce_retracing=True, autograph=False)
    else:
        import jax

        variables = list(model.variables)

        @jax.jit
        def pure(values, *arrays, **named):
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return function(*arrays, **named)

        def run(*arrays, **named):
            return pure([variable.value for variable in variables], *arrays, **named)

    def program(*arrays, **named):
        tensors = {name: ops.convert_to_tensor(x) for name, x in named.items()}
        outputs = run(*map(ops.convert_to_tensor, arrays), **tensors)
        return [ops.convert_to_numpy(output) for output in outputs]

    return program


def _share_lora_sums(model, function):
    """The function, whose steps share the sums of LoRA's matrices."""
    members = getattr(model, "models", [model])  # of an ensemble
    layers = [layer for member in members for layer in member._flatten_layers()]

    def shared(*arrays, **named):
        with merged_lora(layers):
            return function(*arrays, **named)

    return shared


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
    with _TRACING:
        program = compiled(
            model,
            (key, kinds),
            flat,
            lambda _, function: trace(function, *weights, *first, *second),
        )
    # The executor's optimizations cost as much as ten steps and gain nothing on a CPU.
    optimize = first[0].device.type != "cpu"

    def run(structure):
        with torch.jit.optimized_execution(optimize):
            return as_first(program(*weights, *_tensors(structure)[0], *second))

    return run


def _tensors(structure: Any) -> tuple[list[Any], Callable[[Any], Any]]:
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
