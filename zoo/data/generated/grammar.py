"""Sentences of a small probabilistic grammar with known entropy."""

import math
import random

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
