"""An LSTM's gates with their gradient written out."""

from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.functional import custom_gradient, to_float32


@custom_gradient
def lstm_states(net: Tensor, c: Tensor) -> Any:
    """An LSTM's step, `[h, c]` side by side, whose gradient keeps little else.

    Gradients of half precisions are computed in float32.
    """
    i, f, candidate, o = ops.split(net, 4, axis=-1)
    gates = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(candidate), ops.sigmoid(o)
    i, f, candidate, o = gates
    new = f * c + i * candidate
    squashed = ops.tanh(new)

    def gradient(upstream):
        d_h, d_c = (to_float32(x) for x in ops.split(upstream, 2, axis=-1))
        i, f, candidate, o = (to_float32(gate) for gate in gates)
        old, h = to_float32(c), to_float32(squashed)
        d_c = d_c + d_h * o * (1 - h * h)
        parts = [
            d_c * candidate * i * (1 - i),
            d_c * old * f * (1 - f),
            d_c * i * (1 - candidate * candidate),
            d_h * h * o * (1 - o),
        ]
        d_net = ops.concatenate(parts, axis=-1)
        return ops.cast(d_net, net.dtype), ops.cast(d_c * f, net.dtype)

    return ops.concatenate([o * squashed, new], axis=-1), gradient
