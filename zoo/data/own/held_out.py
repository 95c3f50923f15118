"""The choice of texts by a hash of their content, in bounded memory."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
HELD_OUT, SHARE = 1000, 0.05  # texts that are held out: at most, and of the unique ones
_AT_ONCE = 4096


def chunks(items: Iterable[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    """Yields lists of `size` items; the last may be shorter."""
    iterator = iter(items)
    return iter(lambda: list(itertools.islice(iterator, size)), [])


def text_hashes(texts: Iterable[str], seed: int) -> list[bytes]:
    """Returns 8 bytes for each text that look random and depend on it and the seed."""
    salt = seed.to_bytes(16, "little", signed=True)
    return [
        hashlib.blake2b(
            text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt
        ).digest()
        for text in texts
    ]


class Smallest(Generic[T]):
    """The items with the smallest hashes among all that were offered, each once.

    So the choice depends neither on their order nor on how often one comes.

    Args:
        count: number of items that are kept.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._items: dict[bytes, T] = {}
        self._limit = b"\xff" * 9  # above every hash

    def offer(self, hashes: Sequence[bytes], items: Sequence[T]) -> None:
        """Keeps the items whose hashes are among the smallest."""
        limit = self._limit
        for hashed, item in zip(hashes, items, strict=True):
            if hashed < limit:
                self._items[hashed] = item
        if len(self._items) > 2 * self._count:
            self.items()

    def items(self) -> list[T]:
        """Returns the items in the order of their hashes."""
        hashes = sorted(self._items)[: self._count]
        self._items = {hashed: self._items[hashed] for hashed in hashes}
        if len(hashes) == self._count:
            self._limit = hashes[-1]
        return list(self._items.values())


class Choice(Generic[T]):
    """Chooses what is held out of a corpus for validation.

    These are the unique items with the smallest hashes: a twentieth, at least one and
    at most 1,000. Seed and content decide, so that a longer or shuffled corpus keeps
    most of them.
    """

    def __init__(self) -> None:
        self._smallest: Smallest[T] = Smallest(HELD_OUT)
        self._unique: set[bytes] = set()  # no more than it takes to know the number

    def offer(self, hashes: Sequence[bytes], items: Sequence[T]) -> None:
        """Takes items with their `text_hashes` into account."""
        self._smallest.offer(hashes, items)
        if len(self._unique) < HELD_OUT / SHARE:
            self._unique.update(hashes)

    def smallest(self) -> list[T]:
        """Returns up to 1,000 items, a sample of all."""
        return self._smallest.items()

    def items(self) -> list[T]:
        """Returns what is held out."""
        count = max(1, round(len(self._unique) * SHARE))
        return self.smallest()[:count]
