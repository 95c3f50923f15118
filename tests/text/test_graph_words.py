"""Words in a TensorFlow graph are those that Python finds."""

import random

import numpy as np
import pytest

from zoo.text import TaggerPreprocessor, WordTokenizer, split_words
from zoo.text.graph_words import TaggerGraph, WordGraph, sentence_words

pytestmark = pytest.mark.backend_free

tf = pytest.importorskip("tensorflow")

SENTENCES = [
    "I don't know, it's 3.50... U.S.A. and U.S. isn't 10:30, 1.5.2, 3.50a 3.5.7a",
    "Don’t! can't've ain't n't N'T 'n't didn'tn't xn't's won't.x mustn't_",
    "http://a.b/c?d=e. www.x.org, HTTPS://X.Y/don't! http:// www. xhttp://y wwwx.y",
    "me@my-site.org a.b+c@d.e.f, x@y a@b.cn't ..a@b.c -a@b.c- @b.c",
    "''s '’s ’’s 's'm'd're've'll 'st --- !!?! ((a)) * * ** ⒶⓐⒶ ´´` \"\"",
    "",
    " \t\n\u3000",
    "a\u00a0b\x85c\x1cd\u2003e\u200bf",
    "über naïve ½ ²³ x² ①② Ⅷ.Ⅷ. ½.¾.n't 日本語 עברית ٣٫٥ ٣.٥ हिन्दी 👍👍🏽",
    "_a_b __ a_b's 'tis o'clock d'être \x00\x01\x01 \ufffd\ufffd",
    "cafe\u0301 nai\u0308ve a\u0301\u0323b n\u0303't \u0301 हिन्दी क्षत्रिय",
    "\u1100\u1161\u11a8 1\ufe0f\u20e3 #\ufe0f\u20e3 ❤\ufe0f\u200d🔥! a\ufe0f",
    "👨\u200d👩\u200d👧 👍🏽👍🏽 👍👍🏽 🇩🇪🇫🇷 🇩🇪🇩🇪🇩",
    "🏴\U000e0067\U000e0062\U000e007f x👍👍\u200da \u200d\u200d '\u0301 ''\u0301",
]


def odd_sentences(count):
    rng = random.Random(5)
    parts = (
        "a b Z n't n’t N'T 's 'll ' ’ '' . .. , : 3 50 7. .5 @ @x .de www. http:// / _"
        " - + ! !! é ½ ² Ⅷ 日 \u00a0 \u2003 \u200b \x1f \n Ⓐ ⓐ 👍 ſ K"
        " e\u0301 \u0301 \u0323 \u200d \u200c \ufe0f \u20e3 🏽 🇩 🇪 👩 ❤ हि \U000e0067"
    )
    parts = [*parts.split(" "), " ", " "]
    return ["".join(rng.choices(parts, k=rng.randrange(12))) for _ in range(count)]


def decoded(rows):
    return [[word.decode() for word in row] for row in rows.to_list()]


def test_sentences_are_cut_into_the_words_of_split_words():
    texts = SENTENCES + odd_sentences(3000)
    words = tf.function(sentence_words)(tf.constant(texts))
    for text, found in zip(texts, decoded(words), strict=True):
        assert found == split_words(text), repr(text)


def test_invalid_bytes_and_noncharacters_are_replaced():
    texts = [b"a\xff b", "\ufdd0a\ufdd1n't\ufdd2".encode()]
    assert decoded(sentence_words(tf.constant(texts))) == [
        split_words("a\ufffd b"),
        split_words("\ufffda\ufffdn't\ufffd"),
    ]


def test_no_sentence_gives_no_words():
    assert sentence_words(tf.constant([], "string")).to_list() == []


@pytest.mark.parametrize("lowercase", [False, True])
def test_words_between_white_space_have_the_tokenizers_ids(lowercase):
    words = ["a", "dog", "Dog", "über", "straße", "ός", "\u200b", "<", "'s"]
    tokenizer = WordTokenizer(words, lowercase=lowercase)
    texts = ["a dog  Dog ÜBER\u00a0über\nStraße", "", " ", "ΌΣ <unk> </s> <pad> <s> <"]
    texts += odd_sentences(300)
    rows = tf.function(WordGraph(tokenizer).tokenize)(tf.constant(texts))
    assert rows.to_list() == tokenizer.tokenize(texts)


def test_ids_become_words_up_to_the_end_token():
    graph = WordGraph(WordTokenizer(["a", "dog"]))
    ids = tf.constant([[4, 1, 5, 3, 4], [2, 0, 4, 5, 5], [3, 4, 4, 4, 4]])
    found = [text.decode() for text in graph.detokenize(ids).numpy()]
    assert found == ["a <unk> dog", "a dog dog", ""]


def test_sentences_have_the_taggers_arrays():
    rows = [["A", "dog", "abcdefgh"], [], ["Über", "abcdef", "x", "日本語日本語日"]]
    preprocessor = TaggerPreprocessor(
        ["a", "über", "abcdef"], list("abcdefghÜ日"), ["X"], word_length=5
    )
    graph = TaggerGraph(preprocessor)
    found = tf.function(graph.arrays)(tf.ragged.constant(rows, dtype="string"))
    for name, array in preprocessor.arrays(rows, 4).items():
        np.testing.assert_array_equal(found[name], array, name)


def test_empty_sentences_have_arrays_of_one_pad():
    graph = TaggerGraph(TaggerPreprocessor(["a"], ["a"], ["X"], word_length=3))
    for rows, batch in (([[], []], 2), ([], 0)):
        rows = tf.ragged.constant(rows, ragged_rank=1, dtype="string")
        found = tf.function(graph.arrays)(rows)
        assert found["word_ids"].shape == (batch, 1)
        assert found["character_ids"].shape == (batch, 1, 3)
