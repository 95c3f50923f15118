"""Beam search with a model of the zoo, and its arguments."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding.reference import END, compile_search
from tests.harness import compiled, randomize
from tests.marks import once
from zoo.decoding import BeamSearch
from zoo.decoding.beam import top_k
from zoo.decoding.compiled import label_log_probs
from zoo.ids import START_ID
from zoo.models import LSTMNEncoderDecoder, Luong, LuongTranslator, Transformer

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


IDS = np.array([[4, 5, 1], [5, 0, 0], [4, 4, 0]], "int32")


def test_neighbours_padding_and_width_change_nothing(translator):
    search = BeamSearch(3, 1.0, 0.2, n_best=3)
    run = compile_search(translator.backbone, search, 6)
    limits = np.array([6, 5, 4], "int32")
    ids, scores = run(IDS, limits)
    padded, padded_scores = run(np.pad(IDS, ((0, 0), (0, 2))), limits)
    np.testing.assert_array_equal(padded, ids)
    np.testing.assert_allclose(padded_scores, scores, rtol=1e-5)
    order = [2, 0, 1]
    turned, turned_scores = run(IDS[order], limits[order])
    np.testing.assert_array_equal(turned, ids[order])
    np.testing.assert_allclose(turned_scores, scores[order], rtol=1e-5)
    wide = compile_search(translator.backbone, search, 8)
    for row in range(3):
        alone, alone_scores = wide(IDS[row : row + 1], limits[row : row + 1])
        np.testing.assert_array_equal(alone[0, :, :6], ids[row])
        assert not alone[0, :, 6:].any()
        np.testing.assert_allclose(alone_scores[0], scores[row], rtol=1e-5)


def test_a_compiled_search_uses_the_weights_of_the_moment(translator):
    run = compile_search(translator.backbone, BeamSearch(1, 0.0), 6)
    limits = np.array([6, 5, 4], "int32")
    before = run(IDS, limits)
    readout = translator.backbone.output_layer.kernel
    values = ops.convert_to_numpy(readout)
    readout.assign(values * 0)
    ids, scores = run(IDS, limits)
    readout.assign(values)
    # Every word is as good as any other: the first of equals is word 0.
    wanted = [[0] * (limit - 1) + [END] + [0] * (6 - limit) for limit in limits]
    assert ids[:, 0].tolist() == wanted
    np.testing.assert_allclose(scores[:, 0], limits * np.log(1 / 6), rtol=1e-5)
    after = run(IDS, limits)
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])


@pytest.mark.parametrize(
    "cls, sizes",
    [
        (Transformer, {"ff_dim": 8, "num_heads": 2}),
        once(LSTMNEncoderDecoder, {"embedding_dim": 4}),
    ],
)
def test_a_state_gets_room_as_it_grows(cls, sizes):
    """The scores over grown caches, or tapes, are those of `call`."""
    model = cls(9, num_layers=1, hidden_dim=8, **sizes)
    randomize(model, scale=1.0)
    search = BeamSearch(2, 0.0, n_best=2, min_length=36)
    counts = (2, 3) if keras.backend.backend() == "tensorflow" else (3,)
    for count in counts:  # at a second size TensorFlow compiles for any
        ids, scores = search.find(model, IDS[:count], np.full(count, 36), 36)
    ids = ids.reshape(-1, 36)
    target_ids = np.pad(ids[:, :-1], ((0, 0), (1, 0)), constant_values=START_ID)
    inputs = {"source_ids": np.repeat(IDS, 2, axis=0), "target_ids": target_ids}
    found = ops.sum(label_log_probs(model(inputs), ids), axis=1)
    np.testing.assert_allclose(ops.convert_to_numpy(found), scores.ravel(), rtol=1e-4)


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
    assert BeamSearch(3, 1).key == BeamSearch(3, 0.5).key
    several = [BeamSearch(3, 1, beta) for beta in (0.1, 2)]
    assert len({search.key for search in several}) == 1
    others = [BeamSearch(3, 1, 0.1), BeamSearch(3, 0), BeamSearch(4, 1)]
    others += [BeamSearch(3, 1, n_best=2), BeamSearch(3, 1, end_id=4)]
    others += [BeamSearch(3, 1, start_id=4), BeamSearch(3, 1, min_length=2)]
    others.append(BeamSearch(3, 1, banned_ids=[5]))
    assert len({search.key for search in [BeamSearch(3, 1), *others]}) == 9


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


# === The best words ===


@pytest.mark.parametrize("k", [1, 4, 33])
@pytest.mark.parametrize("kinds", [1, once(3), once(20), 1000])
def test_the_first_of_equals_comes_first(k, kinds):
    values = np.random.default_rng(k).integers(kinds, size=(2, 7, 33)) - 2.0
    values = values.astype("float32")
    values[0, :3, ::2] = -np.inf
    values[1, :2] = -100.0
    found, indices = compiled(lambda x: top_k(x, k))(ops.convert_to_tensor(values))
    found, indices = ops.convert_to_numpy(found), ops.convert_to_numpy(indices)
    order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    wanted = np.take_along_axis(values, order, axis=-1)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.take_along_axis(values, indices, -1), wanted)
    settled = wanted > -100.0
    np.testing.assert_array_equal(indices[settled], order[settled])


@pytest.mark.parametrize("rows", [3, once(30)])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("kinds", [once(1), 40, 10**6])
def test_the_first_of_equals_of_a_vocabulary(rows, k, kinds):
    """It is read in blocks (under torch, of many rows); 2,003 is a multiple of none."""
    rng = np.random.default_rng(k)
    values = rng.integers(kinds, size=(2, rows, 2003)).astype("float32")
    values[1, 0, -1] = values[1, 1, 1999] = 2.0 * kinds  # in what is left over
    values[1, 2] = np.sort(values[1, 2])
    found, indices = compiled(lambda x: top_k(x, k))(ops.convert_to_tensor(values))
    order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(ops.convert_to_numpy(indices), order)
    wanted = np.take_along_axis(values, order, axis=-1)
    np.testing.assert_array_equal(ops.convert_to_numpy(found), wanted)
