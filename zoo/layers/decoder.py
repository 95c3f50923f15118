"""A decoder made of any recurrent cells and any attention (Luong et al. 2015)."""

import itertools

import keras
from keras import ops

from zoo.layers.attention import MemoryLayer
from zoo.layers.attention_cell import state_specs
from zoo.layers.cells import as_list
from zoo.layers.cudnn import has_cudnn, run_lstm
from zoo.layers.functional import (
    LoopKernel,
    clear_masked,
    loop_kernels,
    scan,
    sentence_mask,
)
from zoo.layers.recurrent import CellRunner


@keras.saving.register_keras_serializable(package="zoo")
class AttentionDecoder(MemoryLayer, CellRunner):
    """Runs an `AttentionCell` over whole target sequences (teacher forcing).

    What does not depend on the step stays outside the time loop: keys, the input
    product, the dropout masks. Without input feeding the cells run as one recurrent
    call, followed by one batched attention.

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

    def __init__(self, cell, return_alignments=True, **kwargs):
        super().__init__(cell, **kwargs)
        self.return_alignments = return_alignments

    def build(self, inputs_shape, memory_shape):
        if not self.cell.built:
            step_shape = (inputs_shape[0], inputs_shape[-1])
            self.cell.build(step_shape, memory_shape)
        self.built = True

    def call(
        self,
        inputs,
        memory,
        memory_mask=None,
        initial_states=None,
        keys=None,
        training=False,
        return_alignments=None,
    ):
        if return_alignments is None:
            return_alignments = self.return_alignments
        cell, mask = self.cell, sentence_mask(memory_mask, memory)
        if keys is None:
            memory = clear_masked(memory, mask)
            keys = cell.attention.project(memory)
        batch, time = ops.shape(inputs)[0], ops.shape(inputs)[1]
        states = cell.get_initial_state(batch, initial_states)
        loose = cell.hoists and not cell.input_feeding
        if loose and all(has_cudnn(own, inputs) for own in cell.cells):
            hidden, states = self._run_whole(inputs, states, training)
            W_c = cell.loop_kernels()[-1]
            outputs, alignments = self._attend(hidden, memory, mask, keys, W_c)
            return (outputs, states, *([alignments] if return_alignments else []))
        # Time first, as a loop reads it: only the narrow inputs are turned round.
        inputs = ops.swapaxes(ops.cast(inputs, self.compute_dtype), 0, 1)
        drops = cell.draw_drops((time, batch), training)
        first = cell.project(cell.drop(inputs, training=training))
        kernels = cell.loop_kernels()
        inside = len(kernels) if cell.input_feeding else len(kernels) - 1
        kernels[:inside] = loop_kernels(kernels[:inside], training)
        added, widened = cell.additions(first), {}
        for index, kernel in enumerate(kernels, len(added) - len(kernels)):
            if isinstance(kernel, LoopKernel):
                lead = (time, batch, kernel.shape[1])
                rest = added[index]
                rest = ops.zeros((), self.compute_dtype) if rest is None else rest
                widened[index] = kernel.widen(ops.broadcast_to(rest, lead))
        widened.setdefault(0, first)
        # What the loop reads, side by side: it takes one sequence.
        parts = [*widened.values(), *drops]
        ends = list(itertools.accumulate(part.shape[-1] for part in parts[:-1]))
        sequence = ops.concatenate(parts, axis=-1) if ends else parts[0]
        sequence = ops.swapaxes(sequence, 0, 1)  # scan turns it back at no cost

        def cut(x):
            """This step's additions and dropout masks."""
            pieces = ops.split(x, ends, axis=-1) if ends else [x]
            own = dict(zip(widened, pieces, strict=False))
            whole = [own.get(index, rest) for index, rest in enumerate(added)]
            return whole, pieces[len(widened) :]

        if cell.input_feeding:
            fixed = memory, mask, keys, kernels

            def step(x, states):
                added, drops = cut(x)
                output, alignment, states = cell.advance(
                    added, states, *fixed, drops, paired=True, training=training
                )
                if return_alignments:
                    output = ops.concatenate([output, alignment], axis=-1)
                return output, states

            outputs, states = scan(step, sequence, states)
            alignments = outputs[..., cell.units :] if return_alignments else None
            outputs = outputs[..., : cell.units]
        else:

            def step(x, states):
                added, drops = cut(x)
                return cell.run_cells(added, states, kernels, drops, training)

            hidden, states[:-1] = scan(step, sequence, states[:-1])
            outputs, alignments = self._attend(hidden, memory, mask, keys, kernels[-1])
            states[-1] = states[-1] + time
        if return_alignments:
            return outputs, states, alignments
        return outputs, states

    def _attend(self, hidden, memory, mask, keys, W_c):
        """Without input feeding: all steps' attention at once."""
        positions = ops.arange(ops.shape(hidden)[1], dtype="int32")
        context, alignments = self.cell.attention(
            hidden, memory, mask=mask, keys=keys, position=positions
        )
        return self.cell.combine(context, hidden, W_c), alignments

    def _run_whole(self, inputs, states, training):
        """Without input feeding: the cells layer by layer, by cuDNN's kernel."""
        new_states = []
        for index, cell in enumerate(self.cell.cells):
            inputs = self.cell.drop(inputs, training=training)
            own = states[2 * index : 2 * index + 2]
            inputs, final = run_lstm(cell, inputs, own)
            new_states += final
        return inputs, [*new_states, states[-1] + ops.shape(inputs)[1]]

    def compute_output_spec(
        self, inputs, memory, *args, return_alignments=None, **kwargs
    ):
        if return_alignments is None:
            return_alignments = self.return_alignments
        shapes = self._output_shapes(inputs.shape, memory.shape, return_alignments)
        outputs, states, *alignments = shapes
        return (
            keras.KerasTensor(outputs, self.compute_dtype),
            state_specs(states, self.compute_dtype),
            *(keras.KerasTensor(shape, self.compute_dtype) for shape in alignments),
        )

    def compute_output_shape(self, inputs_shape, memory_shape):
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

    def get_config(self):
        return {**super().get_config(), "return_alignments": self.return_alignments}
