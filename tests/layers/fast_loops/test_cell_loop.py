"""Each cell's loop beside its plain step, scanned over time."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, compiled, gradients, randomize
from tests.marks import once
from zoo.layers import GRUCell, LSTMCell, SimpleRNNCell, logistic_1, logistic_2
from zoo.layers.cells import as_list
from zoo.layers.fast_loops.cell_loop import make_loop_step, run_cell
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import scan

RNG = np.random.default_rng(11)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
MASK = np.arange(6)[None] < np.array([6, 2, 0])[:, None]


class Minimal(keras.layers.Layer):
    """A cell as Keras's documentation has one: its state is the first of a list."""

    state_size = output_size = 4

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 4), name="kernel")
        self.recurrent = self.add_weight(shape=(4, 4), name="recurrent")
        self.built = True

    def get_initial_state(self, batch_size=None):
        return [ops.zeros((batch_size, 4))]

    def call(self, inputs, states):
        h = ops.matmul(inputs, self.kernel) + ops.matmul(states[0], self.recurrent)
        h = ops.tanh(h)
        return h, [h]


OLD = {"activation": logistic_2, "output_activation": logistic_1}
CELLS = {
    "lstm": lambda: LSTMCell(4),
    "lstm without bias": lambda: LSTMCell(4, use_bias=False),
    "lstm of 1997": lambda: LSTMCell(4, forget_gate=False, **OLD),
    "gru": lambda: GRUCell(4),
    "gru, replacing, without bias": lambda: GRUCell(
        4, update="replace", use_bias=False
    ),
    "gru, reset after": lambda: GRUCell(4, reset_after=True),
    "gru, reset after, without bias": lambda: GRUCell(
        4, reset_after=True, use_bias=False
    ),
    "rnn": lambda: SimpleRNNCell(4),
    "Keras's gru": lambda: keras.layers.GRUCell(4),
    "somebody's": lambda: Minimal(),
}
# The loops that compiled backends prepare in another way each.
DEFAULT = ("lstm", "gru", "gru, reset after", "rnn")
KINDS = [name if name in DEFAULT else once(name) for name in CELLS]


def built(name):
    cell = CELLS[name]()
    cell.build((None, 5))
    return randomize(cell)


def plain_run(cell, inputs, states, mask, reverse):
    """The cell's `call` at each step; a masked one keeps the state and gives zeros."""

    def step(x, states):
        keep = x[:, -1:] > 0
        output, new = cell(x[:, :-1], states)
        new = [ops.where(keep, a, b) for a, b in zip(as_list(new), states, strict=True)]
        return ops.where(keep, output, 0.0), new

    real = np.ones(inputs.shape[:2]) if mask is None else mask
    inputs = np.concatenate([inputs, real[..., None].astype("float32")], axis=-1)
    return scan(step, ops.convert_to_tensor(inputs), states, reverse)


def same_gradients(variables, fast, plain):
    value, found = gradients(variables, fast)
    expected, wanted = gradients(variables, plain)
    assert value == pytest.approx(expected, rel=1e-5)
    for got, right in zip(found, wanted, strict=True):
        close(got, right, atol=1e-5 * max(1.0, np.abs(right).max()))
        assert np.abs(right).max() > 0


def total(outputs, states):
    return sum(ops.sum(x**2) + ops.sum(x[..., 0]) for x in [outputs, *states])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "reverse, masked", [(False, True), once(True, True), once(0, 0)]
)
def test_a_cell_over_a_sequence(name, reverse, masked):
    cell, mask = built(name), MASK if masked else None
    count = len(as_list(cell.get_initial_state(batch_size=3)))
    states = [0.1 * keras.random.normal((3, 4), seed=n) for n in range(count)]
    variables = cell.trainable_variables

    def plain():
        return total(*plain_run(cell, INPUTS, states, mask, reverse))

    for training in (True, False):

        def fast(training=training):
            inputs = ops.convert_to_tensor(INPUTS)
            return total(*run_cell(cell, inputs, states, mask, reverse, training))

        same_gradients(variables, fast, plain)
    found, wanted = (
        compiled(lambda run=run: run(cell, INPUTS, states, mask, reverse))()
        for run in (run_cell, plain_run)
    )
    for got, right in zip(*map(keras.tree.flatten, (found, wanted)), strict=True):
        close(got, right)


@pytest.mark.parametrize(
    "name, known",
    [(name, 3) for name in DEFAULT]
    + [("lstm", 0)]
    + [once(name, n) for name in CELLS for n in (0, 3) if (name, n) != ("lstm", 0)],
)
def test_an_input_that_is_known_in_the_loop_only(name, known):
    """As decoders feed a context: the last parts of the input, or all of it."""
    cell = built(name)
    first = as_list(cell.get_initial_state(batch_size=3))
    x = ops.convert_to_tensor(np.swapaxes(INPUTS, 0, 1))

    def fast():
        loop = TimeLoop((6, 3), "float32", training=True)
        fed = loop.add_input(x[..., known:])
        inputs = x[..., :known] if known else None
        step = make_loop_step(cell, loop, inputs, fed_back=5 - known)
        outputs, states = loop.run(
            lambda slices, states: step(slices, states, slices[fed]), first
        )
        return total(outputs, states)

    def plain():
        return total(*plain_run(cell, INPUTS, first, None, False))

    same_gradients(cell.trainable_variables, fast, plain)
