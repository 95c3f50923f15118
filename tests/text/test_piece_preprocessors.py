import json
import warnings

import hypothesis
import keras
import keras_hub
import numpy as np
import pytest
from hypothesis import strategies as st

from tests.harness import same_config
from zoo.text import CaptionPreprocessor, Tokenizer, TranslatorPreprocessor

ENGLISH = ["a brown dog waits.", "she runs.", "the old man sits down in the park."]
GERMAN = ["ein brauner Hund wartet.", "sie rennt.", "der alte Mann setzt sich hin."]


@pytest.fixture
def preprocessor(tokenizer):
    return TranslatorPreprocessor(tokenizer, source_length=41, target_length=37)


def padded(rows, length=None):
    length = max([1, *map(len, rows)]) if length is None else length
    return np.array([row + [0] * (length - len(row)) for row in rows], "int32")


# === Training ===
@pytest.mark.parametrize("source_end", [False, True])
def test_training_arrays(tokenizer, source_end):
    preprocessor = TranslatorPreprocessor(tokenizer, 41, 37, source_end=source_end)
    x, y, sample_weight = preprocessor({"source": ENGLISH, "target": GERMAN})
    sources, targets = tokenizer.tokenize(ENGLISH), tokenizer.tokenize(GERMAN)
    end = [3] if source_end else []
    assert set(x) == {"source_ids", "target_ids"}
    expected = padded([row + end for row in sources], 41)
    np.testing.assert_array_equal(x["source_ids"], expected)
    expected = padded([[2, *row] for row in targets], 37)
    np.testing.assert_array_equal(x["target_ids"], expected)
    np.testing.assert_array_equal(y, padded([[*row, 3] for row in targets], 37))
    weights = padded([[1] * (len(row) + 1) for row in targets], 37)
    np.testing.assert_array_equal(sample_weight, weights)
    dtypes = [array.dtype.name for array in (*x.values(), y, sample_weight)]
    assert dtypes == ["int32", "int32", "int32", "float32"]


def test_too_long_a_pair_is_cut_and_still_ends(tokenizer):
    preprocessor = TranslatorPreprocessor(tokenizer, 5, 6, source_end=True)
    with pytest.warns(UserWarning) as record:
        x, y, sample_weight = preprocessor({"source": ENGLISH[2], "target": GERMAN[2]})
    assert [str(w.message).split(". ")[0] for w in record] == [
        "1 of 1 texts have more than 4 pieces and were cut",
        "1 of 1 texts have more than 5 pieces and were cut",
    ]
    source, target = map(list, (tokenizer(ENGLISH[2]), tokenizer(GERMAN[2])))
    assert x["source_ids"].tolist() == [*source[:4], 3]
    assert x["target_ids"].tolist() == [2, *target[:5]]
    assert y.tolist() == [*target[:5], 3]
    assert sample_weight.tolist() == [1] * 6


@pytest.mark.parametrize(
    ("x", "weights", "message"),
    [
        (["a", "b"], None, "Received: "),
        ({"source": ["a"]}, None, "Received: "),
        ({"source": ["a", "b"], "target": ["c"]}, None, "Received: 2 and 1"),
        ({"source": ["a"], "target": ["b"]}, [1.0], "are made. Received"),
    ],
)
def test_training_needs_sources_and_as_many_targets(preprocessor, x, weights, message):
    with pytest.raises(ValueError, match=message):
        preprocessor(x, sample_weight=weights)


# === Translation ===
def test_encode(tokenizer):
    rows = tokenizer.tokenize(ENGLISH)
    with_end = TranslatorPreprocessor(tokenizer, source_end=True)
    assert TranslatorPreprocessor(tokenizer).encode(ENGLISH) == rows
    assert with_end.encode(ENGLISH) == [row + [3] for row in rows]
    assert with_end.encode(ENGLISH[1]) == [rows[1] + [3]]
    assert with_end.encode_targets(ENGLISH) == rows


@pytest.mark.parametrize("source_end", [False, True])
def test_one_warning_for_all_texts_that_are_cut(tokenizer, source_end):
    full = TranslatorPreprocessor(tokenizer).encode(ENGLISH)
    longest, limit = len(full[2]), len(full[0]) - 1
    preprocessor = TranslatorPreprocessor(
        tokenizer, source_length=limit + source_end, source_end=source_end
    )
    with pytest.warns(UserWarning) as record:
        rows = preprocessor.encode([ENGLISH[1], ENGLISH[0], ENGLISH[2]])
    (warning,) = record
    assert str(warning.message) == (
        f"2 of 3 texts have more than {limit} pieces and were cut. "
        "The first is texts[1], of 18 characters"
    )
    assert warning.filename == __file__
    end = [3] if source_end else []
    assert rows[0] == full[1] + end
    assert rows[1] == full[0][:limit] + end
    assert rows[2] == full[2][:limit] + end

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # exactly as long as allowed
        rows = preprocessor.encode(ENGLISH, length=longest + source_end)
    assert rows == [row + end for row in full]


