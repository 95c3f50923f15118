"""Recurrent decoders with attention: their base classes, and Luong et al. 2015's."""

import itertools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import MemoryLayer, with_keys
from zoo.layers.cells import ZooCell, as_list
from zoo.layers.configured import Initializer, Size
from zoo.layers.fast_loops.decoder_loop import run_decoder
from zoo.layers.functional import (
    cast_weights,
    columns,
    flatten_leading,
    join,
    linear,
    read_mask,
)


class DecoderCell(MemoryLayer):
    """Base class: `call` puts `recur` and `attend` in the order of its paper."""

    dropout = 0.0
    input_feeding = True  # of the last step's result or a context
    fed_size = 0  # of the second part of the input, which is known in the step only

    @property
    def counts(self) -> list[int]:
        """How many states each cell has."""
        return [len(as_list(cell.state_size)) for cell in self.cells]

    def get_initial_state(
        self, batch_size: int, cell_states: list[Tensor] | None = None
    ) -> list[Tensor]:
        """The cells' states (zeros, or `cell_states`, a flat list) and position 0."""
        if cell_states is None:
            cell_states = []
            for cell in self.cells:
                cell_states += as_list(cell.get_initial_state(batch_size=batch_size))
        if len(cell_states) != sum(self.counts):
            raise ValueError(
                f"There must be {sum(self.counts)} states. Received: {len(cell_states)}"
            )
        states = [ops.cast(state, self.compute_dtype) for state in cell_states]
        return [*states, ops.zeros((batch_size,), dtype="int32")]

    def recur(
        self,
        parts: list[Tensor],
        states: list[Tensor],
        training: bool = False,
        steps: Any = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """The cells' output for the parts of an input, and their new flat states.

        A loop gives its own `steps`, `(x, state) -> (x, state)`, one per cell.
        """
        new_states: list[Tensor] = []
        own = (cell.call if isinstance(cell, ZooCell) else cell for cell in self.cells)
        x = join(*(ops.cast(part, self.compute_dtype) for part in parts))
        left = iter(states)
        for step, count in zip(steps or own, self.counts, strict=True):
            if training and self.dropout:
                x = self.drop(x, training=True)
            x, state = step(x, list(itertools.islice(left, count)))
            new_states += as_list(state)
        return x, new_states

    def attend(
        self,
        query: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        keys: Tensor,
        position: Tensor,
        one_query_per_source: bool = False,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        """The context and the weights of states `(R, d)`, R / B of them a sentence.

        `one_query_per_source` says that R = B; the query then may be `(B, T, d)` too.
        """
        alone = query.shape[0] is not None and query.shape[0] == memory.shape[0]
        alone = alone or one_query_per_source
        if not alone:
            batch = ops.shape(memory)[0]
            query = ops.reshape(query, (batch, -1, query.shape[-1]))
            position = ops.reshape(position, (batch, -1))
        context, weights = self.attention(
            query, memory, mask=mask, keys=keys, position=position, **options
        )
        if alone:
            return context, weights
        return flatten_leading(context), flatten_leading(weights)


class Decoder(MemoryLayer):
    """Base class of the decoders, which run a `DecoderCell` over whole targets."""

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
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
        noise: Tensor | None = None,
    ) -> tuple:
        cell, mask = self.cell, read_mask(memory_mask, memory)
        memory, keys = with_keys(cell.attention, memory, mask, keys)

        def step(view, x, states):
            found = type(cell).call(view, x, states, memory, mask, keys)
            *outputs, alignment, states = found
            return join(*outputs), states, alignment

        states = cell.get_initial_state(ops.shape(inputs)[0], initial_states)
        outputs, states, alignments = run_decoder(
            cell, step, inputs, states, training, True, noise
        )
        if not cell.input_feeding:  # one step has taken all
            states[-1] = states[-1] + ops.shape(inputs)[1] - 1
        ends = itertools.accumulate(cell.output_sizes(memory.shape[-1]), initial=0)
        parts = [columns(outputs, *pair) for pair in itertools.pairwise(ends)]
        return *parts, states, alignments

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        cell, (batch, time, _) = self.cell, inputs_shape
        sizes = cell.output_sizes(memory_shape[-1])
        states = [size for each in cell.cells for size in as_list(each.state_size)]
        if cell.input_feeding and isinstance(cell, AttentionCell):
            states += sizes
        states = [*((batch, int(size)) for size in states), (batch,)]
        outputs = [(batch, time, size) for size in sizes]
        return *outputs, states, (batch, time, memory_shape[1])


def recurrent_cells(name: str, cells: Any) -> list[Any]:
    """The check of an argument that is a recurrent cell or a list of them."""
    cells = as_list(cells)
    if not cells or any(
        not hasattr(cell, "state_size")
        # Its mask would be kept in the cell from one batch to the next.
        or getattr(cell, "dropout", 0)
        or getattr(cell, "recurrent_dropout", 0)
        for cell in cells
    ):
        raise ValueError(
            f"`{name}` must be a recurrent cell or a list of them, with no dropout "
            f"of their own: give `dropout`. Received: {cells!r}"
        )
    return cells


@keras.saving.register_keras_serializable(package="zoo")
class AttentionCell(DecoderCell):
    """One step of a recurrent decoder with attention (Luong et al. 2015, section 3).

    The order is h_t → a_t → c_t → h~_t: the cells make h_t; attention, queried with
    h_t, gives the weights a_t and the context c_t; the attentional vector is
    h~_t = tanh([c_t; h_t] W_c) (equation 5). With input feeding (section 3.3) the first
    cell's input is [x_t; h~_{t-1}]. The other vectors are those of
    `tfa.seq2seq.AttentionWrapper` (docs/from_tfa.md).

    Args:
        cells: a Keras recurrent cell or a list of them, first to last. zoo's own run
            faster inside `AttentionDecoder`.
        attention: a `zoo.layers` attention layer.
        units: size of h~_t. Default: the size of h_t; with `vector="context"` the
            memory's size, None until the cell is built.
        input_feeding: whether h~_{t-1} is fed to the first cell.
        dropout: share of each cell's inputs dropped in training, drawn anew at each
            step (Zaremba et al. 2014).
        kernel_initializer: of W_c.
        seed: seed of the dropout masks.
        vector: h~_t: "tanh", the default and equation 5; "linear", [c_t; h_t] W_c;
            "context", c_t itself, without W_c.

    Call arguments:
        inputs: `(B, n)`.
        states: flat list, from `get_initial_state` or the last call: the cells'
            states, then h~ `(B, units)` with input feeding, then the target position,
            int32 `(B,)`.
        memory, mask, keys: as in the attention layers. Memory may have fewer rows
            than the inputs, B = K × rows: then K consecutive rows (the hypotheses of
            a beam) attend to one sentence, whose memory is not copied.

    Returns:
        `(output, alignment, new_states)`: h~_t `(B, units)`, a_t `(B, S)`, a list.

    Variables: `W_c` (d_m + d, units), those of the cells and of the attention.

    Raises:
        ValueError: for what is no recurrent cell, or a cell that has a dropout of its
            own (use `dropout=` here); for another vector; when built, if a context is
            not of size `units` with `vector="context"`.

    Example:
        >>> import numpy as np
        >>> from zoo.layers import AdditiveAttention
        >>> cell = AttentionCell(keras.layers.GRUCell(8), AdditiveAttention(16))
        >>> memory = np.ones((2, 5, 12), "float32")
        >>> cell.build((2, 4), memory.shape)
        >>> states = cell.get_initial_state(batch_size=2)
        >>> output, alignment, states = cell(np.ones((2, 4)), states, memory)
        >>> output.shape, alignment.shape
        ((2, 8), (2, 5))
    """

    cells: Annotated[Any, recurrent_cells]
    attention: Any
    units: Size | None = None
    input_feeding: bool = True
    dropout: float = 0.0
    kernel_initializer: Initializer = "glorot_uniform"
    seed: Any = None
    vector: Literal["tanh", "linear", "context"] = "tanh"

    def setup(self) -> None:
        if self.units is None and self.vector != "context":
            self.units = self.cells[-1].output_size
        self.make_dropout()
        self.output_size = self.units

    def build(self, inputs_shape: Shape, memory_shape: Shape) -> None:
        if self.units is None:
            self.units = self.output_size = memory_shape[-1]
        self.fed_size = self.units
        size = inputs_shape[-1] + (self.units if self.input_feeding else 0)
        for cell in self.cells:
            if not cell.built:
                cell.build((None, size))
            size = cell.output_size
        if not self.attention.built:
            self.attention.build((None, size), memory_shape)
        self.W_c: Any = None
        if self.vector != "context":
            shape = (memory_shape[-1] + size, self.units)
            self.make_weight("W_c", shape, self.kernel_initializer)
        elif self.units != memory_shape[-1]:
            raise ValueError(
                '`units` must be the memory\'s size with vector="context". Received: '
                f"units={self.units}, a memory of size {memory_shape[-1]}"
            )
        self.built = True

    def get_initial_state(
        self, batch_size: int, cell_states: list[Tensor] | None = None
    ) -> list[Tensor]:
        """As any `DecoderCell`'s, with h~_0 = 0 before the position."""
        *states, position = super().get_initial_state(batch_size, cell_states)
        if self.input_feeding:
            states.append(ops.zeros((batch_size, self.units), dtype=self.compute_dtype))
        return [*states, position]

    def call(
        self,
        inputs: Tensor,
        states: list[Tensor],
        memory: Tensor,
        memory_mask: Tensor | None = None,
        keys: Tensor | None = None,
        training: bool = False,
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        memory, keys = with_keys(self.attention, memory, memory_mask, keys)
        count, position = sum(self.counts), states[-1]
        fed = states[count:-1]  # h~_{t-1}: [x_t; h~_{t-1}], section 3.3
        h, cells = self.recur([inputs, *fed], states[:count], training)  # h_t
        # c_t and a_t, equations 7 to 10
        c, alignment = self.attend(h, memory, memory_mask, keys, position)
        output = self.combine(c, h)  # h~_t, equation 5
        fed = [output] if self.input_feeding else []
        return output, alignment, [*cells, *fed, position + 1]

    def output_sizes(self, memory_size: int) -> tuple[int, ...]:
        """The size of the output."""
        return (self.units or memory_size,)

    def combine(
        self, context: Tensor, hidden: Tensor, product: Callable | None = None
    ) -> Tensor:
        """Equation 5: h~_t = tanh([c_t; h_t] W_c); a loop gives its own `product`."""
        if self.vector == "context":
            return context
        if product is None:
            W_c = cast_weights(self.W_c, self.compute_dtype)
            net = linear(join(context, hidden), W_c)
        else:
            net = product(join(context, hidden))
        return ops.tanh(net) if self.vector == "tanh" else net


@keras.saving.register_keras_serializable(package="zoo")
class AttentionDecoder(Decoder):
    """Runs an `AttentionCell` over whole target sequences (teacher forcing).

    Each step is the cell's; what doesn't depend on the step is computed before the loop
    (`zoo.layers.fast_loops`). Without input feeding the cells run layer by layer,
    followed by one batched attention.

    Args:
        cell: an `AttentionCell`.

    Call arguments:
        inputs: `(B, T, n)`.
        memory: `(B, S, d_m)`.
        mask: bool `(B, S)`, true where a source position is real; memory's Keras
            mask by default.
        initial_states: flat list of the cells' states; zeros by default.
        keys: the attention's `project(memory)`, if it is at hand already.
        noise: `(B, T, S + 1)`, for `HardAttention`.

    Returns:
        `(outputs, states, alignments)`: `(B, T, units)`, the final flat list of
        states, and `(B, T, S)`.
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

    cell: Any
