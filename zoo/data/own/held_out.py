"""The choice of texts by a hash of their content, in bounded memory."""

import hashlib
from typing import Generic, TypeVar

T = TypeVar("T")
HELD_OUT, SHARE = 1000, 0.05  # texts that are held out: at most, and of the unique ones


def text_hash(text: str, seed: int) -> bytes:
    """Returns 8 bytes that look random and depend on the text and seed alone."""
    key = seed.to_bytes(8, "little", signed=True)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, key=key).digest()


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

    def offer(self, hashed: bytes, item: T) -> None:
        """Keeps an item if its hash is among the smallest."""
        if hashed < self._limit:
            self._items[hashed] = item
            if len(self._items) > 2 * self._count + 99:
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
        self._enough = round(HELD_OUT / SHARE)

    def offer(self, hashed: bytes, item: T) -> None:
        """Takes an item with its `text_hash` into account."""
        self._smallest.offer(hashed, item)
        if len(self._unique) < self._enough:
            self._unique.add(hashed)

    def smallest(self) -> list[T]:
        """Returns up to 1,000 items, a sample of all."""
        return self._smallest.items()

    def items(self) -> list[T]:
        """Returns what is held out."""
        count = max(1, round(len(self._unique) * SHARE))
        return self.smallest()[:count]
