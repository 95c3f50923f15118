"""The gradient's norm for one batch, on any backend."""

from typing import Any

import keras
import numpy as np
from keras import ops


def gradient_norm(model: Any, batch: tuple[Any, Any, Any]) -> float:
    """Returns the global norm of the loss's gradient for one batch, before clipping.

    The gradient is computed without dropout; nothing in the model changes.

    Args:
        model: a compiled Keras model.
        batch: `(inputs, labels, weights)`, such as one of a `PairBatches`.

    Returns:
        The norm; NaN or inf if the gradient is not finite.

    Example:
        >>> import numpy as np
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> model.set_weights([np.zeros((2, 1)), np.zeros(1)])
        >>> batch = np.array([[3.0, 4.0]]), np.array([[0.5]]), None
        >>> round(gradient_norm(model, batch), 4)
        5.099
    """
    x, y, weights = (
        None if part is None else keras.tree.map_structure(ops.convert_to_tensor, part)
        for part in batch
    )
    gradients = _GRADIENTS[keras.backend.backend()](model, x, y, weights)
    # In double precision: the square of a finite float32 may be infinite.
    arrays = [ops.convert_to_numpy(g).astype("float64") for g in gradients]
    return float(np.sqrt(sum(np.sum(np.square(array)) for array in arrays)))


def _loss(model, x, y, weights, outputs):
    return model.compute_loss(x, y, outputs, weights, training=False)


def _jax(model, x, y, weights):
    import jax

    frozen = [v.value for v in model.non_trainable_variables]

    def loss(trainable):
        outputs, _ = model.stateless_call(trainable, frozen, x, training=False)
        return _loss(model, x, y, weights, outputs)

    return jax.jit(jax.grad(loss))([v.value for v in model.trainable_variables])


def _torch(model, x, y, weights):
    import torch

    variables = [v.value for v in model.trainable_variables]
    loss = _loss(model, x, y, weights, model(x, training=False))
    gradients = torch.autograd.grad(loss, variables, allow_unused=True)
    return [g for g in gradients if g is not None]


def _tensorflow(model, x, y, weights):
    import tensorflow as tf

    variables = [v.value for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        loss = _loss(model, x, y, weights, model(x, training=False))
    gradients = tape.gradient(loss, variables)
    # Those of embeddings are `IndexedSlices`, which may name a row twice.
    return [tf.convert_to_tensor(g) for g in gradients if g is not None]


_GRADIENTS = {"jax": _jax, "torch": _torch, "tensorflow": _tensorflow}
