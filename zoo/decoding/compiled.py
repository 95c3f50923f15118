"""Functions of a model, compiled and kept with it; several batches at a time on CPUs.

Torch compiles nothing, but traces one step of a search for each shape: without Keras's
and Python's own work for each operation, a step of greedy search on a CPU takes a third
less. `torch.jit.trace` is deprecated, but `make_fx` took longer and its steps were no
faster.
"""

import ctypes
import functools
import os
import platform
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from zoo.backend import Tensor, trace, usable_cores
from zoo.decoding.batch_decoding import in_threads
from zoo.layers.functional import log_sum_exp

MAX_BATCHES = 8  # in memory at a time
_TRACING = threading.Lock()  # batches may run in several threads


def compiled(
    model: Any,
    key: Hashable,
    function: Callable[..., tuple[Any, ...]],
    make: Callable[[Any, Any], Any] | None = None,
) -> Callable[..., list[np.ndarray]]:
    """Compiles a function of tensors, to a tuple of them, that reads a model's weights.

    It takes NumPy arrays, by position or name, and returns some. It is kept with the
    model and reused for the same key until the model's variables are replaced (another
    backbone, quantization). `make` compiles it otherwise.
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

        variables, compiling = list(model.variables), set[int]()

        @jax.jit
        def pure(values, *arrays, **named):
            compiling.add(threading.get_ident())  # for it is traced
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return function(*arrays, **named)

        def run(*arrays, **named):
            outputs = pure([variable.value for variable in variables], *arrays, **named)
            if (thread := threading.get_ident()) in compiling:
                compiling.discard(thread)
                if platform.libc_ver()[0] == "glibc":  # which keeps what XLA has freed
                    ctypes.CDLL(None).malloc_trim(0)
            return outputs

    def program(*arrays, **named):
        arrays, named = tree.map_structure(ops.convert_to_tensor, (arrays, named))
        return [ops.convert_to_numpy(output) for output in run(*arrays, **named)]

    return program


def label_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns float32 log-probabilities of labels `(...)` under logits `(..., V)`."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)
    return (gold - log_sum_exp(logits))[..., 0]


# === Several batches at a time ===


def map_batches(function: Callable[..., Any], batches: Iterable[Any]) -> Iterator[Any]:
    """Applies a function to batches as `map` does, on CPUs one a core at a time.

    Most operations of a step are too small for two cores. As many are taken as torch
    has threads, or `OMP_NUM_THREADS` says; torch's threads are shared out. Each batch
    runs in a thread, which the caller's scopes, such as `keras.device`, don't reach.
    """
    batches = list(batches)
    workers = min(len(batches), _cores())
    if workers < 2:
        yield from map(function, batches)
    elif keras.backend.backend() != "torch":
        yield from in_threads(workers, function, batches)
    else:
        import torch

        threads = torch.get_num_threads()

        def shared(batch):
            # Of this thread, and of those that begin to compute meanwhile.
            torch.set_num_threads(threads // workers)
            return function(batch)

        try:
            yield from list(in_threads(workers, shared, batches))
        finally:
            torch.set_num_threads(threads)


def _cores():
    """The batches at a time: 1 with another device, a distribution or autocast."""
    if keras.backend.backend() == "torch":
        import torch

        if torch.accelerator.is_available() or torch.is_autocast_enabled("cpu"):
            return 1
        return min(MAX_BATCHES, torch.get_num_threads())
    devices = keras.distribution.list_devices()
    if keras.distribution.distribution() or not all("cpu" in name for name in devices):
        return 1
    given = os.environ.get("OMP_NUM_THREADS", "")
    cores = int(given) if given.isdecimal() else MAX_BATCHES
    return min(MAX_BATCHES, usable_cores(), cores)


# === Steps traced by torch ===


def can_trace(model: Any) -> bool:
    """Returns whether a model's steps can be traced: it has Keras variables alone."""
    variables = getattr(model, "variables", ())
    return bool(variables) and all(isinstance(x, keras.Variable) for x in variables)


def traced(
    model: Any, key: Hashable, function: Callable[[Any, Any], Any], *given: Any
) -> Callable[[Any], Any]:
    """Traces a function of two structures of tensors that returns one like the first.

    The result is a function of the first; the second is the same at each call. The
    program is kept with the model and takes the weights as arguments.
    """
    import torch

    (first, as_first), (second, as_second) = map(_tensors, given)
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


def _tensors(structure):
    """Returns a structure's tensors, and a function that puts others in their place."""
    import torch

    flat = tree.flatten(structure)

    def replaced(tensors):
        left = iter(tensors)
        new = [next(left) if isinstance(x, torch.Tensor) else x for x in flat]
        return tree.pack_sequence_as(structure, new)

    return [x for x in flat if isinstance(x, torch.Tensor)], replaced
