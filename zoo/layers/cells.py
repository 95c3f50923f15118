"""Recurrent cells whose input product leaves the time loop."""

import keras
from keras import ops

from zoo.layers.activations import get_activation
from zoo.layers.functional import (
    cast_weights,
    custom_gradient,
    linear,
    step_product,
    wide,
)


def as_list(states):
    """A cell's states as a flat list, whether it has one or several."""
    return list(states) if isinstance(states, (list, tuple)) else [states]


def _refuse_dropout(cls, arguments):
    for name in ("dropout", "recurrent_dropout"):
        if arguments.get(name):
            raise ValueError(
                f"zoo's {cls.__name__} leaves dropout to the layers around it: "
                f"`{name}` must be 0. Received: {name}={arguments[name]!r}"
            )


class _OneProduct:
    """The cut of a cell whose loop has one product with the old state."""

    loop_products = 1

    def project(self, inputs):
        """The product of `inputs` `(..., n)` with the first n rows of the kernel, the
        bias added: `(..., m)`, where m is `gates * units`."""
        kernel = cast_weights(self.kernel, self.compute_dtype)
        projected = linear(inputs, kernel[: inputs.shape[-1]])
        if self.use_bias:
            projected = projected + cast_weights(self.bias, self.compute_dtype)
        return projected

    def project_nothing(self):
        """The bias, used when no input can be projected before the loop:
        the bias `(m,)`, or None."""
        return cast_weights(self.bias, self.compute_dtype) if self.use_bias else None

    def loop_kernel(self, fed=0):
        """The kernel of the products inside the loop: the last `fed` rows of the input
        kernel over the recurrent kernel, `(fed + units, m)`."""
        recurrent = cast_weights(self.recurrent_kernel, self.compute_dtype)
        if not fed:
            return recurrent
        kernel = cast_weights(self.kernel, self.compute_dtype)
        return ops.concatenate([kernel[kernel.shape[0] - fed :], recurrent], axis=0)

    def _net_inputs(self, projected, h, loop_kernel, fed):
        """The net inputs of the units at one step, `(B, m)`."""
        if projected is None:
            projected = self.project_nothing()
        rows = h if fed is None else ops.concatenate([fed, h], axis=-1)
        return step_product(rows, loop_kernel, projected)


@keras.saving.register_keras_serializable(package="zoo")
class LSTMCell(_OneProduct, keras.layers.LSTMCell):
    """`keras.layers.LSTMCell`, cut into what needs the previous step and what doesn't.

    Called, it is the Keras cell. A loop calls `project` on all its inputs at once,
    before it starts, and `advance` at each step. Part of the input may be known only
    inside the loop (the attentional vector that is fed back): the last `fed` rows of
    the kernel are for it.

    By argument it is the cell of Hochreiter & Schmidhuber 1997, without the forget gate
    of Gers et al. 2000: `forget_gate=False`, which gives

        s_t = s_{t-1} + in_t * g(net_c_t)
        h_t = out_t * h(s_t)

    with three parts in each matrix (input gate, candidate, output gate), and
    `activation="logistic_2"` for g and `output_activation="logistic_1"` for h, the
    paper's scaled logistic functions. Its gates read the input and h_{t-1}; those of
    the paper also read the gates of the step before. Each cell has gates of its own
    (blocks of size 1). Gradients are not truncated.

    Args: those of `keras.layers.LSTMCell`, `dropout` and `recurrent_dropout` left out:
        `RecurrentStack` and `AttentionCell` have a dropout of their own; and
        forget_gate: whether there is a forget gate. Default True.
        output_activation: what squashes the state on its way out, h; None, the default,
            for the same as `activation`.

    The papers' initial biases: `bias_initializer=keras.initializers.Constant([...])`
    with `unit_forget_bias=False`, one number a column: gates in the order input,
    (forget,) candidate, output.

    Example:
        >>> import numpy as np
        >>> cell = LSTMCell(4)
        >>> cell.build((None, 3))
        >>> states = cell.get_initial_state(batch_size=2)
        >>> projected = cell.project(np.ones((2, 7, 3), "float32"))  # (2, 7, 16)
        >>> kernel = cell.loop_kernel()
        >>> output, states = cell.advance(projected[:, 0], states, kernel)
        >>> cell = LSTMCell(4, forget_gate=False, activation="logistic_2")
        >>> cell.build((None, 3))
        >>> tuple(cell.kernel.shape)
        (3, 12)
    """

    def __init__(
        self,
        units,
        activation="tanh",
        *args,
        forget_gate=True,
        output_activation=None,
        **kwargs,
    ):
        _refuse_dropout(type(self), kwargs)
        super().__init__(units, get_activation(activation), *args, **kwargs)
        self.forget_gate = bool(forget_gate)
        if output_activation is None:
            self.output_activation = self.activation
        else:
            self.output_activation = get_activation(output_activation)
        # What `lstm_states` has the gradient of, and what cuDNN knows.
        self.standard = (
            self.forget_gate
            and self.activation is keras.activations.tanh
            and self.output_activation is keras.activations.tanh
            and self.recurrent_activation is keras.activations.sigmoid
        )

    def build(self, input_shape):
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

    def call(self, inputs, states, training=False):
        if self.forget_gate and self.output_activation is self.activation:
            return super().call(inputs, states, training=training)
        inputs = ops.cast(inputs, self.compute_dtype)
        return self.advance(self.project(inputs), states, self.loop_kernel())

    def advance(self, projected, states, loop_kernel, fed=None, training=False):
        """One step.

        Args:
            projected: `(B, gates * units)` from `project`; None where the whole input
                is `fed`.
            states: `[h, c]`, each `(B, units)`.
            loop_kernel: from `loop_kernel(fed)`.
            fed: `(B, fed)`, the part of the input that is known in the loop only.
            training: whether gradients will be asked for, which are then prepared.

        Returns:
            `(h, [h, c])`.
        """
        h, c = states
        gates = self._net_inputs(projected, h, loop_kernel, fed)
        if training and self.standard:
            h, c = ops.split(lstm_states(gates, c), 2, axis=-1)
            return h, [h, c]
        if self.forget_gate:
            i, f, candidate, o = ops.split(gates, 4, axis=-1)
            c = self.recurrent_activation(f) * c
        else:
            i, candidate, o = ops.split(gates, 3, axis=-1)
        c = c + self.recurrent_activation(i) * self.activation(candidate)
        h = self.recurrent_activation(o) * self.output_activation(c)
        return h, [h, c]

    def get_config(self):
        config = super().get_config()
        if not self.forget_gate:
            config["forget_gate"] = False
        if self.output_activation is not self.activation:
            serialize = keras.activations.serialize
            config["output_activation"] = serialize(self.output_activation)
        return config


