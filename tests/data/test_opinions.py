import numpy as np

from zoo.data import opinion_sentences
from zoo.data.opinions import _BAD, _GOOD


def test_the_last_adjective_decides_and_words_alone_dont():
    texts, labels = opinion_sentences(2000, seed=4)
    for text, label in zip(texts, labels, strict=True):
        words = text.split()
        assert words[-1] in _GOOD + _BAD
        turned = words[-2] == "not"
        assert label == ((words[-1] in _GOOD) != turned)
    # Each word, and "not" with each count, stands in both classes alike.
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
