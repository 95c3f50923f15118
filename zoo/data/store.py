"""Tokenised sentence pairs: as ragged arrays, in memory or in a file mapped into it."""

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from zoo.files import StrPath, atomic_write

Encode = Callable[[list[str]], Sequence[Sequence[int]]]
CHUNK = 8192  # pairs that are tokenised at once
_FORMAT = "zoo tokenised pairs 2"


class RaggedIds(Sequence):
    """Rows of ids of different lengths, one after the other in one array.

    Indexing gives a row as a 1-d array, or with a slice or an array of numbers a
    `RaggedIds` of these rows; neither copies an id, nor reads a mapped file whole.

    Args:
        values: `(N,)`, the ids of all rows.
        bounds: `(R + 1,)`, where rows begin and, at last, end; or `(R, 2)`, where each
            begins and ends.
        rows: the numbers of the rows to keep, in their order. Default: all.

    Example:
        >>> from zoo.data.store import RaggedIds
        >>> ids = RaggedIds.of([[4, 5, 6], [], [7, 8]])
        >>> len(ids), ids[2].tolist(), ids.lengths.tolist()
        (3, [7, 8], [3, 0, 2])
        >>> ids.take([2, 0], width=4).tolist()
        [[7, 8, 0, 0], [4, 5, 6, 0]]
    """

    def __init__(
        self, values: np.ndarray, bounds: np.ndarray, rows: np.ndarray | None = None
    ) -> None:
        # Not memmap's own indexing, which is slow.
        self._values, self._bounds = np.asarray(values), np.asarray(bounds)
        ragged = self._bounds.ndim == 2
        self._starts = self._bounds[:, 0] if ragged else self._bounds[:-1]
        self._ends = self._bounds[:, 1] if ragged else self._bounds[1:]
        self._rows = rows

    @classmethod
    def of(cls, rows: "Sequence[Sequence[int]]") -> "RaggedIds":
        """Returns lists of ids as `RaggedIds`; one that is such already, as it is."""
        if isinstance(rows, cls):
            return rows
        values, lengths = flatten(rows, "int32")
        return cls(values, np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self._starts if self._rows is None else self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, np.integer)):
            if not -len(self) <= index < len(self):
                raise IndexError(f"row {index} of {len(self)}")
            row = index if self._rows is None else self._rows[index]
            return self._values[self._starts[row] : self._ends[row]]
        rows = np.arange(len(self._starts)) if self._rows is None else self._rows
        return type(self)(self._values, self._bounds, rows[index])

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """int32 `(R,)`, the length of each row."""
        lengths = (self._ends - self._starts).astype("int32")
        return lengths if self._rows is None else lengths[self._rows]

    def take(self, rows: Any, width: int) -> np.ndarray:
        """Returns rows as an int32 array `(len(rows), width)`, padded with 0.

        A longer row is cut.
        """
        rows = rows if self._rows is None else self._rows[rows]
        starts, ends = self._starts[rows][:, None], self._ends[rows][:, None]
        places = starts + np.arange(width)
        if not len(self._values):
            return np.zeros(places.shape, "int32")
        ids = self._values.take(places, mode="clip")
        ids *= places < ends
        return ids.astype("int32", copy=False)


