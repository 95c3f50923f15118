"""A decoder that attends first and reads the context in its recurrence."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import Attention, with_keys
from zoo.layers.attention_cell import DecoderCell
from zoo.layers.cells import GRUCell, LSTMCell
from zoo.layers.configured import Initializer, ZeroOrAbove
from zoo.layers.decoder import Decoder
from zoo.layers.functional import cast_weights, columns, linear
from zoo.layers.initializers import in_float32


@keras.saving.register_keras_serializable(package="zoo")
class ContextCell(DecoderCell):
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

    @property
    def cells(self) -> list[Any]:  # type: ignore[override]
        """The cell, in a list."""
        return [self.cell]

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
        self.fed_size = memory_shape[-1]
        if not self.cell.built:
            self.cell.build((None, inputs_shape[-1] + self.fed_size))
        if not self.attention.built:
            self.attention.build((None, self.output_size), memory_shape)
        if self.gate:
            draw = in_float32(self.kernel_initializer, self.variable_dtype)
            self.w_beta = self.add_weight((self.output_size, 1), draw, name="w_beta")
            self.b_beta = self.add_weight((1,), "zeros", name="b_beta")
        self.built = True

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

    def attend(self, query: Tensor, *arguments: Any, **options: Any) -> Any:
        """As any `DecoderCell`'s, the context times β_i."""
        context, alignment = super().attend(query, *arguments, **options)
        if self.gate:
            logit = linear(query, cast_weights(self.w_beta, self.compute_dtype))
            bias = cast_weights(self.b_beta, self.compute_dtype)
            context = ops.sigmoid(logit + bias) * context
        return context, alignment


@keras.saving.register_keras_serializable(package="zoo")
class ContextDecoder(Decoder):
    """Runs a `ContextCell` over whole target sequences (teacher forcing).

    Keys and the input product stay outside the time loop.

    With `doubly_stochastic` λ, training adds Xu et al. 2015's penalty to the losses,
    for attention that looks at each place about once (section 4.2.1, equation 14): the
    batch's mean of λ Σ_i (1 - Σ_t α_ti)² over the real places and steps. It stands
    beside the log-likelihood of a sentence: next to a mean over tokens it weighs more.

    Args:
        cell: a `ContextCell`.
        doubly_stochastic: λ; 1 in the authors' code, 0 by default.

    Call arguments:
        inputs: `(B, T, n)`.
        memory: `(B, S, d_m)`.
        mask: bool `(B, S)`, true where a source position is real; memory's Keras mask
            by default.
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

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        initial_states: list[Tensor] | None = None,
        keys: Tensor | None = None,
        training: bool = False,
        return_alignments: bool = False,
        noise: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> tuple:
        states, source = self.prepare(inputs, memory, memory_mask, initial_states, keys)

        def step(view, x, states):
            s, c, alignment, states = ContextCell.call(view, x, states, *source)
            return ops.concatenate([s, c], axis=-1), states, alignment

        penalize = training and self.doubly_stochastic
        outputs, states, alignments = self.run(
            step, inputs, states, training, bool(return_alignments or penalize), noise
        )
        if penalize:
            penalty = doubly_stochastic_penalty(alignments, source[1], inputs_mask)
            self.add_loss(self.doubly_stochastic * penalty)
        first = self.cell.output_size
        contexts = columns(outputs, first, first + memory.shape[-1])
        found = columns(outputs, 0, first), contexts, states
        return (*found, alignments) if return_alignments else found

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Any:
        return previous_mask, previous_mask

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        lead = tuple(inputs_shape[:2])
        outputs = (*lead, self.cell.output_size)
        return outputs, (*lead, memory_shape[-1]), self.state_shapes(lead[0])


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
