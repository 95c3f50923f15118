"""Decoders of recurrent cells with attention, over whole targets."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import MemoryLayer, with_keys
from zoo.layers.attention_cell import AttentionCell
from zoo.layers.cells import as_list
from zoo.layers.fast_loops.decoder_loop import run_decoder
from zoo.layers.functional import sentence_mask


class Decoder(MemoryLayer):
    """Base class of the decoders, which run a `DecoderCell` over whole targets."""

    cell: Any

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
        if not self.cell.built:
            self.cell.build((inputs_shape[0], inputs_shape[-1]), memory_shape)
        self.built = True

    def prepare(
        self, inputs: Tensor, memory: Tensor, mask: Any, states: Any, keys: Any
    ) -> tuple[list[Tensor], tuple]:
        """The first states, and memory, mask and keys as the cell takes them."""
        mask = sentence_mask(mask, memory)
        memory, keys = with_keys(self.cell.attention, memory, mask, keys)
        states = self.cell.get_initial_state(ops.shape(inputs)[0], states)
        return states, (memory, mask, keys)

    def run(
        self,
        step: Callable[..., tuple],
        inputs: Tensor,
        state: Any,
        *arguments: Any,
        **options: Any,
    ) -> tuple[Tensor, Any, Any]:
        """Runs a custom step; see `run_decoder`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        return run_decoder(self.cell, step, inputs, state, *arguments, **options)

    def state_shapes(self, batch: Any) -> list[Shape]:
        """The shapes of the final states."""
        sizes = [size for cell in self.cell.cells for size in as_list(cell.state_size)]
        return [*((batch, int(size)) for size in sizes), (batch,)]


@keras.saving.register_keras_serializable(package="zoo")
class AttentionDecoder(Decoder):
    """Runs an `AttentionCell` over whole target sequences (teacher forcing).

    Each step is the cell's; what doesn't depend on the step is computed before the loop
    (`zoo.layers.fast_loops`). Without input feeding the cells run layer by layer,
    followed by one batched attention.

    Args:
        cell: an `AttentionCell`.
        return_alignments: whether the alignments are returned; without them the loop
            carries less.

    Call arguments:
        inputs: `(B, T, n)`.
        memory: `(B, S, d_m)`.
        mask: bool `(B, S)`, true where a source position is real; memory's Keras
            mask by default.
        initial_states: flat list of the cells' states; zeros by default.
        keys: the attention's `project(memory)`, if it is at hand already.

    Returns:
        `(outputs, states, alignments)`: `(B, T, units)`, the final flat list of
        states, and `(B, T, S)`; only the first two if `return_alignments` is False.
        The outputs carry the inputs' Keras mask. It doesn't affect the computation:
        target padding is on the right.

    Example:
        >>> import numpy as np
        >>> from zoo.layers import AttentionCell, LocalPredictiveAttention, LSTMCell
        >>> cell = AttentionCell([LSTMCell(8), LSTMCell(8)], LocalPredictiveAttention())
        >>> decoder = AttentionDecoder(cell)
        >>> outputs, states, alignments = decoder(
        ...     np.ones((2, 7, 4)), np.ones((2, 5, 12)))
        >>> outputs.shape, alignments.shape
        ((2, 7, 8), (2, 7, 5))
    """

    def __init__(
        self, cell: Any, return_alignments: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.configure(locals())

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        initial_states: list[Tensor] | None = None,
        keys: Tensor | None = None,
        training: bool = False,
    ) -> tuple:
        states, source = self.prepare(inputs, memory, memory_mask, initial_states, keys)

        def step(view, x, states):
            output, alignment, states = AttentionCell.call(view, x, states, *source)
            return output, states, alignment

        outputs, states, alignments = self.run(
            step, inputs, states, training, self.return_alignments
        )
        if not self.cell.input_feeding:  # one step has taken all
            states[-1] = states[-1] + ops.shape(inputs)[1] - 1
        found = outputs, states
        return (*found, alignments) if self.return_alignments else found

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        lead = tuple(inputs_shape[:2])
        *states, position = self.state_shapes(lead[0])
        if self.cell.input_feeding:
            states.append((lead[0], self.cell.units))
        found = (*lead, self.cell.units), [*states, position]
        return (*found, (*lead, memory_shape[1])) if self.return_alignments else found
