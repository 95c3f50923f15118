import numpy as np
import pytest
from keras import ops

from tests.decoding.reference import NO_HYPOTHESIS
from zoo.decoding import BeamSearch, beam_state
from zoo.decoding.beam_state import BeamState, SearchConstants


def beam_of(live, done, ids=None):
    """A `BeamState` of one sentence."""
    shape = (1, len(live), 2)
    return BeamState(
        step=1,
        state=None,
        parents=(),
        tokens=None,
        ids=np.zeros(shape, "int32") if ids is None else ids,
        live=np.array([live], "float32"),
        done_ids=np.zeros(shape, "int32"),
        done=np.array([done], "float32"),
        coverage=(),
    )


def sentences_of(beams=2, beta=0.0):
    """One sentence of two tokens, with α = 1 and a limit of 4: lp = 9 / 6."""
    limits, real = np.array([[4]], "int32"), np.ones((1, 1, 2), "float32")
    indices = (
        ops.arange(beams)[None],
        np.array([[0]], "int32"),
        ops.arange(2)[None, None],
    )
    return SearchConstants(None, limits, real, (1.0, beta), 9 / 6, *indices)


@pytest.mark.parametrize(
    ("kind", "alpha", "norm"),
    [("gnmt", 1.0, 9 / 6), ("gnmt", 0.5, 1.5**0.5), ("plain", 2.0, 16.0)],
)
def test_the_length_norm(kind, alpha, norm):
    search = BeamSearch(length_penalty=alpha, length_normalization=kind)
    assert float(beam_state.length_norm(search, ops.array(4.0), alpha)) == (
        pytest.approx(norm)
    )
    assert beam_state.length_norm(BeamSearch(length_penalty=0.0), 4.0, alpha) == 1.0


def test_the_score_of_wu_et_al():
    search = BeamSearch(1, length_penalty=1.0, coverage_penalty=0.5)
    coverage = np.array([[[0.25, 3.0]]], "float32")  # more than 1 counts as 1
    found = beam_state.score(
        search,
        np.array([[-3.0]], "float32"),
        ops.array(4.0),
        coverage,
        sentences_of(beta=0.5),
    )
    wanted = -3.0 / (9 / 6) + 0.5 * np.log(0.25)
    np.testing.assert_allclose(ops.convert_to_numpy(found), [[wanted]], rtol=1e-6)


def test_what_ends_takes_the_first_free_places():
    ids = np.array([[[7, 3], [8, 3], [9, 4]]], "int32")
    beam = beam_of([0.0] * 3, [-1.0, NO_HYPOTHESIS, NO_HYPOTHESIS])
    ends = np.array([[False, True, False]])
    ranked = np.array([[-5.0, -6.0, -7.0]], "float32")
    given = (ops.convert_to_tensor(x) for x in (ends, ids, ranked, [[1]]))
    done_ids, done = beam_state.finish(
        BeamSearch(3), beam, *given, sentences_of(beams=3)
    )
    assert ops.convert_to_numpy(done).tolist() == [[-1.0, -6.0, NO_HYPOTHESIS]]
    assert ops.convert_to_numpy(done_ids)[0, 1].tolist() == [8, 3]


@pytest.mark.parametrize(
    ("n_best", "done", "goes_on"),
    [
        (1, [-1.9, NO_HYPOTHESIS], False),  # -3 / 1.5 = -2, the best it can reach
        (1, [-2.1, NO_HYPOTHESIS], True),
        (2, [-1.9, NO_HYPOTHESIS], True),
        (2, [-1.9, -1.95], False),
    ],
)
def test_a_sentence_ends_when_no_hypothesis_can_come_in(n_best, done, goes_on):
    search = BeamSearch(2, n_best=n_best)
    live = np.array([[-3.0, -4.0]], "float32")
    found = beam_state.prune(search, live, np.array([done], "float32"), sentences_of())
    found = ops.convert_to_numpy(found)
    assert (found == live).all() if goes_on else (found == NO_HYPOTHESIS).all()


def test_hypotheses_are_extended_by_every_word():
    logits = np.log(np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], "float32"))
    beam = beam_of(np.log([0.5, 0.4]), [NO_HYPOTHESIS] * 2)
    scores, words, parents, _ = beam_state.extend(
        BeamSearch(2, end_id=2), logits, beam, sentences_of()
    )
    np.testing.assert_allclose(np.exp(ops.convert_to_numpy(scores)), [[0.3, 0.2]], 1e-5)
    assert ops.convert_to_numpy(words).tolist() == [[1, 0]]
    assert ops.convert_to_numpy(parents).tolist() == [[0, 1]]
