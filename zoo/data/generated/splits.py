"""The splits of what is generated: each sentence belongs to one of them."""

import itertools
import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
SPLITS = ("train", "valid", "test")


def split_of(sentence: str) -> str:
    """Returns the split that a sentence belongs to: a tenth each is valid and test."""
    part = zlib.crc32(sentence.encode()) % 10
    return {0: "test", 1: "valid"}.get(part, "train")


def draw(stream: Callable[[str], Iterator[T]], count: int, split: str) -> list[T]:
    """Returns the first `count` of a stream, a function of the split.

    Raises:
        ValueError: for another split, or a count below 0.
    """
    if split not in SPLITS or count < 0:
        raise ValueError(
            f"count must be 0 or more and split one of {', '.join(SPLITS)}. Received: "
            f"count={count}, split={split!r}"
        )
    return list(itertools.islice(stream(split), count))
