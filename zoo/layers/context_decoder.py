"""Decoders that read a context, and their readout: Bahdanau et al. 2015, Cho et al."""

from typing import Annotated, Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import Attention, with_keys
from zoo.layers.attention_decoder import Decoder, DecoderCell
from zoo.layers.cells import GRUCell, LSTMCell
from zoo.layers.configured import ConfiguredLayer, Initializer, Size, instance
from zoo.layers.fast_loops.decoder_loop import make_loop_step
from zoo.layers.fast_loops.time_loop import NO_LOOP, TimeLoop
from zoo.layers.functional import cast_weights, linear


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

    cell: Annotated[Any, instance(GRUCell, LSTMCell)]
    attention: Annotated[Any, instance(Attention)]
    gate: bool = False
    kernel_initializer: Initializer = "glorot_uniform"

    def setup(self) -> None:
        self.output_size, self.cells = self.cell.output_size, [self.cell]

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
        self.fed_size = memory_shape[-1]
        if not self.cell.built:
            self.cell.build((None, inputs_shape[-1] + self.fed_size))
        if not self.attention.built:
            self.attention.build((None, self.output_size), memory_shape)
        if self.gate:
            shape, draw = (self.output_size, 1), self.kernel_initializer
            self.w_beta = self.add_weight(shape, draw, name="w_beta")
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

    def output_sizes(self, memory_size: int) -> tuple[int, ...]:
        """The sizes of output and context."""
        return self.output_size, memory_size

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

    Args:
        cell: a `ContextCell`.

    Call arguments:
        inputs: `(B, T, n)`.
        memory: `(B, S, d_m)`.
        mask: bool `(B, S)`, true where a source position is real; memory's Keras mask
            by default.
        noise: `(B, T, S + 1)`, for `HardAttention`.
        initial_states: the cell's states; zeros by default.
        keys: the attention's `project(memory)`, if it is at hand already.

    Returns:
        `(outputs, contexts, states, alignments)`: s_1 … s_T `(B, T, units)`, c_1 … c_T
        `(B, T, d_m)`, the final states and `(B, T, S)`. The outputs carry the inputs'
        Keras mask, if they have one.

    Raises:
        ValueError: for another kind of cell.

    Example:
        >>> import numpy as np
        >>> from zoo.layers import AdditiveAttention
        >>> decoder = ContextDecoder(ContextCell(GRUCell(8), AdditiveAttention(16)))
        >>> inputs, memory = np.ones((2, 7, 4)), np.ones((2, 5, 12))
        >>> outputs, contexts, states, alignments = decoder(inputs, memory)
        >>> outputs.shape, contexts.shape
        ((2, 7, 8), (2, 7, 12))
    """

    cell: Annotated[Any, instance(ContextCell)]


@keras.saving.register_keras_serializable(package="zoo")
class FixedContextDecoder(ConfiguredLayer):
    """Runs a cell over target sequences with one context per sentence.

    The context is a further input at every step: s_i = cell([x_i; c], s_{i-1}).

    The reset gate of a cell with `reset_after=True` scales the context's share of the
    candidate too, tanh(x W + r * (s U + c C)), as in the appendix of Cho et al. 2014.

    Args:
        cell: a `zoo.layers.GRUCell`.

    Call arguments:
        inputs: `(B, T, n)`.
        context: `(B, d)`.
        initial_state: `(B, units)`.

    Returns:
        `(outputs, contexts)`: `(B, T, units)`, and the context for every step,
        `(B, T, d)`. The outputs carry the inputs' Keras mask, if they have one.

    Raises:
        ValueError: for another kind of cell.

    Example:
        >>> import numpy as np
        >>> decoder = FixedContextDecoder(GRUCell(8))
        >>> zeros = np.zeros((2, 8))
        >>> outputs, _ = decoder(np.ones((2, 7, 4)), np.ones((2, 5)), zeros)
        >>> outputs.shape
        (2, 7, 8)
    """

    cell: Annotated[Any, instance(GRUCell)]

    def build(
        self,
        inputs_shape: Shape,
        context_shape: Shape,
        initial_state_shape: Shape | None = None,
    ) -> None:
        if not self.cell.built:
            self.cell.build((None, inputs_shape[-1] + context_shape[-1]))
        self.built = True

    def project(self, context: Tensor) -> list[Tensor]:
        """The context's shares in each step: c C, and what the reset gate scales."""
        kernel = cast_weights(self.cell.kernel, self.compute_dtype)
        start = kernel.shape[0] - context.shape[-1]
        added = linear(ops.cast(context, self.compute_dtype), kernel[start:])
        if not self.cell.reset_after:
            return [added]
        gates, reset = ops.split(added, [2 * self.cell.units], axis=-1)
        return [ops.concatenate([gates, ops.zeros_like(reset)], axis=-1), reset]

    def call(
        self,
        inputs: Tensor,
        context: Tensor,
        initial_state: Tensor,
        training: bool = False,
    ) -> tuple[Tensor, Tensor]:
        words = ops.swapaxes(ops.cast(inputs, self.compute_dtype), 0, 1)
        loop = TimeLoop(ops.shape(words)[:2], self.cell.compute_dtype, training)
        added, *reset = self.project(context)
        options: dict[str, Any] = {"reset": reset[0]} if reset else {}
        step = make_loop_step(self.cell, loop, words, added=added, **options)
        outputs, _ = loop.run(step, [ops.cast(initial_state, self.compute_dtype)])
        lead = (*ops.shape(outputs)[:2], context.shape[-1])
        return outputs, ops.broadcast_to(context[:, None], lead)

    def step(
        self, inputs: Tensor, state: Tensor, added: Tensor, reset: Tensor | None = None
    ) -> Tensor:
        """One step: `(B, n)`, `(B, units)` and `*project(context)` to `(B, units)`."""
        net = self.cell.project(inputs) + added
        return self.cell.make_step(NO_LOOP, net, reset=reset)(None, [state])[0]

    def compute_output_shape(
        self, inputs_shape: Shape, context_shape: Shape, initial_state_shape: Shape
    ) -> Any:
        lead = tuple(inputs_shape[:2])
        return (*lead, self.cell.output_size), (*lead, context_shape[-1])


