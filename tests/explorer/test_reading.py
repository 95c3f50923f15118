"""Taggers, classifiers and language models: readings are what the tasks say."""

import json

import numpy as np
import pytest

from tests.harness import randomize, to_numpy
from tests.serving.conftest import make_language_model, make_tagger
from zoo.explorer.options import Options
from zoo.explorer.reading import Reader
from zoo.models import (
    RecurrentCausalLM,
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    RecurrentLM,
    RecurrentLMPreprocessor,
    SentimentClassifier,
)
from zoo.text import WordTokenizer

TEXT = "A dog sees a zebra ."


def make_classifier():
    tokenizer = WordTokenizer("a dog cat runs sees".split(), lowercase=True)
    backbone = RecurrentClassifier(
        9, classes=("bad", "so so", "good"), embedding_dim=5, hidden_dim=4
    )
    preprocessor = RecurrentClassifierPreprocessor(tokenizer)
    return SentimentClassifier(randomize(backbone, seed=4), preprocessor)


def read(task, kind, text, between=lambda: None):
    result = Reader(task, {"task": kind}).run(text, Options(), between)
    json.dumps(result, allow_nan=False)
    assert result["translations"] == result["steps"] == result["tree"] == []
    for reading in result["readings"]:
        shares = [x["probability"] for x in reading["candidates"]]
        assert shares == sorted(shares, reverse=True)
        assert len(shares) <= 10 and sum(shares) < 1.00001
    return result["readings"]


def test_a_tagger_says_the_tag_of_each_word():
    task = make_tagger()
    readings = read(task, "tag", "A dog runs, doesn't it?")
    assert [(x["text"], x["candidates"][0]["piece"]) for x in readings] == task.tag(
        "A dog runs, doesn't it?"
    )
    for reading in readings:
        pieces = {x["piece"] for x in reading["candidates"]}
        assert pieces == {"DET", "NOUN", "VERB", "PUNCT"}
        assert sum(x["probability"] for x in reading["candidates"]) == pytest.approx(1)
        assert reading["probability"] is reading["memory"] is None


@pytest.mark.once
def test_a_classifier_says_the_classes_of_the_text():
    task = make_classifier()
    [reading] = read(task, "classify", TEXT)
    assert reading["text"] == TEXT
    assert reading["candidates"][0]["piece"] == task.classify(TEXT)
    assert {x["piece"] for x in reading["candidates"]} == {"bad", "so so", "good"}


def test_a_language_model_says_what_it_expects_at_each_place():
    task = make_language_model()
    readings = read(task, "generate", TEXT)
    ids = task.preprocessor.encode([TEXT])[0]
    words = [task.preprocessor.tokenizer.id_to_token(i) for i in ids]
    assert words[0] == "<unk>" and words[1:3] == ["dog", "sees"]
    assert [x["text"] for x in readings] == [*words, ""]
    # The words' probabilities and the end's are those of the text.
    *words, last = readings
    end = next(x for x in last["candidates"] if x["piece"] == "</s>")
    shares = [x["probability"] for x in words] + [end["probability"]]
    assert np.log(shares).sum() == pytest.approx(task.score(TEXT), abs=1e-4)
    assert last["probability"] is None
    for place, reading in enumerate(readings):
        # The state before the first word has the rest of the weight.
        assert len(reading["memory"]) == place
        assert 0 <= sum(reading["memory"]) < 1
    assert sum(readings[3]["memory"]) > 0.1


@pytest.mark.once
def test_the_words_expected_are_those_of_the_whole_text_read_at_once():
    tokenizer = WordTokenizer("a dog cat runs sees".split(), lowercase=True)
    backbone = randomize(RecurrentLM(9, embedding_dim=5, hidden_dim=4), seed=2)
    task = RecurrentCausalLM(backbone, RecurrentLMPreprocessor(tokenizer))
    readings = read(task, "generate", TEXT)
    ids = np.array([[3, *task.preprocessor.encode([TEXT])[0]]])
    logits = to_numpy(backbone({"token_ids": ids}))[0]
    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    for row, reading in zip(shares, readings, strict=True):
        assert reading["memory"] is None
        for candidate in reading["candidates"]:
            wanted = row[candidate["id"]]
            assert candidate["probability"] == pytest.approx(wanted, abs=1e-5)
            assert candidate["piece"] == tokenizer.id_to_token(candidate["id"])


@pytest.mark.once
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_tagger, "tag"),
        (make_classifier, "classify"),
        (make_language_model, "generate"),
    ],
)
def test_a_blank_text_a_long_one_and_the_pieces(make, kind):
    task = make()
    assert read(task, kind, " \n") == []
    reader = Reader(task, {"task": kind})
    assert reader.pieces("a dog") == {"ids": [], "pieces": ["a", "dog"]}
    assert list(reader.vocabulary) == []
    readings = read(task, kind, "a dog " * 300)
    assert len(readings) == {"tag": 512, "classify": 1, "generate": 513}[kind]


@pytest.mark.once
def test_a_reading_can_be_stopped():
    calls = []

    def between():
        calls.append(len(calls))
        if len(calls) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        read(make_language_model(), "generate", TEXT, between)
    assert len(calls) == 3
