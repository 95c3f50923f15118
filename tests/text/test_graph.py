"""Inside TensorFlow graphs the preprocessor gives what it gives without TensorFlow."""

import random
import warnings

import keras
import numpy as np
import pytest

from zoo.text import TranslatorPreprocessor

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
pytestmark = pytest.mark.once  # the graphs are TensorFlow's under every backend

PAIRS = {
    "source": ["a brown dog waits.", "", "the old man sits down in the park."],
    "target": ["ein brauner Hund wartet.", "sie rennt.", " \n"],
}


@pytest.fixture(params=[False, True], ids=["", "source_end"])
def preprocessor(tokenizer, request):
    return TranslatorPreprocessor(tokenizer, 41, 37, source_end=request.param)


@pytest.fixture
def encode(preprocessor):
    signature = [tf.TensorSpec([None], tf.string)]
    return tf.function(preprocessor.encode_graph, input_signature=signature)


@pytest.fixture
def decode(preprocessor):
    signature = [tf.TensorSpec([None, None], tf.int32)]
    return tf.function(preprocessor.decode_graph, input_signature=signature)


def odd_texts():
    """Strings of letters, spaces and any other character that UTF-8 can hold."""
    rng = random.Random(3)

    def character():
        kind = rng.random()
        if kind < 0.5:
            return chr(rng.randrange(32, 127))
        if kind < 0.7:
            return rng.choice(" \t\n\x00\u3000\u200bäß▁\ufffd\ufeff")
        code = rng.randrange(0x3000 if kind < 0.85 else 0x110000)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    return ["".join(character() for _ in range(rng.randrange(60))) for _ in range(1000)]


def padded(rows):
    length = max([1, *map(len, rows)])
    return [row + [0] * (length - len(row)) for row in rows]


def assert_same(outputs, expected):
    keras.tree.map_structure(
        lambda a, b: np.testing.assert_array_equal(a.numpy(), b), outputs, expected
    )


# === tf.data ===
def test_maps_and_tensors_give_the_training_arrays(preprocessor):
    expected, texts = preprocessor(PAIRS), tf.data.Dataset.from_tensor_slices(PAIRS)
    dataset = texts.batch(3).map(preprocessor)
    assert_same(next(iter(dataset)), expected)
    x, y, sample_weight = dataset.element_spec
    assert x["source_ids"].shape.as_list() == [None, 41]
    assert y.shape.as_list() == sample_weight.shape.as_list() == [None, 37]
    assert_same(next(iter(texts.map(preprocessor).batch(3))), expected)
    tensors = {key: tf.constant(texts) for key, texts in PAIRS.items()}
    keras.tree.map_structure(
        np.testing.assert_array_equal, preprocessor(tensors), expected
    )


def test_a_map_over_pairs_that_are_too_long_cuts_and_warns(tokenizer):
    preprocessor = TranslatorPreprocessor(tokenizer, 6, 5, source_end=True)
    dataset = tf.data.Dataset.from_tensors(PAIRS).map(preprocessor)
    with pytest.warns(UserWarning) as in_graph:
        outputs = next(iter(dataset))
    with pytest.warns(UserWarning) as record:
        assert_same(outputs, preprocessor(PAIRS))
    texts = [str(warning.message) for warning in record]
    assert [str(warning.message) for warning in in_graph] == texts
    assert texts == [
        "2 of 3 texts have more than 5 pieces and were cut. The first is source[0], of "
        "18 characters",
        "2 of 3 texts have more than 4 pieces and were cut. The first is target[0], of "
        "24 characters",
    ]


# === Source ===
def test_ids_are_equal_on_any_unicode(preprocessor, encode, corpus):
    texts = odd_texts() + corpus
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = padded(preprocessor.encode(texts))
    assert encode(tf.constant(texts)).numpy().tolist() == expected


