"""Taggers, classifiers and language models answer from a graph as in Keras."""

import random

import numpy as np
import pytest

from tests.serving.conftest import ask, needs_tensorflow, strings
from tests.serving.export.test_search_signatures import operations, traced
from tests.tasks import test_classifier, test_language_model
from zoo.serving.export.savedmodel import make_signatures
from zoo.text import split_words

pytest.importorskip("tensorflow_text")
from zoo.serving.export import word_signatures  # noqa: E402

pytestmark = [
    needs_tensorflow,
    pytest.mark.filterwarnings("ignore:.*were (cut|read in parts)"),
]
TEXTS = [
    "a dog runs",
    "",
    " \n\u3000",
    "the <unk>\u00a0cat </s> <pad>\u2003runs",
    "A DOG ÜBER",
    "sees " * 20,
    "日本語 \0 👍 cafe\u0301",
    "cat a dog sees " * 150,
]


def test_a_language_model_goes_on_and_scores_as_the_model_does(tasks, signatures):
    task, found = tasks["language_model"], signatures["language_model"]
    assert strings(ask(found["generate"], TEXTS)["text"]) == task.generate(TEXTS)
    scores = ask(found["score"], TEXTS)["log_probability"]
    np.testing.assert_allclose(scores, task.score(TEXTS), rtol=1e-5)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_other_cells_and_limits(cell):
    import tensorflow as tf

    task = test_language_model.task_of(cell)
    task.preprocessor.tokenizer.lowercase = True
    functions = make_signatures(task, max_length=4)
    function = traced(functions, "generate")
    found = strings(ask(function, TEXTS)["text"])
    assert found == task.generate(TEXTS, max_length=4)
    score = traced(functions, "score")
    found = ask(score, TEXTS)["log_probability"]
    np.testing.assert_allclose(found, task.score(TEXTS), rtol=1e-5)
    assert operations(function) | operations(score) <= set(dir(tf.raw_ops))


def test_words_and_tags_are_those_of_the_tagger(tasks, signatures):
    texts = [*TEXTS, "It doesn't run... see http://a.b!", f"A {'abc' * 9}"]
    found = ask(signatures["tagger"]["tag"], texts)
    rows = zip(strings(found["words"]), strings(found["tags"]), strict=True)
    pairs = [[pair for pair in zip(*row, strict=True) if pair[0]] for row in rows]
    texts[7] = " ".join(texts[7].split()[:512])  # it is cut
    assert pairs == tasks["tagger"].tag(texts)
    [words] = ask(signatures["tagger"]["tag"], [" "])["words"]
    assert words.tolist() == [b""]


@pytest.mark.parametrize("word_length", [2, 5])
def test_a_word_is_spelt_as_in_python(tasks, word_length):
    import tensorflow as tf

    task = tasks["tagger"]
    words = ["", "A", "dog", "runs", "Adogruns.", "ungodsAr", "日本語"]
    config = {**task.preprocessor.get_vocabularies(), "word_length": word_length}
    preprocessor = type(task.preprocessor)(**config)
    other = type(task)(task.backbone, preprocessor)
    found = make_signatures(other)._spell(tf.constant([words]))
    wanted = preprocessor.arrays([words], len(words))["character_ids"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("cell", ["lstmn", "lstm"])
def test_classes_are_those_of_the_model(cell):
    import tensorflow as tf

    task = test_classifier.task_of(cell)
    function = traced(make_signatures(task), "classify")
    records = task.classify(TEXTS, return_details=True)
    found = ask(function, TEXTS)
    assert strings(found["class"]) == [record.label for record in records]
    wanted = [list(record.probabilities.values()) for record in records]
    np.testing.assert_allclose(found["probabilities"], wanted, atol=1e-5)
    assert operations(function) <= set(dir(tf.raw_ops))


# === Words of texts ===
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


def words_of(function, texts):
    import tensorflow as tf

    rows = tf.function(function)(tf.constant(texts, "string"))
    return [[word.decode() for word in row] for row in rows.to_list()]


def test_sentences_are_cut_into_the_words_of_split_words():
    sentence_words = word_signatures.sentence_words
    texts = SENTENCES + odd_sentences(3000)
    for text, words in zip(texts, words_of(sentence_words, texts), strict=True):
        assert words == split_words(text), repr(text)
    assert words_of(sentence_words, []) == []
    # Invalid bytes, and the characters that mark words.
    odd = words_of(sentence_words, [b"a\xff b", "\ufdd0a\ufdd1n't\ufdd2"])
    assert odd == [split_words("a\ufffd b"), split_words("\ufffda\ufffdn't\ufffd")]


def test_white_space_is_that_of_python():
    texts = SENTENCES + odd_sentences(300)
    found = words_of(word_signatures.white_space_words, texts)
    assert found == [text.split() for text in texts]
