import numpy as np
import pytest
from keras import ops

from tests.harness import (
    close,
    compiled,
    gradients,
    randomize,
    same_config,
    to_numpy,
)
from tests.layers import reference
from tests.marks import once
from zoo.layers import LSTMNCell

RNG = np.random.default_rng(7)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
FIRST = RNG.normal(size=(2, 3, 4)).astype("float32")
GAMMA, ALPHA = RNG.normal(size=(2, 3, 7, 4)).astype("float32")
MASK = np.arange(6)[None] < np.array([6, 2, 0])[:, None]
SOURCE_MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]


def built(fusion=None, **options):
    cell = LSTMNCell(4, fusion=fusion, **options)
    cell.build((None, 5))
    return randomize(cell)


def source_of(cell):
    return cell.project_source(GAMMA, ALPHA, SOURCE_MASK) if cell.fusion else None


@pytest.mark.parametrize("fusion", [None, once("shallow"), "deep"])
def test_it_is_the_papers(fusion):
    cell = built(fusion)
    first = [ops.convert_to_tensor(x) for x in FIRST]
    run = compiled(
        lambda *given: cell.run(*given, source_of(cell), return_weights=True)
    )
    h, c, weights, last = to_numpy(run(INPUTS, MASK, first))
    for b in range(3):
        steps, length = int(MASK[b].sum()), int(SOURCE_MASK[b].sum())
        hs, cs, ps = reference.lstmn_run(
            INPUTS[b, :steps].astype("float64"),
            reference.named(cell),
            FIRST[:, b],
            (GAMMA[b, :length], ALPHA[b, :length]),
            fusion,
        )
        for t in range(steps):
            close(h[b, t], hs[t])
            close(c[b, t], cs[t])
            if fusion:
                close(weights[b, t, :length], ps[t])
                assert not weights[b, t, length:].any()
        assert not h[b, steps:].any()
        wanted = (hs[-1], cs[-1]) if steps else FIRST[:, b]
        close(last[0][b], wanted[0])
        close(last[1][b], wanted[1])


@pytest.mark.parametrize("fusion", [None, "deep"])
def test_steps_are_the_run(fusion):
    cell = built(fusion)
    source = source_of(cell)
    run = compiled(lambda x: cell.run(x, source=source))
    h, c, *_ = to_numpy(run(INPUTS))
    step = compiled(lambda x, states: cell.advance(x, states, source))
    states = cell.make_states(3, 9)  # more room than is needed
    projected = cell.project(INPUTS)
    for t in range(6):
        got = step(projected[:, t], states)
        close(got[0], h[:, t])
        close(got[1], c[:, t])
        states = got[3]


def test_several_rows_share_a_sentence():
    cell = built("deep")
    rows = RNG.normal(size=(6, 5)).astype("float32")
    x = cell.project(rows)
    step = compiled(
        lambda *source: cell.advance(
            x, cell.make_states(6, 2), cell.project_source(*source)
        )
    )
    source = GAMMA, ALPHA, SOURCE_MASK
    twice = [np.repeat(y, 2, axis=0) for y in source]
    shared, alone = step(*source), step(*twice)
    close(shared[0], alone[0])
    close(shared[2], alone[2])


@pytest.mark.parametrize("fusion", [None, once("shallow"), "deep"])
def test_gradients_reach_every_variable(fusion):
    cell = built(fusion)

    def loss():
        h, c, *_ = cell.run(INPUTS, MASK, None, source_of(cell))
        return ops.sum(ops.square(h) + ops.square(c))

    _, found = gradients(cell.trainable_variables, loss)
    for variable, gradient in zip(cell.trainable_variables, found, strict=True):
        assert np.isfinite(gradient).all()
        assert np.abs(gradient).max() > 0, variable.path


def test_config():
    copy = same_config(LSTMNCell(4, "deep"))
    assert copy.fusion == "deep"
