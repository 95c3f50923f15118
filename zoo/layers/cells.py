"""Recurrent cells, equation by equation."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.activations import get_activation
from zoo.layers.functional import cast_weights, linear
from zoo.layers.lora import Adaptable


def as_list(states: list[Tensor]) -> list:
    """A cell's states as a flat list, whether it has one or several."""
    return list(states) if isinstance(states, (list, tuple)) else [states]


def _refuse_dropout(cls, arguments):
    for name in ("dropout", "recurrent_dropout"):
        if arguments.get(name):
            raise ValueError(
                f"zoo's {cls.__name__} leaves dropout to the layers around it: "
                f"`{name}` must be 0. Received: {name}={arguments[name]!r}"
            )


class ZooCell(Adaptable):
    """Base of zoo's cells, whose `call` casts by itself and may be called directly.

    Under eager PyTorch Keras's `__call__` costs as much as the step.
    """

    matrices = ("kernel", "recurrent_kernel")

    def project(self, inputs: Tensor) -> Tensor:
        """x_t W + b, the input's share of the net inputs, for any number of steps.

        Args:
            inputs: `(..., n)`; n may be smaller than the cell's input, then the first
                n rows of the kernel are used.

        Returns:
            Tensor `(..., gates * units)`.
        """
        kernel = cast_weights(self.kernel, self.compute_dtype)
        inputs = ops.cast(inputs, self.compute_dtype)
        projected = linear(inputs, kernel[: inputs.shape[-1]])
        bias = self.input_bias()
        return projected if bias is None else projected + bias

    def input_bias(self) -> Tensor | None:
        """The bias b `(gates * units,)`, or None."""
        return cast_weights(self.bias, self.compute_dtype) if self.use_bias else None

    def _recurrent(self, h):
        """h_{t-1} U."""
        return ops.matmul(h, cast_weights(self.recurrent_kernel, self.compute_dtype))


@keras.saving.register_keras_serializable(package="zoo")
class LSTMCell(ZooCell, keras.layers.LSTMCell):
    """`keras.layers.LSTMCell`, with the forget gate (Gers et al. 2000) or without.

        i, f, o = σ(x_t W + h_{t-1} U + b),  ĉ = g(x_t W + h_{t-1} U + b)
        c_t = f * c_{t-1} + i * ĉ
        h_t = o * h(c_t)

    each with its own third or fourth of the columns of W, U and b. By argument it is
    the cell of Hochreiter & Schmidhuber 1997, without f: `forget_gate=False`, with
    `activation="logistic_2"` for g and `output_activation="logistic_1"` for h, the
    paper's scaled logistic functions. Its gates read the input and h_{t-1}; those of
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
        >>> cell = LSTMCell(4, forget_gate=False, activation="logistic_2")
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
        _refuse_dropout(type(self), kwargs)
        super().__init__(units, get_activation(activation), *args, **kwargs)
        self.forget_gate = bool(forget_gate)
        if output_activation is None:
            self.output_activation = self.activation
        else:
            self.output_activation = get_activation(output_activation)

    def build(self, input_shape: Shape) -> None:
        if self.forget_gate:
            super().build(input_shape)
            return
        shapes = {
            "kernel": (input_shape[-1], 3 * self.units),
            "recurrent_kernel": (self.units, 3 * self.units),
            "bias": (3 * self.units,),
        }
        for name, shape in shapes.items():
            kind = name.removesuffix("_kernel")
            weight = None
            if name != "bias" or self.use_bias:
                weight = self.add_weight(
                    shape=shape,
                    name=name,
                    initializer=getattr(self, f"{kind}_initializer"),
                    regularizer=getattr(self, f"{kind}_regularizer"),
                    constraint=getattr(self, f"{kind}_constraint"),
                )
            setattr(self, name, weight)
        self.built = True

    def call(
        self, inputs: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        h, c = states
        net = self.project(inputs) + self._recurrent(h)  # (B, gates * units)
        return self.open_gates(net, c)

    def open_gates(self, net: Tensor, c: Tensor) -> tuple[Tensor, list[Tensor]]:
        """`(h_t, [h_t, c_t])` of the net inputs and c_{t-1}."""
        if self.forget_gate:
            i, f, candidate, o = ops.split(net, 4, axis=-1)
            c = self.recurrent_activation(f) * c
        else:
            i, candidate, o = ops.split(net, 3, axis=-1)
        c = c + self.recurrent_activation(i) * self.activation(candidate)
        h = self.recurrent_activation(o) * self.output_activation(c)
        return h, [h, c]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if not self.forget_gate:
            config["forget_gate"] = False
        if self.output_activation is not self.activation:
            serialize = keras.activations.serialize
            config["output_activation"] = serialize(self.output_activation)
        return config


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
        _refuse_dropout(type(self), kwargs)
        if update not in ("keep", "replace"):
            raise ValueError(
                f'`update` must be "keep" or "replace". Received: update={update!r}'
            )
        super().__init__(units, reset_after=reset_after, **kwargs)
        self.update = update

    def call(
        self, inputs: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        [h] = as_list(states)
        h = self.step(self.project(inputs), h)
        return h, [h]

    def step(self, net: Tensor, h: Tensor, reset: Tensor | None = None) -> Tensor:
        """Computes h_t from the input's share of the net inputs and h_{t-1}.

        Args:
            net: `(B, 3 * units)`, from `project`.
            h: `(B, units)`.
            reset: `(B, units)`, a term added to h U inside the reset gate's bracket;
                requires `reset_after`.
        """
        U = cast_weights(self.recurrent_kernel, self.compute_dtype)
        gate_net, net = ops.split(net, [2 * self.units], axis=-1)
        gate_net = gate_net + ops.matmul(h, U[:, : 2 * self.units])
        U, bias = U[:, 2 * self.units :], self.recurrent_bias()
        if bias is not None:
            gate_net, bias = gate_net + bias[: 2 * self.units], bias[2 * self.units :]
        gates = self.recurrent_activation(gate_net)
        z, r = ops.split(gates, 2, axis=-1)  # equations 6 and 5
        if self.reset_after:
            terms = [x for x in (bias, reset) if x is not None]
            net = net + r * sum(terms, ops.matmul(h, U))
        else:
            net = net + ops.matmul(r * h, U)
        return self.update_state(h, z, self.activation(net))  # equations 8 and 7

    def update_state(self, h: Tensor, z: Tensor, candidate: Tensor) -> Tensor:
        """Equation 7: h_t of h_{t-1}, the update gate and h~_t."""
        old = z if self.update == "keep" else 1 - z
        return old * h + (1 - old) * candidate

    def input_bias(self) -> Tensor | None:
        bias = super().input_bias()
        return bias[0] if bias is not None and self.reset_after else bias

    def recurrent_bias(self) -> Tensor | None:
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

    def __init__(self, units: int, **kwargs: Any) -> None:
        _refuse_dropout(type(self), kwargs)
        super().__init__(units, **kwargs)

    def call(
        self, inputs: Tensor, states: list[Tensor], training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        [h] = as_list(states)
        h = self.activation(self.project(inputs) + self._recurrent(h))
        return h, [h]
