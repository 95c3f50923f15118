"""Beam search with a model of the zoo, and its arguments."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding.reference import (
    END,
    START,
    check_row,
    compile_search,
    exhaustive,
    log_softmax,
)
from tests.harness import compiled
from tests.marks import once
from zoo.decoding import BeamSearch
from zoo.models import Luong, LuongTranslator

# === With a trained architecture's four methods ===


@pytest.fixture(scope="module")
def translator():
    keras.utils.set_random_seed(3)
    backbone = Luong(
        vocabulary_size=6,
        num_layers=2,
        hidden_dim=5,
        embedding_dim=3,
        window=4,
        dropout=0.0,
        initializer_range=1.5,
    )
    return LuongTranslator(backbone)


LUONG_SOURCES = np.array([[4, 5, 1], [5, 0, 0], [4, 4, 0]], "int32")
LUONG_LIMITS = np.array([3, 3, 2], "int32")
LUONG_ALL = 1 + 5 + 25


@pytest.fixture(scope="module")
def luong_answers(translator):
    """For each row, its answers to every prefix: the four methods and nothing else."""
    answers = [{}, {}, {}]
    memory, step = compiled(translator.encode)(LUONG_SOURCES), compiled(translator.step)
    state, prefixes = translator.start(memory), [()]
    for _ in range(LUONG_LIMITS.max()):
        last = [prefix[-1] if prefix else START for prefix in prefixes]
        words = np.array(last * 3, "int32")  # the prefixes of row 0, of row 1, ...
        logits, state, weights = step(words, state, memory)
        logits, weights = (
            ops.convert_to_numpy(x).astype("float64").reshape(3, len(prefixes), -1)
            for x in (logits, weights)
        )
        for row in range(3):
            for k, prefix in enumerate(prefixes):
                answers[row][prefix] = log_softmax(logits[row, k]), weights[row, k]
        state = keras.tree.map_structure(lambda x: ops.repeat(x, 5, axis=0), state)
        prefixes = [(*p, w) for p in prefixes for w in (0, 1, 2, 4, 5)]
    return answers


@pytest.mark.parametrize(("alpha", "beta"), [once(0.0, 0.0), (0.6, 0.2)])
def test_luong_against_exhaustive_search(translator, luong_answers, alpha, beta):
    search = BeamSearch(LUONG_ALL, alpha, beta, n_best=LUONG_ALL)
    ids, scores = compile_search(translator, search, 3)(LUONG_SOURCES, LUONG_LIMITS)
    for row in range(3):
        follow = luong_answers[row].__getitem__
        limit, source = LUONG_LIMITS[row], LUONG_SOURCES[row]
        expected = exhaustive(follow, 6, limit, source, alpha, beta)
        check_row(ids[row], scores[row], expected, rtol=1e-4)


def test_neighbours_padding_and_width_change_nothing(translator):
    search = BeamSearch(3, 1.0, 0.2, n_best=3)
    run = compile_search(translator, search, 6)
    limits = np.array([6, 5, 4], "int32")
    ids, scores = run(LUONG_SOURCES, limits)
    padded, padded_scores = run(np.pad(LUONG_SOURCES, ((0, 0), (0, 2))), limits)
    np.testing.assert_array_equal(padded, ids)
    np.testing.assert_allclose(padded_scores, scores, rtol=1e-5)
    order = [2, 0, 1]
    turned, turned_scores = run(LUONG_SOURCES[order], limits[order])
    np.testing.assert_array_equal(turned, ids[order])
    np.testing.assert_allclose(turned_scores, scores[order], rtol=1e-5)
    wide = compile_search(translator, search, 8)
    for row in range(3):
        alone, alone_scores = wide(LUONG_SOURCES[row : row + 1], limits[row : row + 1])
        np.testing.assert_array_equal(alone[0, :, :6], ids[row])
        assert not alone[0, :, 6:].any()
        np.testing.assert_allclose(alone_scores[0], scores[row], rtol=1e-5)


def test_a_compiled_search_uses_the_weights_of_the_moment(translator):
    run = compile_search(translator, BeamSearch(1, 0.0), 6)
    limits = np.array([6, 5, 4], "int32")
    before = run(LUONG_SOURCES, limits)
    readout = translator.backbone.output_layer.kernel
    values = ops.convert_to_numpy(readout)
    readout.assign(values * 0)
    ids, scores = run(LUONG_SOURCES, limits)
    readout.assign(values)
    # Every word is as good as any other: the first of equals is word 0.
    wanted = [[0] * (limit - 1) + [END] + [0] * (6 - limit) for limit in limits]
    assert ids[:, 0].tolist() == wanted
    np.testing.assert_allclose(scores[:, 0], limits * np.log(1 / 6), rtol=1e-5)
    after = run(LUONG_SOURCES, limits)
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])


# === Arguments ===


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_size": 0}, "beam_size=0"),
        ({"beam_size": 2.0}, "beam_size=2.0"),
        ({"n_best": 0}, "n_best=0"),
        ({"n_best": 3, "beam_size": 2}, "n_best=3, beam_size=2"),
        ({"length_penalty": -0.1}, "-0.1"),
        ({"coverage_penalty": -1}, "-1"),
        ({"length_normalization": "wu"}, "length_normalization='wu'"),
        ({"min_length": -1}, "min_length=-1"),
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size=-1"),
        ({"end_id": -1}, "end_id=-1"),
        ({"banned_ids": [-1]}, "banned_ids=-1"),
        ({"banned_ids": [END]}, rf"banned_ids=\[{END}\]"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=f"Received.*{message}"):
        BeamSearch(**arguments)


def test_searches_share_a_program_when_their_arguments_are_equal():
    # Other numbers, but for 0, are other arguments of the same program.
    assert BeamSearch(3, 1).key() == BeamSearch(3, 0.5).key()
    several = [BeamSearch(3, 1, beta) for beta in (0.1, 2)]
    assert len({search.key() for search in several}) == 1
    others = [BeamSearch(3, 1, 0.1), BeamSearch(3, 0), BeamSearch(4, 1)]
    others += [BeamSearch(3, 1, n_best=2), BeamSearch(3, 1, end_id=4)]
    others += [BeamSearch(3, 1, start_id=4), BeamSearch(3, 1, min_length=2)]
    others.append(BeamSearch(3, 1, length_normalization="plain"))
    others.append(BeamSearch(3, 1, banned_ids=[5]))
    assert len({search.key() for search in [BeamSearch(3, 1), *others]}) == 10
    for search in others:
        assert BeamSearch(**search.get_config()).key() == search.key()


@pytest.mark.once
def test_limits_and_steps_have_defaults_and_no_gradient_is_kept():
    model = Luong(9, num_layers=1, hidden_dim=8, embedding_dim=6, initializer_range=0.9)
    source = np.array([[4, 5, 6], [7, 0, 0]], "int32")
    search, limits = BeamSearch(2), np.array([16, 12], "int32")
    wanted = search(model, source, limits, 16)
    for found in (search(model, source), search(model, source, limits)):
        for got, own in zip(found, wanted, strict=True):
            # As arrays at once: under torch that fails where a gradient is kept.
            np.testing.assert_array_equal(np.asarray(got), np.asarray(own))
    ids, _ = BeamSearch(2, min_length=20)(model, source)
    assert ids.shape == (2, 2, 20)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only its graphs have unknown sizes"
)
def test_steps_must_be_given_where_lengths_are_unknown():
    import tensorflow as tf

    model = Luong(9, num_layers=1, hidden_dim=8, embedding_dim=6)
    search = tf.function(lambda ids: BeamSearch(2)(model, ids))
    with pytest.raises(ValueError, match="`steps` must be given.*steps=None"):
        search.get_concrete_function(tf.TensorSpec([None, None], "int32"))
