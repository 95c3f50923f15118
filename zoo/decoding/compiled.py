"""Functions of a model compiled for the backend, and kept with the model."""

import keras
from keras import ops


def compiled(model, key, function):
    """A compiled version of a function that reads a model's weights.

    It is kept with the model and used again for the same key, until the model's
    variables are others (another backbone, quantization): then it is made anew.

    Args:
        model: a Keras model.
        key: what tells this function from others of the model.
        function: function of tensors to a tuple of tensors.

    Returns:
        A function of NumPy arrays to a list of NumPy arrays.
    """
    variables = list(model.variables)
    held, kept = model.__dict__.get("_compiled", ([], {}))
    if len(held) != len(variables) or any(
        a is not b for a, b in zip(held, variables, strict=True)
    ):
        kept = {}
    model.__dict__["_compiled"] = variables, kept
    if key not in kept:
        kept[key] = _compile(variables, function)
    return kept[key]


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

    def convert(*arrays):
        return [ops.convert_to_numpy(output) for output in run(*arrays)]

    return convert
