import collections
import math

import numpy as np
import pytest

from zoo.data import agreement_sentences, opinion_sentences, reversal_pairs
from zoo.data.generated.toy_text import (
    _BAD,
    _GOOD,
    _NOUNS,
    _PLURALS,
    _VERBS,
    toy_sentences,
)

pytestmark = pytest.mark.backend_free


# === Reversal ===
@pytest.mark.parametrize("longest", [8, 5])
def test_the_target_is_the_source_in_reverse(longest):
    sources, targets = reversal_pairs(300, 0, longest)
    assert len(sources) == len(targets) == 300
    for source, target in zip(sources, targets, strict=True):
        assert target.split() == source.split()[::-1]
    assert sum(s != t for s, t in zip(sources, targets, strict=True)) > 150
    lengths = {len(source.split()) for source in sources}
    assert lengths == set(range(1, longest + 1))


def test_seeds_repeat_and_differ():
    """A recipe takes seed, seed + 1 and seed + 2."""
    assert reversal_pairs(50, seed=1) == reversal_pairs(50, seed=1)
    train, valid, test = (set(reversal_pairs(200, seed)[0]) for seed in (1, 2, 3))
    assert len(test - train) > 100 and len(test - valid) > 100


# === Agreement ===
def probability(text):
    """Of a sentence, from its words alone; fails for one that is not of the grammar."""
    words = text.split()
    nouns = [*_NOUNS, *_PLURALS.values()]
    forms = [*_VERBS, *(verb[:-1] for verb in _VERBS)]
    verb = next(i for i, word in enumerate(words) if word in forms)
    subject, found = words[:verb], 1.0
    assert subject[0] == "the" and subject[1] in nouns
    assert (words[verb] in _VERBS) == (subject[1] in _NOUNS), text
    found *= 1 / 16
    for place in range(2, verb, 3):
        near, the, noun = subject[place : place + 3]
        assert (near, the) == ("near", "the") and noun in nouns
        found *= 0.4 / 16
    found *= 0.6 / 6
    rest = words[verb + 1 :]
    assert not rest or (rest[0] == "the" and rest[1] in nouns and len(rest) == 2)
    return found * (0.5 / 16 if rest else 0.5)


def test_their_probability_is_that_of_the_choices():
    texts, total = agreement_sentences(300, seed=2)
    expected = sum(math.log(probability(text)) for text in texts)
    assert total == pytest.approx(expected, rel=1e-9)
    assert len(set(nouns := [*_NOUNS, *_PLURALS.values()])) == len(nouns) == 16
    assert agreement_sentences(300, seed=2)[0] == texts
    assert agreement_sentences(300, seed=3)[0] != texts


# === Opinions ===
def test_the_last_adjective_decides_and_words_alone_dont():
    texts, labels = opinion_sentences(2000, seed=4)
    for text, label in zip(texts, labels, strict=True):
        words = text.split()
        assert words[-1] in _GOOD + _BAD
        turned = words[-2] == "not"
        assert label == ((words[-1] in _GOOD) != turned)
    # Each word stands in both classes alike.
    for word in ("not", "but", *_GOOD, *_BAD):
        shares = [
            np.mean(
                [
                    label
                    for t, label in zip(texts, labels, strict=True)
                    if word in t.split()
                ]
            )
        ]
        assert 0.4 < shares[0] < 0.6, word
    assert opinion_sentences(2000, seed=4)[0] == texts


def test_a_bag_of_words_does_not_tell():
    """Of each set of words, both classes have a share that chance allows (five standard
    errors)."""
    bags = collections.defaultdict(list)
    for text, label in zip(*opinion_sentences(100_000, seed=5), strict=True):
        bags[tuple(sorted(text.split()))].append(label)
    for labels in bags.values():
        assert abs(np.mean(labels) - 0.5) < 2.5 / len(labels) ** 0.5


def test_sentences_can_be_left_out():
    train, _ = opinion_sentences(2000, seed=1)
    test, _ = opinion_sentences(500, seed=2, without=train)
    assert len(test) == 500 and not set(test) & set(train)


# === Tags ===
def test_the_toy_grammar_needs_both_sides():
    found = toy_sentences(300, seed=1)
    assert found == toy_sentences(300, seed=1) != toy_sentences(300, seed=2)
    tags = collections.defaultdict(set)
    for words, row in zip(found.sentences, found.tags, strict=True):
        assert 3 <= len(words) <= 9
        for t, (word, tag) in enumerate(zip(words, row, strict=True)):
            tags[word].add(tag)
            if tag in ("NOUN", "VERB"):
                noun = (t > 0 and row[t - 1] == "DET") or words[-1] == "stop"
                assert tag == ("NOUN" if noun else "VERB")
    assert tags["bab"] == {"NOUN", "VERB"} and tags["so"] == {"PUNCT"}
