"""Recurrent cells run over sequences, and stacks of them."""

from typing import Any, Literal

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.cells import GRUCell, LSTMCell, SimpleRNNCell
from zoo.layers.configured import (
    ConfiguredLayer,
    Initializer,
    Rate,
    Size,
    clone_initializer,
)
from zoo.layers.fast_loops.decoder_loop import run_cell
from zoo.layers.functional import join, read_mask

CELLS = {"lstm": LSTMCell, "gru": GRUCell, "rnn": SimpleRNNCell}


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentStack(ConfiguredLayer):
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
        dropout: share of each layer's inputs that is dropped in training.
        kernel_initializer: of all matrices.
        recurrent_initializer: of the recurrent ones; None for the same.
        bias_initializer: of the biases.
        cell: "lstm", "gru" or "rnn" (`SimpleRNNCell`).
        cell_options: dict of further arguments of the cells, such as `use_bias`. An
            LSTM's `unit_forget_bias` is False by default.
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
            [0, 1), or the units of a bidirectional stack are odd; for another cell, an
            argument that it doesn't have, or `unit_forget_bias` without biases or
            forget gates; when called with initial states of another number, or for a
            bidirectional stack.

    Example:
        >>> import numpy as np
        >>> outputs, states = RecurrentStack(8, 2)(np.ones((2, 5, 3)))
        >>> outputs.shape, len(states)
        ((2, 5, 8), 2)
    """

    units: Size
    num_layers: Size = 1
    bidirectional: bool = False
    reverse: bool = False
    dropout: Rate = 0.0
    kernel_initializer: Initializer = "glorot_uniform"
    recurrent_initializer: Initializer | None = None
    bias_initializer: Initializer = "zeros"
    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    cell_options: Any = None
    seed: Any = None

    def setup(self) -> None:
        if self.bidirectional and self.units % 2:
            raise ValueError(
                "A bidirectional stack needs an even number of units, half for each "
                f"direction. Received: units={self.units}"
            )
        if self.recurrent_initializer is None:
            self.recurrent_initializer = self.kernel_initializer
        names = ("forward", "backward") if self.bidirectional else (self.cell,)
        lstm = self.cell == "lstm"
        options: dict[str, Any] = {"unit_forget_bias": False} if lstm else {}
        options |= self.cell_options or {}
        needed = ("use_bias", "forget_gate") if options.get("unit_forget_bias") else ()
        if not all(options.get(name, True) for name in needed):
            raise ValueError(
                "`unit_forget_bias` needs biases and forget gates. "
                f"Received: cell_options={self.cell_options!r}"
            )
        self.cells = [
            [
                CELLS[self.cell](
                    self.units // len(names),
                    **options,
                    kernel_initializer=clone_initializer(self.kernel_initializer),
                    recurrent_initializer=clone_initializer(self.recurrent_initializer),
                    bias_initializer=clone_initializer(self.bias_initializer),
                    dtype=self.dtype_policy,
                    name=f"{name}_{layer}",
                )
                for name in names
            ]
            for layer in range(self.num_layers)
        ]
        self.make_dropout()

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
        mask = read_mask(inputs_mask if mask is None else mask, inputs)
        if initial_states and (
            self.bidirectional or len(initial_states) != self.num_layers
        ):
            raise ValueError(
                "`initial_states` must be a list for each layer of a unidirectional "
                f"stack. Received: {len(initial_states)} for {self.num_layers} layers, "
                f"bidirectional={self.bidirectional}"
            )
        outputs, states = ops.cast(inputs, self.compute_dtype), []
        for index, layer in enumerate(self.cells):
            outputs = self.drop(outputs, training=training)
            initial: Any = initial_states[index] if initial_states else None
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
