"""Recurrent cells whose input product leaves the time loop, and stacks of them."""

import keras
from keras import ops

from zoo.layers.cudnn import has_cudnn, run_lstm
from zoo.layers.functional import (
    cast_weights,
    fresh,
    linear,
    loop_kernels,
    positive,
    scan,
    step_product,
    widen,
)


@keras.saving.register_keras_serializable(package="zoo")
class LSTMCell(keras.layers.LSTMCell):
    """`keras.layers.LSTMCell`, cut into what needs the previous step and what doesn't.

    Called, it is the Keras cell. A loop calls `project` on all its inputs at once,
    before it starts, and `advance` at each step. Part of the input may be known only
    inside the loop (the attentional vector that is fed back): the last `fed` rows of
    the kernel are for it.

    Args: those of `keras.layers.LSTMCell`, `dropout` and `recurrent_dropout` left out:
        `RecurrentStack` and `AttentionCell` have a dropout of their own.

    Example:
        >>> import numpy as np
        >>> cell = LSTMCell(4)
        >>> cell.build((None, 3))
        >>> states = cell.get_initial_state(batch_size=2)
        >>> projected = cell.project(np.ones((2, 7, 3), "float32"))  # (2, 7, 16)
        >>> kernel = cell.loop_kernel()
        >>> output, states = cell.advance(projected[:, 0], states, kernel)
    """

    def __init__(self, units, **kwargs):
        for name in ("dropout", "recurrent_dropout"):
            if kwargs.get(name):
                raise ValueError(
                    f"zoo's LSTMCell leaves dropout to the layers around it: `{name}` "
                    f"must be 0. Received: {name}={kwargs[name]!r}"
                )
        super().__init__(units, **kwargs)
        # The activations of which `lstm_states` has the gradient.
        self.standard = (
            self.activation is keras.activations.tanh
            and self.recurrent_activation is keras.activations.sigmoid
        )

    def project(self, inputs):
        """The product of `inputs` `(..., n)` with the first n rows of the kernel, the
        bias added: `(..., 4 * units)`."""
        kernel = cast_weights(self.kernel, self.compute_dtype)
        projected = linear(inputs, kernel[: inputs.shape[-1]])
        if self.use_bias:
            projected = projected + cast_weights(self.bias, self.compute_dtype)
        return projected

    def project_nothing(self):
        """What stands for `project` where the whole input is known in the loop only:
        the bias `(4 * units,)`, or None."""
        return cast_weights(self.bias, self.compute_dtype) if self.use_bias else None

    def loop_kernel(self, fed=0):
        """The kernel of the products inside the loop: the last `fed` rows of the input
        kernel over the recurrent kernel, `(fed + units, 4 * units)`."""
        recurrent = cast_weights(self.recurrent_kernel, self.compute_dtype)
        if not fed:
            return recurrent
        kernel = cast_weights(self.kernel, self.compute_dtype)
        return ops.concatenate([kernel[kernel.shape[0] - fed :], recurrent], axis=0)

    def advance(self, projected, states, loop_kernel, fed=None, training=False):
        """One step.

        Args:
            projected: `(B, 4 * units)` from `project`; None where the whole input is
                `fed`.
            states: `[h, c]`, each `(B, units)`.
            loop_kernel: from `loop_kernel(fed)`.
            fed: `(B, fed)`, the part of the input that is known in the loop only.
            training: whether gradients will be asked for, which are then prepared.

        Returns:
            `(h, [h, c])`.
        """
        h, c = states
        if projected is None:
            projected = self.project_nothing()
        rows = h if fed is None else ops.concatenate([fed, h], axis=-1)
        gates = step_product(rows, loop_kernel, projected)
        if training and self.standard:
            h, c = ops.split(lstm_states(gates, c), 2, axis=-1)
            return h, [h, c]
        i, f, candidate, o = ops.split(gates, 4, axis=-1)
        c = self.recurrent_activation(f) * c
        c = c + self.recurrent_activation(i) * self.activation(candidate)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]


