"""Labels and scores of texts, also of longer ones than what is read at once."""

import numpy as np
import pytest

from tests.harness import randomize
from zoo.decoding import word_methods
from zoo.decoding.word_methods import class_logits
from zoo.models import (
    BiRNNTagger,
    BiRNNWords,
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    SentimentClassifier,
)
from zoo.text import TaggerPreprocessor, WordTokenizer


@pytest.fixture(scope="module")
def tagger():
    words, letters = ["a", "dog", "runs"], list("adgnorsu")
    preprocessor = TaggerPreprocessor(words, letters, ["X", "Y", "Z"])
    sizes = {"embedding_dim": 6, "character_dim": 3, "filters": 4, "hidden_dim": 4}
    backbone = BiRNNWords(**preprocessor.sizes(), **sizes, window=3)
    return BiRNNTagger(randomize(backbone, 2.0), preprocessor)


def test_sentences_of_any_length_are_tagged_as_each_by_itself(tagger):
    draw = np.random.default_rng(1)
    words = ["a", "dog", "runs", "sun"]
    rows = [draw.choice(words, size).tolist() for size in (600, 3, 0, 48, 49)]
    found = tagger.tag(rows)
    assert [[word for word, _ in tagged] for tagged in found] == rows
    assert found == [tagger.tag([row])[0] for row in rows]
    assert len({tag for row in found for _, tag in row}) > 1


@pytest.mark.once
def test_long_texts_are_cut_before_they_are_classified(monkeypatch):
    monkeypatch.setattr(word_methods, "LONGEST", 48)
    task = SentimentClassifier(
        randomize(RecurrentClassifier(9, hidden_dim=4, embedding_dim=3, cell="lstm"))
    )
    rows = [list(np.random.default_rng(n).integers(4, 9, 60)) for n in range(6)]
    with pytest.warns(UserWarning, match="6 of 6 texts have more than 48 words .* cut"):
        found = class_logits(task, rows)
    np.testing.assert_array_equal(found, class_logits(task, [row[:48] for row in rows]))


SIZES = {"hidden_dim": 5, "embedding_dim": 3, "initializer_range": 1.0}
TEXTS = ["good bad film", "film", "a good a bad film of good films"]


def classifier(cell):
    tokenizer = WordTokenizer(["a", "bad", "film", "good"], lowercase=True)
    backbone = RecurrentClassifier(8, ["no", "maybe", "yes"], cell=cell, **SIZES)
    preprocessor = RecurrentClassifierPreprocessor(tokenizer)
    return SentimentClassifier(randomize(backbone), preprocessor)


@pytest.mark.once
def test_details_have_probabilities_and_what_words_looked_at():
    task = classifier("lstmn")
    records = task.classify(TEXTS, return_details=True, batch_size=2)
    assert [record.label for record in records] == task.classify(TEXTS)
    for text, record in zip(TEXTS, records, strict=True):
        words = text.split()
        assert record.text == text and record.tokens == words
        assert list(record.probabilities) == ["no", "maybe", "yes"]
        assert sum(record.probabilities.values()) == pytest.approx(1, abs=1e-5)
        shares = record.probabilities
        assert record.label == max(shares, key=shares.__getitem__)
        weights = record.attention
        assert weights.shape == (len(words), len(words) + 1)
        assert weights.sum(1) == pytest.approx(np.ones(len(words)), abs=1e-5)
        assert not np.triu(weights, 1).any()  # no word looks ahead
    one = task.classify(TEXTS[0], return_details=True)
    assert one.attention == pytest.approx(records[0].attention, abs=1e-5)


@pytest.mark.once
def test_a_classification_is_drawn():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    record = classifier("lstmn").classify(TEXTS[0], return_details=True)
    figure = record.plot()
    [axes] = figure.axes
    columns = [label.get_text() for label in axes.get_xticklabels()]
    assert columns == ["(start)", "good", "bad", "film"]
    assert axes.get_title(loc="left").startswith(f"{record.label}, ")
    plain = classifier("lstm").classify(TEXTS[0], return_details=True)
    assert plain.attention is None
    with pytest.raises(ValueError, match="an LSTMN in Keras can be drawn"):
        plain.plot()


# === Scores ===
