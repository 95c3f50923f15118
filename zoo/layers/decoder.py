"""A decoder made of any recurrent cells and any attention (Luong et al. 2015)."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import MemoryLayer, with_keys
from zoo.layers.attention_cell import AttentionCell, state_specs
from zoo.layers.cells import as_list
from zoo.layers.fast_loops.decoder_loop import run_attention_cell
from zoo.layers.functional import sentence_mask


@keras.saving.register_keras_serializable(package="zoo")
class AttentionDecoder(MemoryLayer):
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
        return_alignments: instead of the layer's own setting.

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

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
        if not self.cell.built:
            step_shape = (inputs_shape[0], inputs_shape[-1])
            self.cell.build(step_shape, memory_shape)
        self.built = True

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        initial_states: list[Tensor] | None = None,
        keys: Tensor | None = None,
        training: bool = False,
        return_alignments: bool | None = None,
    ) -> tuple:
        if return_alignments is None:
            return_alignments = self.return_alignments
        cell, mask = self.cell, sentence_mask(memory_mask, memory)
        memory, keys = with_keys(cell.attention, memory, mask, keys)
        states = cell.get_initial_state(ops.shape(inputs)[0], initial_states)

        def step(view, x, states):
            found = AttentionCell.call(view, x, states, memory, mask, keys)
            return found[0], found[2], found[1]

        outputs, states, alignments = self.run(
            step, inputs, states, training, return_alignments
        )
        if not cell.input_feeding:  # one step has taken all
            states[-1] = states[-1] + ops.shape(inputs)[1] - 1
        return (outputs, states, *([alignments] if return_alignments else []))

    def run(
        self,
        step: Callable[..., tuple],
        inputs: Tensor,
        state: Any,
        training: bool = False,
        return_alignments: bool = False,
    ) -> tuple[Tensor, Any, Tensor | None]:
        """Runs a custom step; see `run_attention_cell`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        return run_attention_cell(
            self.cell, step, inputs, state, training, return_alignments
        )

    def compute_output_spec(
        self,
        inputs: Tensor,
        memory: Tensor,
        *args: Any,
        return_alignments: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        if return_alignments is None:
            return_alignments = self.return_alignments
        shapes = self._output_shapes(inputs.shape, memory.shape, return_alignments)
        outputs, states, *alignments = shapes
        return (
            keras.KerasTensor(outputs, self.compute_dtype),
            state_specs(states, self.compute_dtype),
            *(keras.KerasTensor(shape, self.compute_dtype) for shape in alignments),
        )

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        return self._output_shapes(inputs_shape, memory_shape, self.return_alignments)

    def _output_shapes(self, inputs_shape, memory_shape, return_alignments):
        batch, time = inputs_shape[:2]
        sizes = [size for cell in self.cell.cells for size in as_list(cell.state_size)]
        sizes += [self.cell.units] if self.cell.input_feeding else []
        states = [*((batch, size) for size in sizes), (batch,)]
        outputs = (batch, time, self.cell.units)
        if not return_alignments:
            return outputs, states
        return outputs, states, (batch, time, memory_shape[1])
