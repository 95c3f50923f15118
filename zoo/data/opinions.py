"""Opinions in a few words, whose order decides on what they say."""

import random

_GOOD = "good great lovely funny clever moving".split()
_BAD = "bad awful dull boring silly flat".split()
_THINGS = "film story cast plot ending music title score hero scene joke book".split()


def opinion_sentences(count, seed=0, without=()):
    """Sentences with a negation that counts for one of two adjectives.

    One says that something "is A but B" or "is B but A", with a good and a bad word;
    the part behind "but" decides. Before either of the words there may be "not", which
    turns it round. So a sentence is positive if its last adjective is good and not
    negated or bad and negated; which words it is made of doesn't tell.

    Args:
        count: how many sentences.
        seed: seed of the choice.
        without: sentences that must not be among them (there are 3,456).

    Returns:
        `(texts, labels)`: lists of str and of int, 0 for negative, 1 for positive.

    Example:
        >>> texts, labels = opinion_sentences(4, seed=1)
        >>> len(texts), set(labels) <= {0, 1}
        (4, True)
    """
    rng, texts, labels = random.Random(seed), [], []
    without = set(without)
    while len(texts) < count:
        good = rng.random() < 0.5  # whether the last adjective is
        first, last = (_BAD, _GOOD) if good else (_GOOD, _BAD)
        turned = rng.random() < 0.5
        words = ["the", rng.choice(_THINGS), "is"]
        words += ["not"] * (rng.random() < 0.5) + [rng.choice(first), "but"]
        words += ["not"] * turned + [rng.choice(last)]
        text = " ".join(words)
        if text in without:
            continue
        texts.append(text)
        labels.append(int(good != turned))
    return texts, labels
