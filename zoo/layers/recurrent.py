"""Recurrent cells run over sequences, and stacks of them."""

from typing import Any, Literal

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import one_of
from zoo.layers.activations import get_activation
from zoo.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, as_list, join
from zoo.layers.configured import Configured, Initializer, Rate, Size
from zoo.layers.fast_loops.cell_loop import run_cell
from zoo.layers.functional import checked_states, sentence_mask
from zoo.layers.initializers import clone_initializer

CELLS = {"lstm": LSTMCell, "gru": GRUCell, "rnn": SimpleRNNCell}


def _cell_options(cell, **given):
    """The arguments that one kind of cell has and the others don't."""
    lstm = {"forget_gate": True, "unit_forget_bias": False, "output_activation": None}
    own = {"lstm": lstm, "gru": {"update": None}, "rnn": {}}
    options = own[one_of("cell", cell, own)]
    for kind, defaults in own.items():
        for name, default in defaults.items():
            if given[name] is not default and cell != kind:
                raise ValueError(
                    f'`{name}` is for cell="{kind}" alone. '
                    f"Received: {name}={given[name]!r}, cell={cell!r}"
                )
    return {name: given[name] for name in options if given[name] is not None}


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentStack(Configured, keras.layers.Layer):
    """A stack of recurrent layers with dropout on the input of each.

    See Zaremba et al. 2014.

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
        recurrent_initializer: of the recurrent ones; None for the same.
        bias_initializer: of the biases.
        cell: "lstm", "gru" or "rnn" (`SimpleRNNCell`).
        update: of a `GRUCell`; None, the default, for the cell's own.
        forget_gate: of an `LSTMCell`; False for the cell of 1997.
        unit_forget_bias: of an `LSTMCell`; True for forget gates whose bias starts at
            1, whatever `bias_initializer` says.
        activation: of the cells; None, the default, for tanh.
        output_activation: of an `LSTMCell`; None, the default, for `activation`.
        seed: seed of the dropout masks.

    Call arguments:
        inputs: `(B, T, n)`.
        mask: bool `(B, T)`, true where real; the inputs' Keras mask by default.
        initial_states: list of `[h, c]` pairs, `[h]` for cells other than LSTMs, one a
            layer; zeros by default. Not for a bidirectional stack.

    Returns:
        `(outputs, states)`: `(B, T, units)` with zeros at pads, standing at the
        position that they belong to, and a list of `[h, c]` pairs, or `[h]`, one a
        layer, each `(B, units)`; a bidirectional layer's final states are joined. The
        outputs carry the mask.

    Raises:
        ValueError: if units or layers are not positive integers, the dropout is not in
            [0, 1), or the units of a bidirectional stack are odd; for another cell, or
            an argument of another cell's; for forget gates' biases that there are none
            of; when called with initial states of another number or shape, or for a
            bidirectional stack.

    Example:
        >>> import numpy as np
        >>> outputs, states = RecurrentStack(8, 2)(np.ones((2, 5, 3)))
        >>> outputs.shape, len(states)
        ((2, 5, 8), 2)
    """

    def __init__(
        self,
        units: Size,
        num_layers: Size = 1,
        bidirectional: bool = False,
        reverse: bool = False,
        use_bias: bool = True,
        dropout: Rate = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer | None = None,
        bias_initializer: Initializer = "zeros",
        cell: Literal["lstm", "gru", "rnn"] = "lstm",
        update: str | None = None,
        forget_gate: bool = True,
        unit_forget_bias: bool = False,
        activation: Any = None,
        output_activation: Any = None,
        seed: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        options = _cell_options(
            cell,
            update=update,
            forget_gate=forget_gate,
            unit_forget_bias=unit_forget_bias,
            output_activation=output_activation,
        )
        if unit_forget_bias and not (use_bias and forget_gate):
            raise ValueError(
                "`unit_forget_bias` needs biases and forget gates. "
                f"Received: use_bias={use_bias}, forget_gate={forget_gate}"
            )
        self.configure(locals())
        if bidirectional and units % 2:
            raise ValueError(
                "A bidirectional stack needs an even number of units, half for each "
                f"direction. Received: units={units}"
            )
        if recurrent_initializer is None:
            self.recurrent_initializer = self.kernel_initializer
        self.activation = get_activation(activation or "tanh")
        self.supports_masking = True
        names = ("forward", "backward") if bidirectional else (cell,)
        self.cells = [
            [
                CELLS[cell](
                    units // len(names),
                    use_bias=use_bias,
                    activation=self.activation,
                    **options,
                    kernel_initializer=clone_initializer(self.kernel_initializer),
                    recurrent_initializer=clone_initializer(self.recurrent_initializer),
                    bias_initializer=clone_initializer(self.bias_initializer),
                    dtype=self.dtype_policy,
                    name=f"{name}_{layer}",
                )
                for name in names
            ]
            for layer in range(num_layers)
        ]
        self.drop = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, inputs_shape: Shape) -> None:
        size = inputs_shape[-1]
        for layer in self.cells:
            for cell in layer:
                cell.build((None, size))
            size = self.units
        self.built = True

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        initial_states: list[Tensor] | None = None,
        training: bool = False,
        inputs_mask: Tensor | None = None,
    ) -> tuple[Tensor, list[list[Tensor]]]:
        # Keras fills `inputs_mask`, and not `mask`, where there are initial states.
        mask = sentence_mask(inputs_mask if mask is None else mask, inputs)
        if initial_states is not None and (
            self.bidirectional or len(initial_states) != self.num_layers
        ):
            kind = "bidirectional" if self.bidirectional else "unidirectional"
            raise ValueError(
                "`initial_states` must be one list of states a layer of a "
                f"unidirectional stack. Received: {len(initial_states)} for a {kind} "
                f"stack of {self.num_layers}"
            )
        outputs, states = ops.cast(inputs, self.compute_dtype), []
        for index, layer in enumerate(self.cells):
            outputs = self.drop(outputs, training=training)
            initial = None
            if initial_states is not None:
                sizes = as_list(layer[0].state_size)
                batch = ops.shape(inputs)[0]
                initial = checked_states(initial_states[index], sizes, batch)
            directions = (False, True) if self.bidirectional else (self.reverse,)
            found = [
                run_cell(cell, outputs, initial, mask, reverse, training)
                for cell, reverse in zip(layer, directions, strict=True)
            ]
            outputs = join(*(each for each, _ in found))
            final = zip(*(final for _, final in found), strict=True)
            states.append([join(*parts) for parts in final])
        return outputs, states

    def compute_output_shape(self, inputs_shape: Shape) -> Any:
        state = (inputs_shape[0], self.units)
        count = 2 if self.cell == "lstm" else 1
        states = [[state] * count for _ in range(self.num_layers)]
        return (*inputs_shape[:2], self.units), states

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Any:
        return previous_mask, None
