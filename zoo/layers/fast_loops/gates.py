"""An LSTM's gates with their gradient written out."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers.cells import LSTMCell
from zoo.layers.functional import custom_gradient, wide


def is_standard(cell: Any) -> bool:
    """Whether a cell is the LSTM that this file, and cuDNN, has the gradient of."""
    return (
        isinstance(cell, LSTMCell)
        and cell.forget_gate
        and cell.activation is keras.activations.tanh
        and cell.output_activation is keras.activations.tanh
        and cell.recurrent_activation is keras.activations.sigmoid
    )


def activate_gates(net: Tensor) -> tuple[Tensor, ...]:
    """i, f, ĉ and o of the gates' inputs `(B, 4 * units)`."""
    i, f, candidate, o = ops.split(net, 4, axis=-1)
    return ops.sigmoid(i), ops.sigmoid(f), ops.tanh(candidate), ops.sigmoid(o)


def memory_gradient(
    gates: Any, old: Tensor, squashed: Tensor, d_h: Tensor, d_c: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient of h = o * tanh(c), c = f * old + i * ĉ.

    Args:
        gates: from `activate_gates`.
        old, squashed: the old c and tanh(c), `(B, units)`.
        d_h, d_c: gradients of h and, by what comes later, of c.

    Returns:
        Of the gates' inputs `(B, 4 * units)` and of the old c; half precisions as
        float32.
    """
    i, f, candidate, o = (wide(gate) for gate in gates)
    old, squashed, d_h, d_c = (wide(x) for x in (old, squashed, d_h, d_c))
    d_c = d_c + d_h * o * (1 - squashed * squashed)
    parts = [
        d_c * candidate * i * (1 - i),
        d_c * old * f * (1 - f),
        d_c * i * (1 - candidate * candidate),
        d_h * squashed * o * (1 - o),
    ]
    return ops.concatenate(parts, axis=-1), d_c * f


@custom_gradient
def lstm_states(net: Tensor, c: Tensor) -> Any:
    """An LSTM's step with its gradient written out, which keeps little else.

    Takes the gates' inputs `(B, 4 * units)` and the old c; returns `[h, c]` side by
    side, `(B, 2 * units)`.
    """
    gates = i, f, candidate, o = activate_gates(net)
    new = f * c + i * candidate
    squashed = ops.tanh(new)

    def gradient(upstream):
        d_net, d_old = memory_gradient(
            gates, c, squashed, *ops.split(upstream, 2, axis=-1)
        )
        return ops.cast(d_net, net.dtype), ops.cast(d_old, net.dtype)

    return ops.concatenate([o * squashed, new], axis=-1), gradient
