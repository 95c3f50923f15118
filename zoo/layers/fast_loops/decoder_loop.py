"""Steps of decoders with attention over whole targets, run as fast as can be.

A loop runs the very step that a cell or a model has, on a `LoopView` of it: the same
equations, but products whose factors are known are computed before the loop.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.fast_loops.cell_loop import make_loop_step, run_cell
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import cast_weights, columns


class LoopView:
    """A view of a layer or model with some attributes replaced."""

    def __init__(self, layer: Any, **parts: Any) -> None:
        self.__dict__.update(parts, layer=layer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.layer, name)


def run_attention_cell(
    cell: Any,
    step: Callable[..., tuple],
    inputs: Tensor,
    state: Any,
    training: bool = False,
    return_alignments: bool = True,
) -> tuple[Tensor, Any, Tensor | None]:
    """Runs a step of an `AttentionCell` over a sequence.

    Args:
        cell: a built `AttentionCell`.
        step: function `(view, x, state) -> (output, state, alignment)` of a view of the
            cell, x_t for its `recur`, and the state.
        inputs: `(B, T, n)`, in the compute dtype.
        state: nested tensors.
        training: whether gradients will be asked for, and inputs dropped.
        return_alignments: without them the loop carries less.

    Returns:
        `(outputs (B, T, m), state, alignments (B, T, S) or None)`.
    """
    if not cell.input_feeding:  # one step takes the whole sequence
        return step(_sequence_view(cell, training), inputs, state)
    # Time first while the tensor is still narrow.
    inputs = cell.drop(ops.swapaxes(inputs, 0, 1), training=training)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    view_at = _loop_view(cell, loop, inputs)
    return _run(loop, lambda s, x: step(view_at(s), None, x), state, return_alignments)


def _run(loop, step, state, return_alignments):
    """Runs `(slices, state) -> (output, state, alignment)`."""
    width = None

    def both(slices, state):
        nonlocal width
        output, state, alignment = step(slices, state)
        width = output.shape[-1]
        if return_alignments:
            output = ops.concatenate([output, alignment], axis=-1)
        return output, state

    outputs, state = loop.run(both, state)
    if not return_alignments:
        return outputs, state, None
    return columns(outputs, 0, width), state, outputs[..., width:]


def _sequence_view(cell, training):
    """Without input feeding: layer by layer, then all steps' attention at once."""

    def recur(parts, states, _=False):
        [x], new_states = parts, []
        for layer, state in zip(cell.cells, cell.split_states(states), strict=True):
            x = cell.drop(x, training=training)
            x, final = run_cell(layer, x, state, training=training)
            new_states += final
        return x, new_states

    def attend(query, memory, mask, keys, position):
        steps = ops.arange(ops.shape(query)[1], dtype="int32")
        position = position[:, None] + steps
        return cell.attend(query, memory, mask, keys, position, True)

    return LoopView(cell, recur=recur, attend=attend)


def _loop_view(cell, loop, inputs):
    """A function of a step's slices: the cell, its products taken out of the loop."""
    sizes = [cell.units, *(layer.output_size for layer in cell.cells[:-1])]
    known = [inputs, *[None] * (len(sizes) - 1)]
    steps = [
        make_loop_step(layer, loop, x, fed_back=size)
        for layer, x, size in zip(cell.cells, known, sizes, strict=True)
    ]
    product = None
    if cell.W_c is not None:
        product = loop.product(cast_weights(cell.W_c, cell.compute_dtype))
    masks = [None] * len(sizes)
    if loop.training and cell.dropout:
        ones = [ops.ones((*loop.lead, size), loop.dtype) for size in sizes]
        masks = [loop.add_input(cell.drop(x, training=True)) for x in ones]

    def recur(slices, parts, states, training=False):
        x, new_states = parts[1], []  # of the first, the product is known
        for state, advance, mask in zip(
            cell.split_states(states), steps, masks, strict=True
        ):
            x = x if mask is None else x * slices[mask]
            x, state = advance(slices, state, x)
            new_states += state
        return x, new_states

    def at(slices):
        return LoopView(
            cell,
            recur=partial(recur, slices),
            attend=partial(cell.attend, one_query_per_source=True),
            combine=partial(cell.combine, product=product and partial(product, slices)),
        )

    return at


def run_context_cell(
    cell: Any,
    step: Callable[..., tuple],
    inputs: Tensor,
    state: Any,
    training: bool = False,
    return_alignments: bool = True,
    noise: Tensor | None = None,
) -> tuple[Tensor, Any, Tensor | None]:
    """Runs a step of a `ContextCell` over a sequence, as `run_attention_cell`.

    `noise` `(B, T, S + 1)` is for `HardAttention`.
    """
    inputs = ops.swapaxes(inputs, 0, 1)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    size = cell.cell.kernel.shape[0] - inputs.shape[-1]  # of a context
    advance = make_loop_step(cell.cell, loop, inputs, fed_back=size)
    if noise is not None:
        place = loop.add_input(ops.cast(ops.swapaxes(noise, 0, 1), loop.dtype))

    def at(slices):
        options = {} if noise is None else {"noise": slices[place]}
        return LoopView(
            cell,
            recur=lambda parts, states: advance(slices, states, parts[1]),
            attend=partial(cell.attend, one_query_per_source=True, **options),
        )

    return _run(loop, lambda s, x: step(at(s), None, x), state, return_alignments)
