"""Decoders with attention over whole targets, their products taken out of the loop."""

from functools import partial
from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.attention import attend_rows
from zoo.layers.fast_loops.cell_loop import hoist, run_cell
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import cast_weights, columns


def run_attention_cell(
    cell: Any,
    inputs: Tensor,
    states: list[Tensor],
    memory: Tensor,
    mask: Tensor,
    keys: Tensor,
    training: bool = False,
    return_alignments: bool = True,
) -> tuple[Tensor, list[Tensor], Tensor | None]:
    """`AttentionCell` over a sequence.

    Args:
        cell: a built `AttentionCell`.
        inputs: `(B, T, n)`, in the compute dtype.
        states: from `get_initial_state`.
        memory, mask, keys: as in the attention layers.
        training: whether gradients will be asked for, and inputs dropped.
        return_alignments: whether the alignments are wanted; without them the loop
            carries less.

    Returns:
        `(outputs (B, T, units), states, alignments (B, T, S) or None)`.
    """
    if not cell.input_feeding:
        return _run_unfed(cell, inputs, states, memory, mask, keys, training)
    # Time first while the tensor is still narrow.
    inputs = cell.drop(ops.swapaxes(inputs, 0, 1), training=training)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    sizes = [cell.units, *(layer.output_size for layer in cell.cells)]
    steps = [hoist(cell.cells[0], loop, inputs, fed=sizes[0])]
    for layer, size in zip(cell.cells[1:], sizes[1:], strict=False):
        steps.append(hoist(layer, loop, fed=size))
    product = None
    if cell.W_c is not None:
        product = loop.product(cast_weights(cell.W_c, cell.compute_dtype))
    masks = _dropout_masks(cell, loop, sizes[:-1], training)

    def step(slices, states):
        *cell_states, x, position = states
        new_states = []
        for state, advance, drop in zip(
            cell.split_states(cell_states), steps, masks, strict=True
        ):
            x = x if drop is None else x * slices[drop]
            x, state = advance(slices, state, x)
            new_states += state
        context, alignment = attend_rows(
            cell.attention, x, memory, mask, keys, position, paired=True
        )
        output = cell.combine(context, x, product and partial(product, slices))
        states = [*new_states, output, position + 1]
        if return_alignments:
            output = ops.concatenate([output, alignment], axis=-1)
        return output, states

    outputs, states = loop.run(step, states)
    alignments = outputs[..., cell.units :] if return_alignments else None
    return outputs[..., : cell.units], states, alignments


def _run_unfed(cell, inputs, states, memory, mask, keys, training):
    """Without input feeding: layer by layer, then all steps' attention at once."""
    *cell_states, position = states
    new_states = []
    for layer, state in zip(cell.cells, cell.split_states(cell_states), strict=True):
        inputs = cell.drop(inputs, training=training)
        inputs, final = run_cell(layer, inputs, state, training=training)
        new_states += final
    time = ops.shape(inputs)[1]
    context, alignments = cell.attention(
        inputs,
        memory,
        mask=mask,
        keys=keys,
        position=ops.arange(time, dtype="int32"),
    )
    return cell.combine(context, inputs), [*new_states, position + time], alignments


def _dropout_masks(cell, loop, sizes, training):
    """Places of the dropout masks for what each cell is fed inside the loop."""
    if not training or not cell.dropout:
        return [None] * len(sizes)
    return [
        loop.read(cell.drop(ops.ones((*loop.lead, size), loop.dtype), training=True))
        for size in sizes
    ]


def run_context_cell(
    cell: Any,
    inputs: Tensor,
    states: list[Tensor],
    memory: Tensor,
    mask: Tensor,
    keys: Tensor,
    training: bool = False,
    return_alignments: bool = True,
    noise: Tensor | None = None,
) -> tuple[Tensor, Tensor, list[Tensor], Tensor | None]:
    """`ContextCell` over a sequence.

    Args:
        cell: a built `ContextCell`.
        noise: `(B, T, S + 1)`, for `HardAttention`, or None.
        The others: as in `run_attention_cell`.

    Returns:
        `(outputs (B, T, units), contexts (B, T, d_m), states, alignments (B, T, S))`.
    """
    inputs = ops.swapaxes(inputs, 0, 1)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    size = memory.shape[-1]
    advance = hoist(cell.cell, loop, inputs, fed=size)
    if noise is not None:
        place = loop.read(ops.cast(ops.swapaxes(noise, 0, 1), loop.dtype))

    def step(slices, states):
        *state, position = states
        extra = {} if noise is None else {"noise": slices[place]}
        context, alignment = cell.attend(
            state[0], memory, mask, keys, position, paired=True, **extra
        )
        output, state = advance(slices, state, context)
        parts = [output, context] + ([alignment] if return_alignments else [])
        return ops.concatenate(parts, axis=-1), [*state, position + 1]

    outputs, states = loop.run(step, states)
    first, second = cell.output_size, cell.output_size + size
    contexts = columns(outputs, first, second)
    alignments = outputs[..., second:] if return_alignments else None
    return columns(outputs, 0, first), contexts, states, alignments


def run_fixed_context_cell(
    cell: Any,
    inputs: Tensor,
    state: Tensor,
    added: Tensor,
    reset: Tensor | None = None,
    training: bool = False,
) -> Tensor:
    """A `GRUCell` over a sequence with one context per sentence.

    Args:
        cell: a built `GRUCell`.
        inputs: `(B, T, n)`, in the compute dtype.
        state: `(B, units)`.
        added: the context's share of the net inputs, `(B, 3 * units)`.
        reset: as in `GRUCell.step`.
        training: whether gradients will be asked for.

    Returns:
        Tensor `(B, T, units)`.
    """
    inputs = ops.swapaxes(inputs, 0, 1)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    advance = hoist(cell, loop, inputs, added=added, reset=reset)
    return loop.run(advance, [state])[0]
