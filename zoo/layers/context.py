"""A decoder that attends first and reads the context in its recurrence."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import Attention, MemoryLayer, attend_hypotheses, with_keys
from zoo.layers.cells import GRUCell, LSTMCell, as_list, join
from zoo.layers.configured import Initializer, ZeroOrAbove
from zoo.layers.fast_loops.decoder_loop import run_context_cell
from zoo.layers.functional import (
    cast_weights,
    checked_states,
    columns,
    linear,
    sentence_mask,
)
from zoo.layers.initializers import in_float32


@keras.saving.register_keras_serializable(package="zoo")
class ContextCell(MemoryLayer):
    """One step of Bahdanau et al. 2015's decoder (section 3.1, appendix A.2.2).

    The order is s_{i-1} → a_i → c_i → s_i: attention, asked with the previous state,
    gives the context, which enters the recurrence beside the input:
    s_i = cell([x_i; c_i], s_{i-1}). (Luong's order is `AttentionCell`.)

    With `gate`, the context is multiplied by β_i = σ(s_{i-1} w_β + b_β), one number a
    step (Xu et al. 2015, section 4.2.1).

    Args:
        cell: a `zoo.layers.GRUCell` or `LSTMCell`.
        attention: a `zoo.layers` attention layer.
        gate: whether there is β.
        kernel_initializer: of w_β.

    Call arguments:
        inputs: `(B, n)`.
        states: flat list, from `get_initial_state` or the last call: the cell's states,
            then the target position, int32 `(B,)`.
        memory, mask, keys: as in the attention layers; of fewer rows for hypotheses
            that share a sentence, as in `AttentionCell`.

    Returns:
        `(output, context, alignment, new_states)`: s_i `(B, units)`, c_i `(B, d_m)`,
        a_i `(B, S)`, a list.

    Variables: those of the cell and of the attention; `w_beta` (units, 1) and
        `b_beta` (1,) with `gate`.

    Raises:
        ValueError: for another kind of cell or attention.

    Example:
        >>> import numpy as np
        >>> from zoo.layers import AdditiveAttention
        >>> cell = ContextCell(GRUCell(8), AdditiveAttention(16))
        >>> memory = np.ones((2, 5, 12), "float32")
        >>> cell.build((2, 4), memory.shape)
        >>> states = cell.get_initial_state(batch_size=2)
        >>> output, context, weights, states = cell(np.ones((2, 4)), states, memory)
        >>> output.shape, context.shape, weights.shape
        ((2, 8), (2, 12), (2, 5))
    """

    def __init__(
        self,
        cell: Any,
        attention: Any,
        gate: bool = False,
        kernel_initializer: Initializer = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(cell, (GRUCell, LSTMCell)):
            raise ValueError(
                "`cell` must be a zoo.layers.GRUCell or LSTMCell. "
                f"Received: cell={cell!r}"
            )
        if not isinstance(attention, Attention):
            raise ValueError(
                "`attention` must be an attention layer of zoo.layers. "
                f"Received: attention={attention!r}"
            )
        self.configure(locals())
        self.output_size = cell.output_size

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
        if not self.cell.built:
            self.cell.build((None, inputs_shape[-1] + memory_shape[-1]))
        if not self.attention.built:
            self.attention.build((None, self.output_size), memory_shape)
        if self.gate:
            self.w_beta = self.add_weight(
                name="w_beta",
                shape=(self.output_size, 1),
                initializer=in_float32(self.kernel_initializer, self.variable_dtype),
            )
            self.b_beta = self.add_weight(
                name="b_beta", shape=(1,), initializer="zeros"
            )
        self.built = True

    def get_initial_state(
        self, batch_size: int, cell_states: list[Tensor] | None = None
    ) -> list[Tensor]:
        """Returns the states before the first step.

        That is the cell's own (zeros, or `cell_states`) and position 0.
        """
        if cell_states is None:
            cell_states = self.cell.get_initial_state(batch_size=batch_size)
        sizes, states = as_list(self.cell.state_size), as_list(cell_states)
        states = checked_states(states, sizes, batch_size)
        states = [ops.cast(state, self.compute_dtype) for state in states]
        return [*states, ops.zeros((batch_size,), dtype="int32")]

    def call(
        self,
        inputs: Tensor,
        states: list[Tensor],
        memory: Tensor,
        memory_mask: Tensor | None = None,
        keys: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        memory, keys = with_keys(self.attention, memory, memory_mask, keys)
        *state, position = states
        # α_i and c_i, asked for with s_{i-1}: equations 5 and 6
        context, alignment = self.attend(state[0], memory, memory_mask, keys, position)
        output, state = self.recur([inputs, context], state)  # s_i, appendix A.2.2
        return output, context, alignment, [*state, position + 1]

    def recur(
        self, parts: list[Tensor], states: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """s_i and the cell's new states, for an input in parts `(B, n)`."""
        x = join(*(ops.cast(part, self.compute_dtype) for part in parts))
        return self.cell(x, states)

    def attend(
        self,
        state: Tensor,
        memory: Tensor,
        mask: Tensor,
        keys: Tensor,
        position: Tensor,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        """The context of a state and its weights; see `attend_hypotheses`."""
        context, alignment = attend_hypotheses(
            self.attention, state, memory, mask, keys, position, **options
        )
        if self.gate:  # β_i
            logit = linear(state, cast_weights(self.w_beta, self.compute_dtype))
            bias = cast_weights(self.b_beta, self.compute_dtype)
            context = ops.sigmoid(logit + bias) * context
        return context, alignment


@keras.saving.register_keras_serializable(package="zoo")
class ContextDecoder(MemoryLayer):
    """Runs a `ContextCell` over whole target sequences (teacher forcing).

    Keys and the input product stay outside the time loop.

    With `doubly_stochastic` λ, training adds Xu et al. 2015's penalty to the losses,
    for attention that looks at each place about once (section 4.2.1, equation 14): the
    batch's mean of λ Σ_i (1 - Σ_t α_ti)² over the real places. It stands beside the
    log-likelihood of a sentence: next to a mean over tokens it weighs more.

    Args:
        cell: a `ContextCell`.
        doubly_stochastic: λ; 1 in the authors' code, 0 by default.

    Call arguments:
        inputs: `(B, T, n)`.
        memory: `(B, S, d_m)`.
        mask: bool `(B, S)`, true where a source position is real; memory's Keras mask
            by default.
        steps_mask: bool `(B, T)`, true where a target step is real, for the penalty;
            the inputs' Keras mask by default.
        noise: `(B, T, S + 1)`, for `HardAttention`.
        initial_states: the cell's states; zeros by default.
        keys: the attention's `project(memory)`, if it is at hand already.
        return_alignments: whether the alignments are returned too; without them the
            loop carries less.

    Returns:
        `(outputs, contexts, states)`: s_1 … s_T `(B, T, units)`, c_1 … c_T
        `(B, T, d_m)`, the final states; with alignments `(B, T, S)` behind them. The
        outputs and the contexts carry the inputs' Keras mask, if they have one.

    Raises:
        ValueError: for another kind of cell, or λ below 0.

    Example:
        >>> import numpy as np
        >>> from zoo.layers import AdditiveAttention
        >>> decoder = ContextDecoder(ContextCell(GRUCell(8), AdditiveAttention(16)))
        >>> outputs, contexts, states = decoder(np.ones((2, 7, 4)), np.ones((2, 5, 12)))
        >>> outputs.shape, contexts.shape
        ((2, 7, 8), (2, 7, 12))
    """

    def __init__(
        self, cell: Any, doubly_stochastic: ZeroOrAbove = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(cell, ContextCell):
            raise ValueError(f"`cell` must be a ContextCell. Received: cell={cell!r}")
        self.configure(locals())

    def build(
        self, inputs_shape: Shape, memory_shape: Shape, noise_shape: Shape | None = None
    ) -> None:
        if not self.cell.built:
            self.cell.build((inputs_shape[0], inputs_shape[-1]), memory_shape)
        self.built = True

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        initial_states: list[Tensor] | None = None,
        keys: Tensor | None = None,
        training: bool = False,
        return_alignments: bool = False,
        steps_mask: Tensor | None = None,
        noise: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> tuple:
        cell, mask = self.cell, sentence_mask(memory_mask, memory)
        steps_mask = inputs_mask if steps_mask is None else steps_mask
        penalize = training and self.doubly_stochastic
        memory, keys = with_keys(cell.attention, memory, mask, keys)
        states = cell.get_initial_state(ops.shape(inputs)[0], initial_states)

        def step(view, x, states):
            found = ContextCell.call(view, x, states, memory, mask, keys)
            return ops.concatenate(found[:2], axis=-1), found[3], found[2]

        size, more = memory.shape[-1], bool(return_alignments or penalize)
        outputs, states, alignments = self.run(
            step, inputs, states, training, more, noise
        )
        if penalize:
            penalty = doubly_stochastic_penalty(alignments, mask, steps_mask)
            self.add_loss(self.doubly_stochastic * penalty)
        first = cell.output_size
        contexts = columns(outputs, first, first + size)
        found = columns(outputs, 0, first), contexts, states
        return (*found, alignments) if return_alignments else found

    def run(
        self,
        step: Callable[..., tuple],
        inputs: Tensor,
        state: Any,
        training: bool = False,
        return_alignments: bool = False,
        noise: Tensor | None = None,
    ) -> tuple[Tensor, Any, Tensor | None]:
        """Runs a custom step; see `run_context_cell`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        return run_context_cell(
            self.cell, step, inputs, state, training, return_alignments, noise
        )

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Any:
        return previous_mask, previous_mask

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        batch, time = inputs_shape[:2]
        sizes = [int(size) for size in as_list(self.cell.cell.state_size)]
        states = [*((batch, size) for size in sizes), (batch,)]
        contexts = (batch, time, memory_shape[-1])
        return (batch, time, self.cell.output_size), contexts, states


def doubly_stochastic_penalty(
    alignments: Tensor, mask: Tensor | None = None, steps_mask: Tensor | None = None
) -> Tensor:
    """Σ_i (1 - Σ_t α_ti)², the mean of the batch (Xu et al. 2015, equation 14).

    Args:
        alignments: α `(B, T, S)`.
        mask: bool `(B, S)`, true where a place is real, or None.
        steps_mask: bool `(B, T)`, true where a step is real, or None.

    Returns:
        A scalar, float32.
    """
    alignments = ops.cast(alignments, "float32")
    if steps_mask is not None:
        alignments = alignments * ops.cast(steps_mask, "float32")[..., None]
    missing = ops.square(1.0 - ops.sum(alignments, axis=1))
    if mask is not None:
        missing = missing * ops.cast(mask, "float32")
    return ops.mean(ops.sum(missing, axis=-1))
