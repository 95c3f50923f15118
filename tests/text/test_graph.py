"""Inside TensorFlow graphs texts have the ids that they have in Python."""

import functools
import random
import warnings

import numpy as np
import pytest

from zoo.text import TranslatorPreprocessor, graph

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
pytestmark = pytest.mark.once  # the graphs are TensorFlow's under every backend


@pytest.fixture(params=[False, True], ids=["", "source_end"])
def preprocessor(tokenizer, request):
    return TranslatorPreprocessor(tokenizer, 41, 37, source_end=request.param)


def in_graph(function, *shape, dtype):
    signature = [tf.TensorSpec(shape, dtype)]
    return tf.function(function, input_signature=signature)


@pytest.fixture
def encode(preprocessor):
    def function(text):
        tokenizer, end = preprocessor.tokenizer, preprocessor.source_end
        rows = graph.tokenize(tokenizer, text, preprocessor.source_length - end)
        return graph.pad_to_longest(graph.append_end(rows, 3) if end else rows)

    return in_graph(function, None, dtype=tf.string)


@pytest.fixture
def decode(preprocessor):
    function = functools.partial(graph.detokenize, preprocessor.tokenizer)
    return in_graph(function, None, None, dtype=tf.int32)


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


@pytest.mark.parametrize(
    "text",
    ["😀" * 1_000_000, "a" * 1_000_000, "\u1100\u1161" * 500_000, f"a{' ' * 999_998}a"],
    ids=["unknown", "letters", "jamo", "blanks"],
)
def test_a_million_characters(preprocessor, encode, text):
    # Quadratic work on them (see `CHARACTERS_PER_PIECE`) would take minutes here.
    with pytest.warns(UserWarning, match="of 1000000 characters"):
        expected = preprocessor.encode(text)
    assert encode(tf.constant([text])).numpy().tolist() == padded(expected)


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
