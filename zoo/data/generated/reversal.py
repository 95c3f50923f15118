"""Generated text for recipes at tiny scale: no download, learned within a minute."""

import random

_WORDS = "ba de fi go ku la me ni po ru sa te".split()


def reversal_pairs(
    count: int, seed: int = 0, shortest: int = 1, longest: int = 8
) -> tuple[list[str], list[str]]:
    """Generates sentences of invented words, and their reversals.

    Args:
        count: number of pairs.
        seed: random seed.
        shortest: minimum words of a sentence.
        longest: maximum words of a sentence.

    Returns:
        The sources and the targets.

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
