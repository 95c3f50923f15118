import numpy as np
import pytest
from keras import ops

from tests.harness import build_randomized, close, compiled, to_numpy
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
    return build_randomized(LSTMNCell(4, fusion=fusion, **options), (None, 5))


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