def test_bytes_that_are_not_utf8_are_read_as_python_reads_them(preprocessor, encode):
    texts = [
        b"a \xff b",
        b"\xed\xa0\x80",
        b"\xf0\x9f",
        b"she \xe4\xb8runs",
        b"\xc0\x80",
    ]
    expected = preprocessor.encode([text.decode(errors="replace") for text in texts])
    assert encode(tf.constant(texts)).numpy().tolist() == padded(expected)


@pytest.mark.parametrize("texts", [[], [""], [" ", "\n\u3000"]])
def test_there_is_a_column_even_without_pieces(encode, texts):
    ids = encode(tf.constant(texts, tf.string))
    assert ids.dtype == tf.int32
    assert ids.numpy().tolist() == [[0]] * len(texts)


def test_the_warning_is_only_for_texts_that_are_cut(tokenizer, capfd):
    preprocessor = TranslatorPreprocessor(tokenizer, source_length=5)
    encode = tf.function(preprocessor.encode_graph)
    capfd.readouterr()
    longest = next(
        text
        for text in ("äöü a brown dog"[:size] for size in range(15))
        if len(tokenizer.tokenize(text)) == 5
    )
    encode(tf.constant(["she", longest]))
    assert "Warning" not in capfd.readouterr().err
    ids = encode(tf.constant(["she", "äöü a brown dog"]))
    assert ids.shape[1] == 5
    warning = (
        "Warning: 1 of 2 texts have more than 5 pieces and were cut. The first is "
    )
    assert warning + "source[1], of 15 characters" in capfd.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["😀" * 1_000_000, "a" * 1_000_000, "\u1100\u1161" * 500_000, f"a{' ' * 999_998}a"],
    ids=["unknown", "letters", "jamo", "blanks"],
)
def test_a_million_characters(preprocessor, encode, text, capfd):
    # Quadratic work on them (see `CHARACTERS_PER_PIECE`) would take minutes here.
    with pytest.warns(UserWarning, match="of 1000000 characters"):
        expected = preprocessor.encode(text)
    assert encode(tf.constant([text])).numpy().tolist() == padded(expected)
    assert "of 1000000 characters" in capfd.readouterr().err


def test_it_can_be_called_outside_a_function(preprocessor):
    ids = preprocessor.encode_graph(tf.constant(PAIRS["source"]))
    assert ids.numpy().tolist() == padded(preprocessor.encode(PAIRS["source"]))
    texts = preprocessor.decode_graph(ids).numpy()
    assert [text.decode() for text in texts] == PAIRS["source"]


# === Target ===
def test_strings_are_equal(preprocessor, decode):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 80, (2000, 23)).astype("int32")
    ids[rng.random(ids.shape) < 0.5] = 0
    dog, cat = preprocessor.encode_targets(["brown dog", "black cat"])
    rows = padded([[2, *dog, 3, *cat], cat, [0, 2, *dog, 0, *cat], [3, *dog], []])
    for some in (ids, np.array(rows, "int32"), np.zeros((0, 5), "int32")):
        texts = decode(tf.constant(some)).numpy()
        assert [text.decode() for text in texts] == preprocessor.decode(some)
    assert preprocessor.decode(rows) == [
        "brown dog",
        "black cat",
        "brown dog black cat",
        "",
        "",
    ]
    assert decode(tf.zeros((2, 0), tf.int32)).numpy().tolist() == [b"", b""]


@pytest.mark.skipif(
    keras.config.backend() != "tensorflow",
    reason="keras.export writes SavedModels under the TensorFlow backend",
)
def test_both_directions_in_a_saved_model(preprocessor, tmp_path):
    def there_and_back(text):
        return preprocessor.decode_graph(preprocessor.encode_graph(text))

    archive = keras.export.ExportArchive()
    archive.track(preprocessor.tokenizer)
    archive.add_endpoint("serve", there_and_back, [tf.TensorSpec([None], tf.string)])
    archive.write_out(str(tmp_path / "model"), verbose=False)
    serve = tf.saved_model.load(str(tmp_path / "model")).serve
    texts = serve(tf.constant(PAIRS["source"])).numpy()
    assert [text.decode() for text in texts] == PAIRS["source"]
