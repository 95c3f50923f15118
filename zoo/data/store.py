"""Rows of ids of different lengths in one array."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

CHUNK = 8192  # texts that are tokenised at once


class RaggedIds(Sequence):
    """Rows of ids of different lengths, one after the other in one array.

    Indexing gives a row as a 1-d array, or with a slice or an array of numbers or bools
    a `RaggedIds` of these rows; neither copies an id.

    Args:
        values: `(N,)`, the ids of all rows.
        bounds: `(R + 1,)`, where rows begin and, at last, end.
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
        self._values, self._bounds = values, bounds
        self._rows = np.arange(len(bounds) - 1) if rows is None else rows

    @classmethod
    def of(cls, rows: "Sequence[Sequence[int]]") -> "RaggedIds":
        """Returns lists of ids as `RaggedIds`; one that is such already, as it is."""
        return rows if isinstance(rows, cls) else tokenise(rows, list)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows[index]
        if np.ndim(rows):
            return type(self)(self._values, self._bounds, rows)
        return self._values[self._bounds[rows] : self._bounds[rows + 1]]

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """int32 `(R,)`, the length of each row."""
        return np.diff(self._bounds)[self._rows].astype("int32")

    def take(self, rows: Any, width: int) -> np.ndarray:
        """Returns rows as an int32 array `(len(rows), width)`, padded with 0.

        A longer row is cut.
        """
        rows = self._rows[rows][:, None]
        places = self._bounds[rows] + np.arange(width)
        if not len(self._values):
            return np.zeros(places.shape, "int32")
        ids = self._values.take(places, mode="clip")
        ids *= places < self._bounds[rows + 1]
        return ids


def tokenise(
    texts: Sequence[Any], encode: Callable[[Any], Sequence[Sequence[int]]]
) -> RaggedIds:
    """Returns the ids of texts; `encode` gives those of a list of them."""
    values, lengths = [np.zeros(0, "int32")], [np.zeros(1, "int64")]
    for start in range(0, len(texts), CHUNK):
        rows = encode(texts[start : start + CHUNK])
        lengths.append(np.fromiter(map(len, rows), "int64", len(rows)))
        ids = itertools.chain.from_iterable(rows)
        values.append(np.fromiter(ids, "int32", int(lengths[-1].sum())))
    return RaggedIds(np.concatenate(values), np.cumsum(np.concatenate(lengths)))