@ops.custom_gradient
def lstm_states(gates, c):
    """`[h, c]` `(B, 2 * units)` of the gates' inputs `(B, 4 * units)` and the old c,
    with the gradient written out: of a step little else is kept."""
    i, f, candidate, o = ops.split(gates, 4, axis=-1)
    i, f, o = ops.sigmoid(i), ops.sigmoid(f), ops.sigmoid(o)
    candidate = ops.tanh(candidate)
    new = f * c + i * candidate
    squashed = ops.tanh(new)

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        d_h, d_new = ops.split(upstream, 2, axis=-1)
        d_new = d_new + d_h * o * (1 - squashed * squashed)
        d_gates = ops.concatenate(
            [
                d_new * candidate * i * (1 - i),
                d_new * c * f * (1 - f),
                d_new * i * (1 - candidate * candidate),
                d_h * squashed * o * (1 - o),
            ],
            axis=-1,
        )
        return d_gates, d_new * f

    return ops.concatenate([o * squashed, new], axis=-1), gradient


def run_cell(
    cell, inputs, initial_states=None, mask=None, reverse=False, training=False
):
    """Runs any cell over a sequence; masked steps keep the state and put out zeros.

    Args:
        cell: a built Keras cell; the input product of a zoo cell is hoisted.
        inputs: `(B, T, n)`.
        initial_states: list of `(B, units)`, zeros by default.
        mask: bool `(B, T)`, true where real, or None.
        reverse: whether to run from the last step to the first.
        training: whether gradients will be asked for, which are then prepared.

    Returns:
        `(outputs, final_states)`: `(B, T, m)`, at the time step that made them, and a
        list of tensors.
    """
    if initial_states is None:
        initial_states = as_list(
            cell.get_initial_state(batch_size=ops.shape(inputs)[0])
        )
    if isinstance(cell, LSTMCell) and has_cudnn(cell, inputs):
        return run_lstm(cell, inputs, initial_states, mask, reverse)
    # Time first, as a loop reads it: only the narrow inputs are turned round.
    inputs = ops.swapaxes(inputs, 0, 1)
    if isinstance(cell, LSTMCell):
        kernel = cell.loop_kernel()
        sequence = cell.project(inputs)
        [kernel] = loop_kernels([kernel], training)
        sequence = widen(kernel, sequence)

        def advance(x, states):
            return cell.advance(x, states, kernel, training=training)
    else:
        sequence = inputs

        def advance(x, states):
            output, new_states = cell(x, states)
            return output, as_list(new_states)

    if mask is None:
        return scan(advance, ops.swapaxes(sequence, 0, 1), initial_states, reverse)
    real = ops.swapaxes(ops.cast(mask, sequence.dtype), 0, 1)[..., None]

    def masked(x, states):
        keep = x[:, -1:] > 0
        output, new_states = advance(x[:, :-1], states)
        new_states = [
            ops.where(keep, new, old)
            for new, old in zip(new_states, states, strict=True)
        ]
        return ops.where(keep, output, ops.zeros_like(output)), new_states

    sequence = ops.swapaxes(ops.concatenate([sequence, real], axis=-1), 0, 1)
    return scan(masked, sequence, initial_states, reverse)


