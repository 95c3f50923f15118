"""Recurrent cells over sequences, their input products taken out of the loop."""

from collections.abc import Callable
from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.cells import LSTMCell, ZooCell, as_list
from zoo.layers.fast_loops.cudnn import has_cudnn, run_lstm
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import join


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
