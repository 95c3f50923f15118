"""Words in a graph are those that Python finds."""

import random

import pytest

from zoo.text import split_words

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
pytestmark = pytest.mark.backend_free

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
    "cafe\u0301 nai\u0308ve a\u0301\u0323b n\u0303't \u0301 \u0301a क्षत्रिय",
    "\u1100\u1161\u11a8 1\ufe0f\u20e3 #\ufe0f\u20e3 ❤\ufe0f\u200d🔥! 🇩🇪🇫🇷",
]
PARTS = (
    "a b Z n't n’t N'T 's 'll ' ’ '' . .. , : 3 50 7. .5 @ @x .de www. http:// / _"
    " - + ! !! é ½ ² Ⅷ 日 \u00a0 \u2003 \u200b \x1f \n Ⓐ ⓐ 👍 ſ K"
    " e\u0301 \u0301 \u0323 \u200d \u200c \ufe0f \u20e3 🏽 🇩 👩 ❤ हि"
).split(" ")


def odd_sentences(count):
    rng = random.Random(5)
    parts = [*PARTS, " ", " "]
    return ["".join(rng.choices(parts, k=rng.randrange(12))) for _ in range(count)]


def found(function, texts):
    rows = tf.function(function)(tf.constant(texts, "string"))
    return [[word.decode() for word in row] for row in rows.to_list()]


def test_sentences_are_cut_into_the_words_of_split_words():
    from zoo.serving.export.word_graph import sentence_words

    texts = SENTENCES + odd_sentences(3000)
    for text, words in zip(texts, found(sentence_words, texts), strict=True):
        assert words == split_words(text), repr(text)
    assert found(sentence_words, []) == []
    # Invalid bytes, and the characters that mark words.
    odd = found(sentence_words, [b"a\xff b", "\ufdd0a\ufdd1n't\ufdd2"])
    assert odd == [split_words("a\ufffd b"), split_words("\ufffda\ufffdn't\ufffd")]


def test_white_space_is_that_of_python():
    from zoo.serving.export.word_graph import white_space_words

    texts = SENTENCES + odd_sentences(300)
    assert found(white_space_words, texts) == [text.split() for text in texts]
