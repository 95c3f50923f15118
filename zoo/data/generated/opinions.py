"""Short opinions in which word order decides the sentiment."""

import random
from collections.abc import Iterable

_GOOD = "good great lovely funny clever moving".split()
_BAD = "bad awful dull boring silly flat".split()
_THINGS = "film story cast plot ending music title score hero scene joke book".split()


def opinion_sentences(
    count: int, seed: int = 0, without: Iterable[str] = ()
) -> tuple[list[str], list[int]]:
    """Generates sentences whose sentiment depends on the scope of a negation.

    A sentence says that something "is A but B", with one good and one bad adjective;
    the part after "but" decides. Either adjective may be negated by "not". So a
    sentence is positive if its last adjective is good and not negated, or bad and
    negated; its bag of words does not tell.

    Args:
        count: number of sentences.
        seed: random seed.
        without: sentences to leave out (there are 3,456 in all).

    Returns:
        The sentences and their labels, 0 for negative and 1 for positive.

    Example:
        >>> texts, labels = opinion_sentences(4, seed=1)
        >>> len(texts), set(labels) <= {0, 1}
        (4, True)
    """
    rng = random.Random(seed)
    texts: list[str] = []
    labels: list[int] = []
    without = set(without)
    while len(texts) < count:
        good = rng.random() < 0.5  # the last adjective
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
