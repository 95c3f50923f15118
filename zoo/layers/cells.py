"""Recurrent cells, equation by equation."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import one_of
from zoo.layers.configured import DrawnInFloat32
from zoo.layers.fast_loops.time_loop import NO_LOOP, TimeLoop
from zoo.layers.functional import (
    cast_weights,
    custom_gradient,
    join,
    linear,
    to_float32,
)


def as_list(states: list[Tensor]) -> list:
    """A cell's states as a flat list, whether it has one or several."""
    return list(states) if isinstance(states, (list, tuple)) else [states]


class ZooCell(DrawnInFloat32):
    """Base of zoo's cells, whose `call` casts by itself and may be called directly."""

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        for name in ("dropout", "recurrent_dropout"):
            if kwargs.get(name):
                raise ValueError(
                    f"zoo's {type(self).__name__} leaves dropout to the layers around "
                    f"it: `{name}` must be 0. Received: {name}={kwargs[name]!r}"
                )
        super().__init__(units, *args, **kwargs)

    def call(
        self, inputs: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        step = self.make_step(NO_LOOP, self.project(inputs))
        return step(None, as_list(states))

    def make_step(
        self, loop: TimeLoop, net: Tensor | None, fed_back: int = 0
    ) -> Callable[..., tuple[Tensor, list[Tensor]]]:
        """A step as a function `(slices, states, fed=None) -> (output, new_states)`.

        `net` is the known input's share of the net inputs, None where all is `fed`, the
        input's last part, of size `fed_back`.
        """
        product = loop.product(self.loop_kernel(fed_back), net)

        def step(slices, states, fed=None):
            net = product(slices, join(fed, states[0]))  # x_t W + h_{t-1} U + b
            return self.equations(net, states, loop.training)

        return step

    def equations(
        self, net: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """`(h_t, new_states)` of the net inputs and the old states."""
        raise NotImplementedError

    def loop_kernel(self, fed_back: int) -> Tensor:
        """The matrix of [fed; h_{t-1}]: the kernel's last rows above U."""
        U = cast_weights(self.recurrent_kernel, self.compute_dtype)
        if not fed_back:
            return U
        W = cast_weights(self.kernel, self.compute_dtype)
        return ops.concatenate([W[W.shape[0] - fed_back :], U], axis=0)

    def project(self, inputs: Tensor) -> Tensor:
        """x_t W + b of inputs `(..., n)`; a smaller n takes the kernel's first rows."""
        kernel = cast_weights(self.kernel, self.compute_dtype)
        inputs = ops.cast(inputs, self.compute_dtype)
        projected = linear(inputs, kernel[: inputs.shape[-1]])
        bias = self.input_bias()
        return projected if bias is None else projected + bias

    def input_bias(self) -> Any:
        """The bias b `(gates * units,)`, or None."""
        return cast_weights(self.bias, self.compute_dtype) if self.use_bias else None


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


@keras.saving.register_keras_serializable(package="zoo")
class LSTMCell(ZooCell, keras.layers.LSTMCell):
    """`keras.layers.LSTMCell`, with the forget gate (Gers et al. 2000) or without.

        i, f, o = σ(x_t W + h_{t-1} U + b),  ĉ = g(x_t W + h_{t-1} U + b)
        c_t = f * c_{t-1} + i * ĉ
        h_t = o * h(c_t)

    each with its own third or fourth of the columns of W, U and b. By argument it is
    the cell of Hochreiter & Schmidhuber 1997, without f: `forget_gate=False`, with
    `activation=logistic_2` for g and `output_activation=logistic_1` for h, the paper's
    scaled logistic functions. Its gates read the input and h_{t-1}; those of
    the paper also read the gates of the step before. Each cell has gates of its own
    (blocks of size 1). Gradients are not truncated.

    It takes the arguments of `keras.layers.LSTMCell` except `dropout` and
    `recurrent_dropout` (`RecurrentStack` and `AttentionCell` have a dropout of their
    own), and two more.

    Args:
        forget_gate: whether there is a forget gate. Default True.
        output_activation: h, which squashes the state on its way out; None, the
            default, for the same as `activation`.

    The papers' initial biases: `bias_initializer=keras.initializers.Constant([...])`
    with `unit_forget_bias=False`, one number a column: gates in the order input,
    (forget,) candidate, output.

    Example:
        >>> import numpy as np
        >>> cell = LSTMCell(4)
        >>> cell.build((None, 3))
        >>> states = cell.get_initial_state(batch_size=2)
        >>> h, states = cell(np.ones((2, 3), "float32"), states)
        >>> cell = LSTMCell(4, forget_gate=False, activation=logistic_2)
        >>> cell.build((None, 3))
        >>> tuple(cell.kernel.shape)
        (3, 12)
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        *args: Any,
        forget_gate: bool = True,
        output_activation: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, *args, **kwargs)
        self.forget_gate = bool(forget_gate)
        output_activation = output_activation or self.activation
        self.output_activation = keras.activations.get(output_activation)

    def build(self, input_shape: Shape) -> None:
        if self.forget_gate:
            super().build(input_shape)
            return
        n, self.bias = 3 * self.units, None
        shapes: dict[str, Shape] = {"kernel": (input_shape[-1], n)}
        shapes["recurrent_kernel"] = (self.units, n)
        shapes |= {"bias": (n,)} if self.use_bias else {}
        for name, shape in shapes.items():
            kind = name.removesuffix("_kernel")
            names = ("initializer", "regularizer", "constraint")
            options = {option: getattr(self, f"{kind}_{option}") for option in names}
            setattr(self, name, self.add_weight(shape, name=name, **options))
        self.built = True

    def equations(
        self, net: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        c = states[1]
        if training and self.is_standard:
            h, c = ops.split(lstm_states(net, c), 2, axis=-1)
            return h, [h, c]
        if self.forget_gate:
            i, f, candidate, o = ops.split(net, 4, axis=-1)
            c = self.recurrent_activation(f) * c
        else:
            i, candidate, o = ops.split(net, 3, axis=-1)
        c = c + self.recurrent_activation(i) * self.activation(candidate)
        h = self.recurrent_activation(o) * self.output_activation(c)
        return h, [h, c]

    @property
    def is_standard(self) -> bool:
        """Whether `lstm_states` and cuDNN compute this cell."""
        return (
            self.forget_gate
            and self.activation is keras.activations.tanh
            and self.output_activation is keras.activations.tanh
            and self.recurrent_activation is keras.activations.sigmoid
        )

    def get_config(self) -> dict[str, Any]:
        own = keras.activations.serialize(self.output_activation)
        more = {"forget_gate": self.forget_gate, "output_activation": own}
        return {**super().get_config(), **more}


@keras.saving.register_keras_serializable(package="zoo")
class GRUCell(ZooCell, keras.layers.GRUCell):
    """Cho et al. 2014's hidden unit (equations 5 to 8).

        r = σ(x W_r + h U_r)               equation 5
        z = σ(x W_z + h U_z)               6
        h~ = tanh(x W + (r * h) U)         8, the reset gate before the product
        h' = z * h + (1 - z) * h~          7, update="keep", Cho et al.
        h' = (1 - z) * h + z * h~          update="replace", Bahdanau et al. 2015

    Both updates are the same class of functions (z's weights with the other sign), but
    weights, plots of the gate and initial biases differ.

    It takes the arguments of `keras.layers.GRUCell`, by name, except the dropouts, with
    `reset_after` False by default, and one more.

    Args:
        update: "keep" or "replace", what the update gate does where it is open.

    `reset_after=True` is cuDNN's form, r * (h U): Cho et al.'s appendix has it in the
    decoder. The gates' order in the matrices is z, r, candidate.

    Raises:
        ValueError: for another update, or a dropout.

    Example:
        >>> import numpy as np
        >>> cell = GRUCell(4)
        >>> cell.build((None, 3))
        >>> h, states = cell(np.ones((2, 3), "float32"), [keras.ops.zeros((2, 4))])
    """

    def __init__(
        self,
        units: int,
        *,
        reset_after: bool = False,
        update: str = "keep",
        **kwargs: Any,
    ) -> None:
        one_of("update", update, ("keep", "replace"))
        super().__init__(units, reset_after=reset_after, **kwargs)
        self.update = update

    def make_step(
        self,
        loop: TimeLoop,
        net: Tensor | None,
        fed_back: int = 0,
        reset: Tensor | None = None,
    ) -> Callable[..., tuple[Tensor, list[Tensor]]]:
        """As any cell's; `reset` `(B, units)` is added to h U inside the bracket."""
        n, kernel, bias = 2 * self.units, self.loop_kernel(fed_back), self._after_bias()
        first, candidate = (None, None) if net is None else (net[..., :n], net[..., n:])
        if bias is not None:
            first, bias = first + bias[:n], bias[n:]
            reset = bias if reset is None else bias + reset
        gates = loop.product(kernel[:, :n], first)
        if self.reset_after:
            inner = loop.product(kernel[fed_back:, n:], reset)
            if fed_back:
                outer = loop.product(kernel[:fed_back, n:], candidate)
            else:
                known = loop.term(candidate)
        else:
            whole = loop.product(kernel[:, n:], candidate)

        def step(slices, states, fed=None):
            h = states[0]
            net = gates(slices, join(fed, h))
            z, r = ops.split(self.recurrent_activation(net), 2, axis=-1)  # 6 and 5
            if self.reset_after:
                net = outer(slices, fed) if fed_back else known(slices)
                net = net + r * inner(slices, h)
            else:
                net = whole(slices, join(fed, r * h))
            old = z if self.update == "keep" else 1 - z
            h = old * h + (1 - old) * self.activation(net)  # equations 7 and 8
            return h, [h]

        return step

    def input_bias(self) -> Any:
        bias = super().input_bias()
        return bias[0] if bias is not None and self.reset_after else bias

    def _after_bias(self):
        """The bias `(3 * units,)` beside h U with `reset_after`, or None."""
        bias = super().input_bias()
        return bias[1] if bias is not None and self.reset_after else None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "update": self.update}


@keras.saving.register_keras_serializable(package="zoo")
class SimpleRNNCell(ZooCell, keras.layers.SimpleRNNCell):
    """`keras.layers.SimpleRNNCell` (Elman 1990).

        h_t = tanh(x_t W + h_{t-1} U + b)

    It takes the arguments of `keras.layers.SimpleRNNCell` except the dropouts.

    Example:
        >>> import numpy as np
        >>> cell = SimpleRNNCell(4)
        >>> cell.build((None, 3))
        >>> h, states = cell(np.ones((2, 3), "float32"), [keras.ops.zeros((2, 4))])
    """

    def equations(
        self, net: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        h = self.activation(net)
        return h, [h]


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
