import collections

import numpy as np
import pytest

from zoo.data import opinion_sentences
from zoo.data.generated.opinions import _BAD, _GOOD

pytestmark = pytest.mark.backend_free


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
