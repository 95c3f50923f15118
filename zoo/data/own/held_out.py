"""The choice of texts by a hash of their content, in bounded memory."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
HELD_OUT, SHARE = 1000, 0.05  # texts that are held out: at most, and of the unique ones
AT_ONCE = 4096


def chunks(items: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
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
    """The `count` items with the smallest hashes of all that were offered, each once.

    So the choice depends neither on their order nor on how often one comes.
    """

    def __init__(self, count: int = HELD_OUT) -> None:
        self._count = count
        self._items: dict[bytes, T] = {}
        self._limit = b"\xff" * 9  # above every hash
        self._unique: set[bytes] = set()  # no more than `held_out` needs to know

    def offer(self, hashes: Sequence[bytes], items: Sequence[T]) -> None:
        """Takes items with their `text_hashes` into account."""
        pairs = zip(hashes, items, strict=True)
        self._items.update(pair for pair in pairs if pair[0] < self._limit)
        if len(self._items) > 2 * self._count:
            self.items()
        if len(self._unique) < HELD_OUT / SHARE:
            self._unique.update(hashes)

    def items(self) -> list[T]:
        """Returns the items in the order of their hashes."""
        hashes = sorted(self._items)[: self._count]
        self._items = {hashed: self._items[hashed] for hashed in hashes}
        if len(hashes) == self._count:
            self._limit = hashes[-1]
        return list(self._items.values())

    def held_out(self) -> list[T]:
        """Returns what validation gets: a twentieth of the unique items, at least one.

        A longer or shuffled corpus keeps most of them.
        """
        return self.items()[: _share(len(self._unique))]


def _share(unique):
    return min(HELD_OUT, max(1, round(unique * SHARE)))


def choose_of_each(classes: Mapping[str, set[Any]], seed: int) -> set[str]:
    """Chooses what is held out of texts in memory, in proportion to the classes.

    Hashes choose within a class, of which at least one text stays. A text with several
    classes is of a class of its own.
    """
    hashes = dict(zip(classes, text_hashes(classes, seed), strict=True))
    groups = dict[frozenset[Any], list[str]]()
    for text in sorted(classes, key=hashes.__getitem__):
        groups.setdefault(frozenset(classes[text]), []).append(text)
    ranked = sorted(
        ((rank + 0.5) / len(group), hashes[text], text)
        for group in groups.values()
        for rank, text in enumerate(group[:-1])
    )
    return {text for _, _, text in ranked[: _share(len(classes))]}
