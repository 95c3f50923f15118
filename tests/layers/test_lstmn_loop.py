"""The written gradient against the automatic one of the steps, one after another."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, gradients, randomize
from zoo.layers import LSTMNCell
from zoo.layers.functional import scan
from zoo.layers.lstmn_loop import Rows

RNG = np.random.default_rng(11)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
FIRST = RNG.normal(size=(2, 3, 4)).astype("float32")
SOURCE = RNG.normal(size=(2, 3, 7, 4)).astype("float32")
# Pads in the middle and before, and a row of nothing else.
MASK = np.array([[1] * 6, [0, 1, 1, 0, 1, 0], [0] * 6], "bool")
SOURCE_MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]
# What h, c, the last of each and the weights on the source are multiplied with.
SHAPES = ((3, 6, 4), (3, 6, 4), (3, 4), (3, 4), (3, 6, 7))
FACTORS = [RNG.normal(size=shape).astype("float32") for shape in SHAPES]


STARTS = np.array([[0, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0]], "bool")


def stepwise(cell, inputs, mask, first, source, starts=None):
    """What `run` returns, by `advance`."""
    states, x = cell.make_states(3, inputs.shape[1], first), cell.project(inputs)
    keep = np.ones((3, inputs.shape[1])) if mask is None else mask
    begins = np.zeros(keep.shape, "bool") if starts is None else starts
    added = np.stack([keep, begins], axis=-1).astype("float32")
    x = ops.concatenate([x, ops.convert_to_tensor(added)], axis=-1)

    def step(row, states):
        keep, begins = row[:, -2:-1] > 0, row[:, -1:] > 0
        begins = None if starts is None else begins
        *found, states = cell.advance(row[:, :-2], states, source, keep, begins)
        found = [ops.where(keep, part, 0.0) for part in found if part is not None]
        return ops.concatenate(found, axis=-1), states

    outputs, states = scan(step, x, states)
    weights = outputs[..., 8:] if source else None
    return outputs[..., :4], outputs[..., 4:8], weights, states[2:4]


def by_run(cell, *arguments):
    return cell.run(*arguments)


CASES = [
    *((fusion, mask, None) for fusion in (None, "shallow", "deep") for mask in (0, 1)),
    *((None, mask, STARTS) for mask in (0, 1)),
]


@pytest.mark.parametrize(("fusion", "mask", "starts"), CASES)
def test_its_gradients_are_the_steps(fusion, mask, starts):
    mask = MASK if mask else None
    cell = LSTMNCell(4, 3, fusion)
    cell.build((None, 5))
    randomize(cell)
    given = [keras.Variable(x) for x in (INPUTS, *FIRST, *SOURCE)]
    # Shallow fusion doesn't read α, the last of them.
    used = {None: 3, "shallow": 4, "deep": 5}[fusion]

    def loss(run):
        inputs, h, c, gamma, alpha = (ops.convert_to_tensor(x) for x in given)
        source = cell.project_source(gamma, alpha, SOURCE_MASK) if fusion else None
        h, c, weights, last = run(cell, inputs, mask, [h, c], source, starts)
        outputs = [h, c, *last] + ([] if weights is None else [weights])
        factors = FACTORS[: len(outputs)]
        return sum(
            ops.sum(x * ops.convert_to_tensor(y))
            for x, y in zip(outputs, factors, strict=True)
        )

    variables = [*cell.trainable_variables, *given[:used]]
    value, wanted = gradients(variables, lambda: loss(stepwise))
    again, found = gradients(variables, lambda: loss(by_run))
    close(again, value)
    for variable, one, two in zip(variables, found, wanted, strict=True):
        assert np.abs(two).max() > 0, variable.path
        close(one, two)


@pytest.mark.parametrize("fusion", [None, "deep"])
def test_one_step(fusion):
    cell = LSTMNCell(4, fusion=fusion)
    cell.build((None, 5))
    source = cell.project_source(*SOURCE, SOURCE_MASK) if fusion else None
    wanted = stepwise(randomize(cell), INPUTS[:, :1], None, None, source)
    found = cell.run(INPUTS[:, :1], source=source)
    close(found[0], wanted[0])
    close(found[3][1], wanted[3][1])


def test_rows():
    rows = Rows(a=2, b=None, c=1)
    parts = {"a": np.ones((3, 2)), "b": np.zeros((3, 4)), "c": np.ones((3, 1))}
    joined = rows.join({name: ops.convert_to_tensor(x) for name, x in parts.items()})
    found = rows.split(joined, b=4)
    assert [tuple(found[name].shape) for name in "abc"] == [(3, 2), (3, 4), (3, 1)]
    close(found["c"], parts["c"])
