"""Classes and tags of texts that are longer than what is read at once."""

import numpy as np
import pytest

from tests.harness import randomize
from zoo.decoding import batches, labels
from zoo.decoding.labels import classify_ids, tag_words
from zoo.models import (
    BiRNNTagger,
    BiRNNWords,
    RecurrentClassifier,
    SentimentClassifier,
)
from zoo.text import TaggerPreprocessor


@pytest.fixture(scope="module")
def tagger():
    words, letters = ["a", "dog", "runs"], list("adgnorsu")
    preprocessor = TaggerPreprocessor(words, letters, ["X", "Y", "Z"])
    sizes = {"embedding_dim": 6, "character_dim": 3, "filters": 4, "hidden_dim": 4}
    backbone = BiRNNWords(**preprocessor.sizes(), **sizes, window=3)
    return BiRNNTagger(randomize(backbone, 2.0), preprocessor)


@pytest.fixture
def short(monkeypatch):
    for module in (batches, labels):
        monkeypatch.setattr(module, "LONGEST", 48)
    monkeypatch.setattr(labels, "_BESIDE", 12)


def test_long_sentences_are_read_in_parts_that_overlap(tagger, monkeypatch, request):
    draw = np.random.default_rng(1)
    rows = [
        draw.choice(["a", "dog", "runs", "sun"], size).tolist()
        for size in (100, 3, 0, 48, 49, 24)
    ]
    whole = tag_words(tagger, rows)
    assert [len(tags) for tags in whole] == [len(row) for row in rows]
    assert len({tag for row in whole for tag in row}) > 1
    request.getfixturevalue("short")
    with pytest.warns(UserWarning, match="2 of 6 texts have more than 48 words"):
        found = tag_words(tagger, rows)
    assert found == whole  # twelve words on either side are enough


@pytest.mark.once
def test_long_texts_are_cut_before_they_are_classified(short):
    task = SentimentClassifier(
        randomize(RecurrentClassifier(9, hidden_dim=4, embedding_dim=3, cell="lstm"))
    )
    rows = [list(np.random.default_rng(n).integers(4, 9, 60)) for n in range(6)]
    with pytest.warns(UserWarning, match="6 of 6 texts have more than 48 words .* cut"):
        found = classify_ids(task, rows)
    assert found.tolist() == classify_ids(task, [row[:48] for row in rows]).tolist()
