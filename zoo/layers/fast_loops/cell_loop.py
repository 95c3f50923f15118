"""Recurrent cells over sequences, their input products taken out of the loop."""

from collections.abc import Callable
from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, ZooCell, as_list
from zoo.layers.fast_loops.cudnn import has_cudnn, run_lstm
from zoo.layers.fast_loops.gates import is_standard, lstm_states
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import cast_weights


def run_cell(
    cell: Any,
    inputs: Tensor,
    initial_states: list[Tensor] | None = None,
    mask: Tensor | None = None,
    reverse: bool = False,
    training: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """Runs any cell over a sequence; masked steps keep the state and put out zeros.

    Args:
        cell: a built Keras cell.
        inputs: `(B, T, n)`.
        initial_states: list of `(B, units)`, zeros by default.
        mask: bool `(B, T)`, true where real, or None.
        reverse: whether to run from the last step to the first.
        training: whether gradients will be asked for, which are then prepared.

    Returns:
        `(outputs, final_states)`: `(B, T, m)`, at the time step that made them, and a
        list of tensors.
    """
    if initial_states is None:
        batch = ops.shape(inputs)[0]
        initial_states = as_list(cell.get_initial_state(batch_size=batch))
    if isinstance(cell, LSTMCell) and has_cudnn(cell, inputs):
        return run_lstm(cell, inputs, initial_states, mask, reverse)
    # Time first while the tensor is still narrow.
    inputs = ops.swapaxes(inputs, 0, 1)
    loop = TimeLoop(ops.shape(inputs)[:2], cell.compute_dtype, training)
    advance = hoist(cell, loop, inputs)
    if mask is None:
        return loop.run(advance, initial_states, reverse)
    real = loop.read(ops.swapaxes(ops.cast(mask, loop.dtype), 0, 1)[..., None])

    def masked(slices, states):
        keep = slices[real] > 0
        output, new_states = advance(slices, states)
        new_states = [
            ops.where(keep, new, old)
            for new, old in zip(new_states, states, strict=True)
        ]
        return ops.where(keep, output, ops.zeros_like(output)), new_states

    return loop.run(masked, initial_states, reverse)


def hoist(
    cell: Any,
    loop: Any,
    inputs: Tensor | None = None,
    fed: int = 0,
    added: Tensor | None = None,
    reset: Tensor | None = None,
) -> Callable:
    """A cell's step inside a loop, before which the input's products are computed.

    Args:
        cell: a built Keras cell; only zoo's have products that can be hoisted.
        loop: the `TimeLoop`.
        inputs: `(T, B, n)`, the part of the input that is known before the loop; None
            if there is none.
        fed: size of the part that is known in the loop only, behind the known one.
        added: tensor that broadcasts to the projected inputs `(T, B, gates * units)`:
            the product of a part of the input that is the same at each step.
        reset: as in `GRUCell.step`.

    Returns:
        A function `(slices, states, fed=None) -> (output, new_states)`.
    """
    if not isinstance(cell, ZooCell):
        return _whole_step(cell, loop, inputs)
    net = cell.input_bias()
    if inputs is not None:
        net = cell.project(inputs)
        net = net if added is None else net + added
    dtype, U = cell.compute_dtype, cell.recurrent_kernel
    kernel = cast_weights(U, dtype)
    if fed:
        W = cast_weights(cell.kernel, dtype)
        kernel = ops.concatenate([W[W.shape[0] - fed :], kernel], axis=0)
    if isinstance(cell, GRUCell):
        return _gru_step(cell, loop, net, kernel, reset)
    product, standard = loop.product(kernel, net), is_standard(cell)

    def step(slices, states, fed=None):
        h = states[0]
        net = product(slices, _join(fed, h))
        if isinstance(cell, SimpleRNNCell):
            h = cell.activation(net)
            return h, [h]
        if loop.training and standard:
            h, c = ops.split(lstm_states(net, states[1]), 2, axis=-1)
            return h, [h, c]
        return cell.open_gates(net, states[1])

    return step


def _whole_step(cell, loop, inputs):
    """The step of a cell that isn't zoo's."""
    place = None if inputs is None else loop.read(inputs)

    def step(slices, states, fed=None):
        x = fed if place is None else slices[place]
        if place is not None and fed is not None:
            x = ops.concatenate([x, fed], axis=-1)
        output, new_states = cell(x, list(states))
        return output, as_list(new_states)

    return step


def _gru_step(cell, loop, net, kernel, reset):
    """`GRUCell.step`, with the fed part's rows of the kernel above the recurrent."""
    n, bias = 2 * cell.units, cell.recurrent_bias()
    gates, candidate = (None, None) if net is None else (net[..., :n], net[..., n:])
    if bias is not None:
        gates = gates + bias[:n]
    gates = loop.product(kernel[:, :n], gates)
    if not cell.reset_after:
        candidate = loop.product(kernel[:, n:], candidate)
    else:
        rows = kernel.shape[0] - cell.units
        term = None if bias is None else bias[n:]
        if reset is not None:
            term = reset if term is None else term + reset
        inner = loop.product(kernel[rows:, n:], term)
        candidate = _candidate_input(loop, candidate, kernel[:rows, n:])

    def step(slices, states, fed=None):
        [h] = states
        z, r = ops.split(
            cell.recurrent_activation(gates(slices, _join(fed, h))), 2, axis=-1
        )
        if cell.reset_after:
            net = candidate(slices, fed) + r * inner(slices, h)
        else:
            net = candidate(slices, _join(fed, r * h))
        h = cell.update_state(h, z, cell.activation(net))
        return h, [h]

    return step


def _candidate_input(loop, net, kernel):
    """The input's share of the candidate, outside the reset gate's bracket.

    Returns a function of the slices and the fed part.
    """
    if kernel.shape[0]:
        return loop.product(kernel, net)
    place = loop.read(net)
    return lambda slices, fed: slices[place]


def _join(fed, h):
    return h if fed is None else ops.concatenate([fed, h], axis=-1)
