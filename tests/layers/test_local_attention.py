import numpy as np
import pytest

from tests.harness import build_randomized, close, compiled, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import LocalMonotonicAttention, LocalPredictiveAttention

RNG = np.random.default_rng(5)
LENGTHS = [23, 9, 5, 1, 0]
QUERY = RNG.normal(size=(5, 11, 6)).astype("float32")
MEMORY = RNG.normal(size=(5, 23, 8)).astype("float32")
EQUAL = RNG.normal(size=(5, 23, 6)).astype("float32")
MASK = np.arange(23)[None] < np.array(LENGTHS)[:, None]
SCORES = ["general", *map(once, ["dot", "scaled_dot", "concat", "additive"])]


def built(cls, score, **options):
    memory = EQUAL if "dot" in score else MEMORY
    layer = build_randomized(cls(score, **options), QUERY.shape, memory.shape)
    return layer, memory


def compare(layer, memory, place, score, window):
    context, weights = to_numpy(compiled(layer)(QUERY, memory, mask=MASK))
    variables = reference.named(layer)
    for b, length in enumerate(LENGTHS):
        for t in range(QUERY.shape[1]):
            h = QUERY[b, t].astype("float64")
            real = memory[b, :length].astype("float64")
            if not length:
                assert (weights[b, t] == 0).all() and (context[b, t] == 0).all()
                continue
            centre, focus = place(h, length, t, variables)
            c, a = reference.local(score, h, real, variables, centre, window, focus)
            np.testing.assert_allclose(weights[b, t, :length], a, atol=2e-5)
            np.testing.assert_allclose(context[b, t], c, atol=5e-5)
            assert (weights[b, t, length:] == 0).all()


# Window 2 gathers (23 > 2 × 5), window 10 stays dense (a source shorter than twice
# the window), window 40 is wider than any source.
@pytest.mark.parametrize("window", [2, 10, once(40)])
@pytest.mark.parametrize("score", SCORES)
def test_local_p_is_equations_9_and_10(score, window):
    layer, memory = built(LocalPredictiveAttention, score, window=window, units=7)

    def place(h, length, t, variables):
        focus = reference.predicted_focus(h, length, variables)
        return min(int(np.floor(focus)), length - 1), focus

    compare(layer, memory, place, score, window)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("window", [once(1), 2, 10, once(40)])
@pytest.mark.parametrize("score", SCORES)
def test_local_m_is_a_window_around_the_target_position(score, window, reverse):
    layer, memory = built(
        LocalMonotonicAttention, score, window=window, reverse=reverse
    )

    def place(h, length, t, variables):
        centre = min(t, length - 1)
        return (length - 1 - centre if reverse else centre), None

    compare(layer, memory, place, score, window)


@pytest.mark.parametrize("cls", [LocalMonotonicAttention, LocalPredictiveAttention])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("time", [1, 11])
def test_gathering_the_window_changes_nothing(cls, score, time, monkeypatch):
    layer, memory = built(cls, score, window=3)
    mask = RNG.permuted(MASK, axis=1)  # with holes
    monkeypatch.setattr(cls, "_gathers", lambda self, length: True)
    gathered = to_numpy(compiled(layer)(QUERY[:, :time], memory, mask=mask))
    monkeypatch.setattr(cls, "_gathers", lambda self, length: False)
    dense = to_numpy(compiled(layer)(QUERY[:, :time], memory, mask=mask))
    close(gathered[0], dense[0])
    close(gathered[1], dense[1])


def test_position_in_every_form_it_may_take():
    layer, memory = built(LocalMonotonicAttention, "general", window=2)
    call, positions = compiled(layer), np.array([0, 8, 3, 30, 2])
    one = to_numpy(call(QUERY[:, 0], memory, mask=MASK, position=positions)[1])
    shifted = np.arange(11) + 4
    flat = to_numpy(call(QUERY, memory, mask=MASK, position=shifted)[1])
    tiled = np.tile(shifted, (5, 1))
    close(call(QUERY, memory, mask=MASK, position=tiled)[1], flat)
    for b, p in enumerate(positions):
        alone = to_numpy(layer(QUERY[:, 0], memory, mask=MASK, position=int(p))[1])
        close(one[b], alone[b])
    close(flat[:, 3], layer(QUERY[:, 3], memory, mask=MASK, position=7)[1])