def activate_gates(net):
    """i, f, ĉ and o of the gates' inputs `(B, 4 * units)`."""
    i, f, candidate, o = ops.split(net, 4, axis=-1)
    return ops.sigmoid(i), ops.sigmoid(f), ops.tanh(candidate), ops.sigmoid(o)


def memory_gradient(gates, old, squashed, d_h, d_c):
    """The gradient of h = o * tanh(c), c = f * old + i * ĉ + what was added.

    Args:
        gates: from `activate_gates`.
        old, squashed: the old c and tanh(c), `(B, units)`.
        d_h, d_c: gradients of h and, by what comes later, of c.

    Returns:
        Of the gates' inputs `(B, 4 * units)`, of the old c, and of what was added;
        half precisions as float32.
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
    return ops.concatenate(parts, axis=-1), d_c * f, d_c


@custom_gradient
def lstm_states(net, c):
    """`[h, c]` `(B, 2 * units)` of the gates' inputs `(B, 4 * units)` and the old c,
    with the gradient written out: of a step little else is kept."""
    gates = i, f, candidate, o = activate_gates(net)
    new = f * c + i * candidate
    squashed = ops.tanh(new)

    def gradient(upstream):
        found = memory_gradient(gates, c, squashed, *ops.split(upstream, 2, axis=-1))
        return tuple(ops.cast(part, net.dtype) for part in found[:2])

    return ops.concatenate([o * squashed, new], axis=-1), gradient


@keras.saving.register_keras_serializable(package="zoo")
class GRUCell(keras.layers.GRUCell):
    """Cho et al. 2014's hidden unit (equations 5 to 8), cut as `LSTMCell` is.

        r = σ(W_r x + U_r h)
        z = σ(W_z x + U_z h)
        cand = tanh(W x + U (r * h))       the reset gate before the product
        h' = z * h + (1 - z) * cand        update="keep", Cho et al.
        h' = (1 - z) * h + z * cand        update="replace", Bahdanau et al. 2015

    Both updates are the same class of functions (z's weights with the other sign), but
    weights, plots of the gate and initial biases differ.

    Args: those of `keras.layers.GRUCell`, by name, the dropouts left out, with
        `reset_after` False by default, and
        update: "keep" or "replace", what the update gate does where it is open.

    `reset_after=True` is cuDNN's form, r * (U h): Cho et al.'s appendix has it in the
    decoder. The gates' order in the matrices is z, r, candidate.

    Raises:
        ValueError: for another update, or a dropout.

    Example:
        >>> import numpy as np
        >>> cell = GRUCell(4)
        >>> cell.build((None, 3))
        >>> states = [keras.ops.zeros((2, 4))]
        >>> projected = cell.project(np.ones((2, 7, 3), "float32"))  # (2, 7, 12)
        >>> h, states = cell.advance(projected[:, 0], states, cell.loop_kernel())
    """

    def __init__(self, units, *, reset_after=False, update="keep", **kwargs):
        _refuse_dropout(type(self), kwargs)
        if update not in ("keep", "replace"):
            raise ValueError(
                f'`update` must be "keep" or "replace". Received: update={update!r}'
            )
        super().__init__(units, reset_after=reset_after, **kwargs)
        self.update = update
        # Products of which a loop can be relieved of the gradient: with `reset_after`
        # the candidate's isn't added to the input's.
        self.loop_products = 1 if reset_after else 2

    def call(self, inputs, states, training=False):
        states = as_list(states)
        h, states = self.advance(
            self.project(inputs), states, self.loop_kernel(), training=training
        )
        return h, states

    def project(self, inputs):
        """The product of `inputs` `(..., n)` with the first n rows of the kernel, the
        bias added: `(..., 3 * units)`."""
        kernel = cast_weights(self.kernel, self.compute_dtype)
        inputs = ops.cast(inputs, self.compute_dtype)
        projected = linear(inputs, kernel[: inputs.shape[-1]])
        if self.use_bias:
            bias = cast_weights(self.bias, self.compute_dtype)
            projected = projected + (bias[0] if self.reset_after else bias)
        return projected

    def loop_kernel(self, fed=0):
        """The kernels of the products inside the loop, `(fed + units, 2 * units)` of
        the gates and `(fed + units, units)` of the candidate."""
        kernel = cast_weights(self.recurrent_kernel, self.compute_dtype)
        if fed:
            whole = cast_weights(self.kernel, self.compute_dtype)
            kernel = ops.concatenate([whole[whole.shape[0] - fed :], kernel], axis=0)
        return [kernel[:, : 2 * self.units], kernel[:, 2 * self.units :]]

    def advance(
        self, projected, states, loop_kernel, fed=None, training=False, reset=None
    ):
        """One step.

        Args:
            projected: `(B, 3 * units)` from `project`, or a list of the gates' part and
                the candidate's.
            states: `[h]`, `(B, units)`.
            loop_kernel: from `loop_kernel(fed)`.
            fed: `(B, fed)`, the part of the input that is known in the loop only.
            training: as in `LSTMCell.advance`; nothing is prepared here.
            reset: `(B, units)`, what the reset gate scales beside U h, with
                `reset_after` only.

        Returns:
            `(h, [h])`.
        """
        [h] = states
        if not isinstance(projected, (list, tuple)):
            projected = ops.split(projected, [2 * self.units], axis=-1)
        gates, candidate = projected
        gate_kernel, kernel = loop_kernel
        joined = h if fed is None else ops.concatenate([fed, h], axis=-1)
        gates = step_product(joined, gate_kernel, gates)
        if self.reset_after and self.use_bias:
            inner = cast_weights(self.bias, self.compute_dtype)[1]
            gates = gates + inner[: 2 * self.units]
            inner = inner[2 * self.units :]
            reset = inner if reset is None else inner + reset
        z, r = ops.split(self.recurrent_activation(gates), 2, axis=-1)
        if self.reset_after:
            fed_part = 0.0 if fed is None else ops.matmul(fed, kernel[: fed.shape[-1]])
            inner = ops.matmul(h, kernel[kernel.shape[0] - self.units :])
            inner = inner if reset is None else inner + reset
            candidate = candidate + fed_part + r * inner
        else:
            joined = r * h if fed is None else ops.concatenate([fed, r * h], axis=-1)
            candidate = step_product(joined, kernel, candidate)
        candidate = self.activation(candidate)
        old = z if self.update == "keep" else 1 - z
        h = old * h + (1 - old) * candidate
        return h, [h]

    def get_config(self):
        return {**super().get_config(), "update": self.update}


@keras.saving.register_keras_serializable(package="zoo")
class SimpleRNNCell(_OneProduct, keras.layers.SimpleRNNCell):
    """`keras.layers.SimpleRNNCell` (Elman 1990), cut as `LSTMCell` is.

        h_t = tanh(W x_t + U h_{t-1} + b)

    Args: those of `keras.layers.SimpleRNNCell`, the dropouts left out.

    Example:
        >>> import numpy as np
        >>> cell = SimpleRNNCell(4)
        >>> cell.build((None, 3))
        >>> states = cell.get_initial_state(batch_size=2)
        >>> projected = cell.project(np.ones((2, 7, 3), "float32"))  # (2, 7, 4)
        >>> h, states = cell.advance(projected[:, 0], states, cell.loop_kernel())
    """

    def __init__(self, units, **kwargs):
        _refuse_dropout(type(self), kwargs)
        super().__init__(units, **kwargs)

    def advance(self, projected, states, loop_kernel, fed=None, training=False):
        """One step; see `LSTMCell.advance`. `states` is `[h]`, nothing is prepared."""
        h = self._net_inputs(projected, states[0], loop_kernel, fed)
        h = self.activation(h)
        return h, [h]