@pytest.mark.parametrize("token_id", [-1, 80, 10**6])
def test_decode_refuses_ids_outside_the_vocabulary(preprocessor, token_id):
    message = rf"ids\[1\] must hold ids from 0 to 79. Received: {token_id}"
    with pytest.raises(ValueError, match=message):
        preprocessor.decode([[5], [6, token_id]])
    assert preprocessor.decode([[3, token_id]]) == [""]  # not after the end


def test_pieces(preprocessor):
    (row,) = preprocessor.encode("she runs.")
    pieces = preprocessor.pieces([2, *row, 1, 3, 0])
    assert pieces[0] == "<s>"
    assert pieces[-3:] == ["<unk>", "</s>", "<pad>"]
    assert "".join(pieces[1:-3]) == "▁she▁runs."
    assert preprocessor.pieces(np.array(row)) == pieces[1:-3]


@hypothesis.settings(
    max_examples=300,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(text=st.text(st.characters(codec=None, exclude_categories=[])))
def test_any_unicode_passes(preprocessor, text):
    for row in preprocessor.encode([text]) + preprocessor.encode_targets(text):
        assert all(0 < token_id < 80 for token_id in row)
        assert not {2, 3} & set(row)
        (decoded,) = preprocessor.decode([row])
        decoded.encode()  # no lone surrogate comes out
    if not text.strip():
        assert preprocessor.encode(text) == [[]]


# === KerasHub's generate ===
def test_generate_preprocess(preprocessor):
    expected = padded(preprocessor.encode(ENGLISH), 24)  # the longest has 23
    for x in (ENGLISH, {"source": ENGLISH}, np.array(ENGLISH)):
        outputs = preprocessor.generate_preprocess(x)
        assert tuple(outputs["target_ids"].shape) == (3, preprocessor.target_length)
        assert keras.ops.is_tensor(outputs["source_ids"])
        ids = keras.ops.convert_to_numpy(outputs["source_ids"])
        np.testing.assert_array_equal(ids, expected)
        assert ids.dtype == "int32"


def test_generate_preprocess_with_a_length(preprocessor):
    outputs = preprocessor.generate_preprocess(ENGLISH[:1], sequence_length=5)
    outputs = {key: keras.ops.convert_to_numpy(ids) for key, ids in outputs.items()}
    assert outputs["source_ids"].shape == (1, 16)  # for 11
    assert outputs["target_ids"].tolist() == [[2, 0, 0, 0, 0]]


def test_generate_postprocess(preprocessor):
    ids = padded([[2, *row, 3] for row in preprocessor.encode(ENGLISH)])
    for x in (keras.ops.convert_to_tensor(ids), ids):
        assert preprocessor.generate_postprocess({"token_ids": x}) == ENGLISH


# === Captions ===
SHAPE, CAPTIONS = (5, 7, 3), ["she runs.", "sie"]
IMAGES = np.random.default_rng(2).integers(0, 256, (2, *SHAPE)).astype("uint8")


def test_images_and_captions_for_fit(tokenizer):
    preprocessor = CaptionPreprocessor(tokenizer, SHAPE, 20)
    x, y, weights = preprocessor({"image": IMAGES / 255.0, "caption": CAPTIONS})
    assert (x["images"] == IMAGES).all() and x["images"].dtype == np.uint8
    rows = tokenizer.tokenize(CAPTIONS)
    expected = padded([[2, *row] for row in rows], 20)
    np.testing.assert_array_equal(x["target_ids"], expected)
    np.testing.assert_array_equal(y, padded([[*row, 3] for row in rows], 20))
    np.testing.assert_array_equal(weights, y != 0)
    x, y, _ = preprocessor({"image": IMAGES[0], "caption": CAPTIONS[0]})
    assert x["images"].shape == SHAPE and y.shape == (20,)
    assert preprocessor.decode([y]) == CAPTIONS[:1]


# === Making one ===
@pytest.mark.parametrize("kind", [TranslatorPreprocessor, CaptionPreprocessor])
def test_another_tokenizer_is_refused(proto, kind):
    other = keras_hub.tokenizers.SentencePieceTokenizer(proto=proto)
    with pytest.raises(TypeError, match="must be a zoo.text.Tokenizer. Received: "):
        kind(other)
    with pytest.raises(ValueError, match="tokenizer must have dtype int32"):
        kind(Tokenizer(proto=proto, add_eos=True))


def test_configuration_round_trip(tokenizer):
    preprocessor = TranslatorPreprocessor(tokenizer, 11, 13, source_end=True)
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(preprocessor)))
    assert config["registered_name"] == "zoo>TranslatorPreprocessor"
    revived = keras.saving.deserialize_keras_object(config)
    assert revived.get_config() == preprocessor.get_config()
    lengths = (revived.source_length, revived.target_length, revived.source_end)
    assert lengths == (11, 13, True)
    assert set(dir(revived)) == set(dir(preprocessor))
    captions = same_config(CaptionPreprocessor(tokenizer, SHAPE, 9))
    assert captions.image_shape == SHAPE and captions.target_length == 9
