"""Cells over sequences, and decoders' steps over whole targets, as fast as can be.

A loop runs the very step that a cell or a model has, on a `LoopView` of it: the same
equations, but products whose factors are known are computed before the loop.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.cells import LSTMCell, ZooCell, as_list
from zoo.layers.fast_loops.cudnn import has_cudnn, run_lstm
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import cast_weights, columns, join


class LoopView:
    """A view of a layer or model with some attributes replaced."""

    def __init__(self, layer: Any, **parts: Any) -> None:
        self.__dict__.update(parts, layer=layer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.layer, name)


def run_decoder(
    cell: Any,
    step: Callable[..., tuple],
    inputs: Tensor,
    state: Any,
    training: bool = False,
    return_alignments: bool = False,
    noise: Tensor | None = None,
) -> tuple[Tensor, Any, Any]:
    """Runs `step`, `(view of the cell, x_t, state) -> (output, state, alignment)`.

    Returns `(outputs (B, T, m), state, alignments (B, T, S) or None)` for inputs
    `(B, T, n)`; without input feeding, one step takes the whole sequence.
    """
    inputs = ops.cast(inputs, cell.compute_dtype)
    if not cell.input_feeding:
        return step(_sequence_view(cell, training, noise), inputs, state)
    # Time first while the tensor is still narrow.
    inputs = ops.swapaxes(inputs, 0, 1)
    if training and cell.dropout:
        inputs = cell.drop(inputs, training=True)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    view_at = _loop_view(cell, loop, inputs, noise)
    width = 0

    def both(slices, state):
        nonlocal width
        output, state, alignment = step(view_at(slices), None, state)
        width = output.shape[-1]
        if return_alignments:
            output = ops.concatenate([output, alignment], axis=-1)
        return output, state

    outputs, state = loop.run(both, state)
    if not return_alignments:
        return outputs, state, None
    return columns(outputs, 0, width), state, outputs[..., width:]


def _sequence_view(cell, training, noise):
    """The cell over all steps: layer by layer, then all steps' attention at once."""
    options = {} if noise is None else {"noise": noise}

    def recur(parts, states, _=False):
        steps = [partial(run_cell, each, training=training) for each in cell.cells]
        return cell.recur(parts, states, training, steps)

    def attend(query, memory, mask, keys, position):
        position = position[:, None] + ops.arange(ops.shape(query)[1], dtype="int32")
        return cell.attend(query, memory, mask, keys, position, True, **options)

    return LoopView(cell, recur=recur, attend=attend)


def _loop_view(cell, loop, inputs, noise):
    """A function of a step's slices: the cell, its products taken out of the loop."""
    sizes = [cell.fed_size, *(layer.output_size for layer in cell.cells[:-1])]
    known = [inputs, *[None] * (len(sizes) - 1)]
    advances = [
        make_loop_step(layer, loop, x, fed_back=size)
        for layer, x, size in zip(cell.cells, known, sizes, strict=True)
    ]
    masks = [None] * len(sizes)
    if loop.training and cell.dropout:
        ones = [ops.ones((*loop.lead, size), loop.dtype) for size in sizes]
        masks = [loop.add_input(cell.drop(x, training=True)) for x in ones]
    product = None
    if getattr(cell, "W_c", None) is not None:
        product = loop.product(cast_weights(cell.W_c, cell.compute_dtype))
    if noise is not None:  # the last, since its width may be unknown
        place = loop.add_input(ops.cast(ops.swapaxes(noise, 0, 1), loop.dtype))

    def recur(slices, parts, states, training=False):
        def step(advance, mask, x, state):
            return advance(slices, state, x if mask is None else x * slices[mask])

        each = [partial(step, *pair) for pair in zip(advances, masks, strict=True)]
        return cell.recur(parts[1:], states, steps=each)  # of the first, see `known`

    def at(slices):
        more = {} if noise is None else {"noise": slices[place]}
        parts = {
            "recur": partial(recur, slices),
            "attend": partial(cell.attend, one_query_per_source=True, **more),
        }
        if product is not None:
            made = partial(product, slices)
            parts["combine"] = partial(cell.combine, product=made)
        return LoopView(cell, **parts)

    return at


# === Cells ===


def run_cell(
    cell: Any,
    inputs: Tensor,
    initial_states: list[Tensor] | None = None,
    mask: Tensor | None = None,
    reverse: bool = False,
    training: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """Runs a cell over `(B, T, n)`; masked steps keep the state and put out zeros."""
    if initial_states is None:
        batch = ops.shape(inputs)[0]
        initial_states = as_list(cell.get_initial_state(batch_size=batch))
    if isinstance(cell, LSTMCell) and has_cudnn(cell, inputs):
        return run_lstm(cell, inputs, initial_states, mask, reverse)
    # Time first while the tensor is still narrow.
    inputs = ops.swapaxes(inputs, 0, 1)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    advance = make_loop_step(cell, loop, inputs)
    if mask is None:
        return loop.run(advance, initial_states, reverse)
    real = loop.add_input(ops.swapaxes(ops.cast(mask, loop.dtype), 0, 1)[..., None])

    def masked(slices, states):
        keep = slices[real] > 0
        output, new_states = advance(slices, states)
        new_states = [
            ops.where(keep, new, old)
            for new, old in zip(new_states, states, strict=True)
        ]
        return ops.where(keep, output, ops.zeros_like(output)), new_states

    return loop.run(masked, initial_states, reverse)


def make_loop_step(
    cell: Any,
    loop: TimeLoop,
    inputs: Tensor | None = None,
    fed_back: int = 0,
    added: Tensor | None = None,
    **options: Any,
) -> Callable:
    """A cell's step `(slices, states, fed=None)`, its known products before the loop.

    Known are `inputs` `(T, B, n)` and `added`, the product of a part of the input that
    is the same at each step; `fed`, of size `fed_back`, is known in the step only.
    """
    if isinstance(cell, ZooCell):
        net = cell.input_bias() if inputs is None else cell.project(inputs)
        net = net if added is None else net + added
        return cell.make_step(loop, net, fed_back, **options)
    place = None if inputs is None else loop.add_input(inputs)

    def step(slices, states, fed=None):
        x = fed if place is None else join(slices[place], fed)
        output, new_states = cell(x, list(states))
        return output, as_list(new_states)

    return step
