import numpy as np
import pytest

from tools.presets import alignments
from zoo.decoding import Translation

pytestmark = pytest.mark.backend_free

ENGLISH = ["dog", "cat", "runs", "sleeps", "red", "old", "house", "tree"]
GERMAN = ["hund", "katze", "rennt", "schläft", "rot", "alt", "haus", "baum"]


@pytest.fixture(scope="module")
def pairs():
    """A language whose words are put in the other order, with an article before each
    that has two forms."""
    rng, found = np.random.default_rng(4), []
    for _ in range(200):
        chosen = rng.permutation(8)[:3]
        source = [word for i in chosen for word in ("the", ENGLISH[i])]
        target = [w for i in chosen[::-1] for w in (("der", "das")[i % 2], GERMAN[i])]
        found.append((source, target))
    return found


def test_the_dictionary_has_the_pairs_that_text_was_made_of(pairs):
    right = set(zip(ENGLISH, GERMAN, strict=True))
    assert alignments.dictionary(pairs, most_frequent=1) == right
    # Rare words are not believed.
    assert alignments.dictionary(pairs[:20], most_frequent=1) < right


def test_probabilities_are_those_of_model_1(monkeypatch):
    """The example that textbooks have: two rounds by hand."""
    text = [
        (["the", "house"], ["das", "haus"]),
        (["the", "book"], ["das", "buch"]),
        (["a", "book"], ["ein", "buch"]),
    ]
    monkeypatch.setattr(alignments, "ROUNDS", 2)
    found = alignments.translation_table(text)
    assert found["the", "das"] == pytest.approx(0.6364, abs=1e-4)
    assert found["house", "haus"] == pytest.approx(0.5714, abs=1e-4)
    assert found["book", "buch"] == pytest.approx(0.6364, abs=1e-4)


def record(target, source, peaks):
    weights = np.full((len(target), len(source)), 0.01)
    weights[np.arange(len(target)), peaks] = 0.9
    return Translation(" ".join(target), 0.0, target, source, weights)


def test_peaks_are_compared_with_the_dictionary():
    known = set(zip(ENGLISH, GERMAN, strict=True))
    records = [
        record(["Hund", "rennt", "."], ["The", "dog", "runs"], [1, 1, 0]),
        record(["Katze", "alt"], ["old", "cat"], [1, 1]),
        # Twice in the source, or not at all: it doesn't count.
        record(["Hund", "Baum"], ["dog", "dog"], [0, 0]),
    ]
    found = alignments.score(records, known)
    assert found == {"words": 4, "right": 0.5, "one left": 0.25, "one right": 0.25}
    assert np.isnan(alignments.score([], known)["right"])


def test_words_are_cut_as_pieces_are_merged():
    assert alignments.words("A dog, an old-time House.") == [
        *["a", "dog", ",", "an", "old-time", "house", "."]
    ]
