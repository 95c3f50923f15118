"""Hochreiter & Schmidhuber 1997's squashing functions."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor


@keras.saving.register_keras_serializable(package="zoo")
def logistic_1(x: Tensor) -> Tensor:
    """The logistic function scaled to (-1, 1), h of the 1997 LSTM: 2σ(x) - 1.

    Example:
        >>> float(logistic_1(keras.ops.zeros(())))
        0.0
    """
    return ops.tanh(x / 2)


@keras.saving.register_keras_serializable(package="zoo")
def logistic_2(x: Tensor) -> Tensor:
    """The logistic function scaled to (-2, 2), g of the 1997 LSTM: 4σ(x) - 2.

    Example:
        >>> round(float(logistic_2(keras.ops.ones(()) * 20)), 4)
        2.0
    """
    return 2 * ops.tanh(x / 2)


_NAMED = {"logistic_1": logistic_1, "logistic_2": logistic_2}


def get_activation(identifier: Any) -> Any:
    """`keras.activations.get`, which knows "logistic_1" and "logistic_2" too.

    Example:
        >>> get_activation("logistic_2") is logistic_2
        True
    """
    if isinstance(identifier, str):
        identifier = _NAMED.get(identifier, identifier)
    return keras.activations.get(identifier)