@keras.saving.register_keras_serializable(package="zoo")
class MaxoutReadout(ConfiguredLayer):
    """Deep output with one maxout layer (Bahdanau et al. 2015, appendix A.2.2).

        t~ = s U_o + y E V_o + c C_o + b_o       2 l values
        t_j = max(t~_{2j-1}, t~_{2j})            j = 1 … l

    The same layer is Cho et al. 2014's, with O_h, O_y and O_c for U_o, V_o and C_o.

    Args:
        units: l.
        use_bias: whether there is b_o.
        kernel_initializer: of the matrices; the paper's is N(0, 0.01²).

    Call arguments:
        state: `(..., n)`, the decoder's.
        embedding: `(..., m)`, of the last target word.
        context: `(..., d)`.

    Returns:
        `(..., units)`, with the state's Keras mask, if it has one.

    Variables: `U_o` (n, 2 l), `V_o` (m, 2 l), `C_o` (d, 2 l), `b_o` (2 l,).

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> state, word, context = (np.ones((2, 7, n)) for n in (8, 4, 16))
        >>> MaxoutReadout(5)(state, word, context).shape
        (2, 7, 5)
    """

    units: Size
    use_bias: bool = True
    kernel_initializer: Initializer = "glorot_uniform"

    def build(
        self, state_shape: Shape, embedding_shape: Shape, context_shape: Shape
    ) -> None:
        shapes = {"U_o": state_shape, "V_o": embedding_shape, "C_o": context_shape}
        for name, shape in shapes.items():
            self.make_weight(name, (shape[-1], 2 * self.units), self.kernel_initializer)
        self.b_o = None
        if self.use_bias:
            self.make_weight("b_o", (2 * self.units,), "zeros")
        self.built = True

    def call(self, state: Tensor, embedding: Tensor, context: Tensor) -> Tensor:
        joined = ops.concatenate([state, embedding, context], axis=-1)
        weights = [
            cast_weights(w, self.compute_dtype) for w in (self.U_o, self.V_o, self.C_o)
        ]
        hidden = linear(joined, ops.concatenate(weights, axis=0))
        if self.b_o is not None:
            hidden = hidden + cast_weights(self.b_o, self.compute_dtype)
        pairs = ops.reshape(hidden, (*ops.shape(hidden)[:-1], self.units, 2))
        return ops.max(pairs, axis=-1)

    def compute_output_shape(
        self, state_shape: Shape, embedding_shape: Shape, context_shape: Shape
    ) -> Any:
        return (*state_shape[:-1], self.units)
