"""Generated text for recipes at tiny scale: no download, learned in a minute."""

import random

_WORDS = "ba de fi go ku la me ni po ru sa te".split()


def reversal_pairs(count, seed=0, shortest=1, longest=8):
    """Sentences of invented words and the same words in reverse order.

    Args:
        count: how many pairs.
        seed: seed of the choice.
        shortest, longest: words of a sentence.

    Returns:
        `(sources, targets)`: two lists of str.

    Example:
        >>> sources, targets = reversal_pairs(2, seed=1)
        >>> sources[0].split() == targets[0].split()[::-1]
        True
    """
    rng = random.Random(seed)
    sentences = [
        rng.choices(_WORDS, k=rng.randint(shortest, longest)) for _ in range(count)
    ]
    return [" ".join(s) for s in sentences], [" ".join(s[::-1]) for s in sentences]