def flatten(rows: Sequence[Sequence[int]], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids of all rows as one array, and the length of each row."""
    lengths = np.fromiter(map(len, rows), "int32", len(rows))
    values = itertools.chain.from_iterable(rows)
    return np.fromiter(values, dtype, int(lengths.sum())), lengths


def tokenise(
    parts: Sequence[Iterable[tuple[str, str]]],
    encode_sources: Encode,
    encode_targets: Encode,
    *,
    key: str,
    cache: StrPath,
    weights: Sequence[int] | None = None,
    keep: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    vocabulary_size: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[RaggedIds, RaggedIds]:
    """Tokenises sentence pairs once, into a file, and maps it into memory.

    A file that an earlier call made for the same `key` is used again, if it is whole.
    Several processes may call it at once: one works, the others wait for its file.

    Args:
        parts: iterables of (source, target), such as `OwnPairs.parts`.
        encode_sources: function of a list of texts to their lists of ids.
        encode_targets: the same for targets.
        key: what the ids depend on, such as `OwnPairs.digest` and the sha256 of the
            tokenizer's model.
        cache: folder of the file.
        weights: how often each part comes. Default: once.
        keep: function of two int32 arrays, the lengths of sources and targets, to a
            bool array: which pairs to keep. Default: all.
        vocabulary_size: number of ids, if known: up to 65,536 take half the room.
        progress: function that is called now and then with the number of pairs done.

    Returns:
        The ids of the sources and those of the targets.
    """
    key = hashlib.sha256(key.encode()).hexdigest()
    about = {"format": _FORMAT, "key": key}
    path = Path(cache) / f"pairs-{key[:32]}.ids"
    found = _read(path, about)
    if found is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        dtype = "uint16" if (vocabulary_size or 1 << 17) <= 1 << 16 else "int32"
        encode = encode_sources, encode_targets
        with filelock.FileLock(path.with_suffix(".lock")):
            if _read(path, about) is None:  # no other process has made it meanwhile
                atomic_write(
                    path,
                    lambda aside: _write(aside, parts, encode, dtype, about, progress),
                )
        found = _read(path, about)
    assert found is not None
    counts, values, bounds = found
    # The rows alternate: a source, its target, the next source.
    sources = RaggedIds(values, bounds[:-1].reshape(-1, 2))
    targets = RaggedIds(values, bounds[1:].reshape(-1, 2))
    rows = _chosen_rows(
        counts, weights, keep and keep(sources.lengths, targets.lengths)
    )
    return (sources, targets) if rows is None else (sources[rows], targets[rows])


def _chosen_rows(counts, weights, kept):
    """The numbers of the rows that are kept, as often as they come; None for all."""
    weights = weights or [1] * len(counts)
    if (kept is None or kept.all()) and set(weights) <= {1}:
        return None
    ends = np.cumsum(counts)
    rows = [
        np.tile(np.arange(end - count, end, dtype="int32"), weight)
        for end, count, weight in zip(ends, counts, weights, strict=True)
    ]
    chosen = np.concatenate(rows)
    return chosen if kept is None else chosen[kept[chosen]]


# === The file: the ids, the bounds of their rows, and JSON on both with its length ===
def _write(path, parts, encode, dtype, about, progress):
    counts, lengths = [], []
    with Path(path).open("wb") as file:
        for part in parts:
            pairs, count = iter(part), 0
            while chunk := list(itertools.islice(pairs, CHUNK)):
                sources, targets = map(list, zip(*chunk, strict=True))
                sides = encode[0](sources), encode[1](targets)
                rows = itertools.chain.from_iterable(zip(*sides, strict=True))
                ids, several = flatten(list(rows), dtype)
                ids.tofile(file)
                lengths.append(several)
                count += len(chunk)
                if progress is not None:
                    progress(sum(counts) + count)
            counts.append(count)
        file.write(bytes(-file.tell() % 8))
        total = 0
        for several in [np.zeros(1, "int32"), *lengths]:
            bounds = total + np.cumsum(several, dtype="int64")
            bounds.tofile(file)
            total = int(bounds[-1])
        about = {**about, "dtype": dtype, "ids": total, "counts": counts}
        content = json.dumps(about).encode()
        file.write(content + len(content).to_bytes(8, "little"))


def _read(path, about):
    """The counts, ids and bounds of a file; None if it is missing, foreign or cut."""
    try:
        content = np.memmap(path, "uint8", "r")
        end = len(content) - 8 - int.from_bytes(content[-8:].tobytes(), "little")
        found = json.loads(content[end:-8].tobytes())
        size = found["ids"] * np.dtype(found["dtype"]).itemsize
        values = content[:size].view(found["dtype"])
        bounds = content[size + -size % 8 : end].view("int64")
        whole = len(bounds) == 2 * sum(found["counts"]) + 1
        if {**found, **about} == found and whole and bounds[-1] == found["ids"]:
            return found["counts"], values, bounds
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return None
