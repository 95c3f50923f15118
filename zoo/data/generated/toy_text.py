"""Generated text for recipes at tiny scale: no download, learned within a minute."""

import math
import random
from collections.abc import Iterable, Sequence

import numpy as np

from zoo.data.text_sets import Tagged

_WORDS = "ba de fi go ku la me ni po ru sa te".split()


def reversal_pairs(
    count: int, seed: int = 0, longest: int = 8
) -> tuple[list[str], list[str]]:
    """Generates sentences of invented words, and their reversals.

    Args:
        count: number of pairs.
        seed: random seed.
        longest: maximum words of a sentence.

    Returns:
        The sources and the targets.

    Example:
        >>> sources, targets = reversal_pairs(2, seed=1)
        >>> sources[0].split() == targets[0].split()[::-1]
        True
    """
    rng = random.Random(seed)
    sentences = [rng.choices(_WORDS, k=rng.randint(1, longest)) for _ in range(count)]
    return [" ".join(s) for s in sentences], [" ".join(s[::-1]) for s in sentences]


# === Agreement ===
_NOUNS = "dog cat horse bird fox goat cow mouse".split()
_PLURALS = dict(
    zip(_NOUNS, "dogs cats horses birds foxes goats cows mice".split(), strict=True)
)
_VERBS = "sees hears likes follows finds chases".split()
_NEAR, _OBJECT = 0.4, 0.5


def agreement_sentences(count: int, seed: int = 0) -> tuple[list[str], float]:
    """Generates sentences whose verb agrees with a possibly distant subject.

    After the subject come, each with probability 0.4, further nouns of either number
    ("near the foxes"), then the verb in the subject's number, and in half of the
    sentences an object. The grammar is unambiguous, so a sentence's probability is that
    of the choices that made it; no model can do better on average.

    Args:
        count: number of sentences.
        seed: random seed.

    Returns:
        The sentences, and the natural logarithm of their joint probability, ends of
        sentences included.

    Example:
        >>> texts, total = agreement_sentences(2, seed=3)
        >>> len(texts), total < 0
        (2, True)
    """
    rng, total, texts = random.Random(seed), 0.0, []
    choices = math.log(2 * len(_NOUNS))
    for _ in range(count):
        plural = rng.random() < 0.5
        words = ["the", _noun(rng, plural)]
        total -= choices
        while rng.random() < _NEAR:
            words += ["near", "the", _noun(rng, rng.random() < 0.5)]
            total += math.log(_NEAR) - choices
        verb = rng.choice(_VERBS)
        words.append(verb.removesuffix("s") if plural else verb)
        total += math.log(1 - _NEAR) - math.log(len(_VERBS))
        if rng.random() < _OBJECT:
            words += ["the", _noun(rng, rng.random() < 0.5)]
            total += math.log(_OBJECT) - choices
        else:
            total += math.log(1 - _OBJECT)
        texts.append(" ".join(words))
    return texts, total


def _noun(rng, plural):
    noun = rng.choice(_NOUNS)
    return _PLURALS[noun] if plural else noun


# === Opinions ===
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
        if text not in without:
            texts.append(text)
            labels.append(int(good != turned))
    return texts, labels


# === Tags ===
def toy_sentences(count: int, seed: int | Sequence[int]) -> Tagged:
    """Generates sentences whose tags depend on both earlier and later words.

    A word of the toy grammar is `d…` (always DET), `s…` (always PUNCT), or one of 20
    ambiguous ones: a NOUN if the word before it is a DET or the last word of the
    sentence is "stop", otherwise a VERB. Neither direction alone is sufficient.

    Args:
        count: number of sentences.
        seed: one or more integers.

    Returns:
        Sentences of 3 to 9 words.
    """
    rng = np.random.default_rng(seed)
    open_words = [a + b for a in "bklmn" for b in ("ab", "eb", "ib", "ob")]
    tagged = Tagged([], [])
    for _ in range(count):
        end = "stop" if rng.random() < 0.5 else "so"
        words: list[str] = []
        tags: list[str] = []
        for _ in range(rng.integers(2, 9)):
            before = tags[-1] if tags else None
            if rng.random() < 0.3 and before != "DET":
                words.append(f"d{rng.choice(list('aeiou'))}")
                tags.append("DET")
                continue
            noun = before == "DET" or end == "stop"
            words.append(str(rng.choice(open_words)))
            tags.append("NOUN" if noun else "VERB")
        tagged.sentences.append([*words, end])
        tagged.tags.append([*tags, "PUNCT"])
    return tagged
