"""Taggers, classifiers and language models answer from a graph as in Keras."""

import numpy as np
import pytest

from tests.serving.conftest import ask, needs_tensorflow, strings
from tests.serving.export.test_translator_graph import operations, traced
from tests.tasks import test_classifier, test_language_model
from zoo.serving.export.savedmodel import make_signatures

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