def as_list(states):
    """A cell's states as a flat list, whether it has one or several."""
    return list(states) if isinstance(states, (list, tuple)) else [states]


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentStack(keras.layers.Layer):
    """A stack of LSTM layers with dropout on the input of each (Zaremba et al. 2014).

    The masks are drawn anew at every time step and never touch the recurrent
    connections.

    Args:
        units: cells of each layer; a bidirectional layer gives each direction half.
        num_layers: depth.
        bidirectional: whether each layer reads in both directions.
        reverse: whether a unidirectional stack reads from the last position to the
            first. Pads, which then come first, leave the state at zero.
        use_bias: whether the cells have biases.
        dropout: share of each layer's inputs that is dropped in training.
        kernel_initializer: of all matrices.
        seed: seed of the dropout masks.

    Call arguments:
        inputs: `(B, T, n)`.
        mask: bool `(B, T)`, true where real, or None.
        initial_states: list of `[h, c]` pairs, one a layer; zeros by default. Not for
            a bidirectional stack.

    Returns:
        `(outputs, states)`: `(B, T, units)` with zeros at pads, standing at the
        position that they belong to, and a list of `[h, c]` pairs, one a layer, each
        `(B, units)`; a bidirectional layer's final states are joined.

    Raises:
        ValueError: if units or layers are not positive integers, or the units of a
            bidirectional stack odd; when called with initial states for another number
            of layers, or for a bidirectional stack.

    Example:
        >>> import numpy as np
        >>> outputs, states = RecurrentStack(8, 2)(np.ones((2, 5, 3)))
        >>> outputs.shape, len(states)
        ((2, 5, 8), 2)
    """

    def __init__(
        self,
        units,
        num_layers=1,
        bidirectional=False,
        reverse=False,
        use_bias=True,
        dropout=0.0,
        kernel_initializer="glorot_uniform",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        units, num_layers = positive("units", units), positive("num_layers", num_layers)
        if bidirectional and units % 2:
            raise ValueError(
                "A bidirectional stack needs an even number of units, half for each "
                f"direction. Received: units={units}"
            )
        self.units = units
        self.num_layers = num_layers
        self.bidirectional = bidirectional
        self.reverse = reverse
        self.use_bias = use_bias
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.seed = seed
        self.supports_masking = True
        names = ("forward", "backward") if bidirectional else ("lstm",)
        self.cells = [
            [
                LSTMCell(
                    units // len(names),
                    use_bias=use_bias,
                    unit_forget_bias=False,
                    kernel_initializer=fresh(self.kernel_initializer),
                    recurrent_initializer=fresh(self.kernel_initializer),
                    dtype=self.dtype_policy,
                    name=f"{name}_{layer}",
                )
                for name in names
            ]
            for layer in range(num_layers)
        ]
        self.drop = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        size = inputs_shape[-1]
        for layer in self.cells:
            for cell in layer:
                cell.build((None, size))
            size = self.units
        self.built = True

    def call(self, inputs, mask=None, initial_states=None, training=False):
        if initial_states is not None and (
            self.bidirectional or len(initial_states) != self.num_layers
        ):
            kind = "bidirectional" if self.bidirectional else "unidirectional"
            raise ValueError(
                "`initial_states` must be one [h, c] pair a layer of a unidirectional "
                f"stack. Received: {len(initial_states)} for a {kind} stack of "
                f"{self.num_layers}"
            )
        outputs, states = ops.cast(inputs, self.compute_dtype), []
        for index, layer in enumerate(self.cells):
            outputs = self.drop(outputs, training=training)
            initial = None if initial_states is None else initial_states[index]
            if self.bidirectional:
                forward, first = run_cell(
                    layer[0], outputs, None, mask, training=training
                )
                backward, second = run_cell(
                    layer[1], outputs, None, mask, reverse=True, training=training
                )
                outputs = ops.concatenate([forward, backward], axis=-1)
                final = [
                    ops.concatenate(pair, axis=-1)
                    for pair in zip(first, second, strict=True)
                ]
            else:
                outputs, final = run_cell(
                    layer[0], outputs, initial, mask, self.reverse, training
                )
            states.append(final)
        return outputs, states

    def compute_output_shape(self, inputs_shape):
        state = (inputs_shape[0], self.units)
        states = [[state, state] for _ in range(self.num_layers)]
        return (*inputs_shape[:2], self.units), states

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "bidirectional": self.bidirectional,
            "reverse": self.reverse,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "seed": self.seed,
        }
