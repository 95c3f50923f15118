"""Rows of ids: length buckets, padding. Imports no Keras."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.ids import PAD_ID
from zoo.warn import warn_caller

_BUCKETS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
LONGEST_BUCKET = _BUCKETS[-1]


def python_ids(ids: Any) -> Any:
    """Returns ids as (nested) lists of Python ints."""
    if isinstance(ids, (list, tuple)):
        return [python_ids(part) for part in ids]
    if hasattr(ids, "numpy") and not hasattr(ids, "tolist"):  # TensorFlow's
        ids = ids.numpy()
    return ids.tolist() if hasattr(ids, "tolist") else ids


def bucket(length: int) -> int:
    """Returns the length that rows of this length are padded to.

    Buckets keep the number of shapes small. Beyond the last one, multiples of it serve.
    """
    whole = -(-length // LONGEST_BUCKET) * LONGEST_BUCKET
    return next((size for size in _BUCKETS if size >= length), whole)


def pad_rows(rows: Sequence[Sequence[int]], length: int) -> np.ndarray:
    """Pads rows of ids with 0 to an int32 array `(B, length)`."""
    ids = np.zeros((len(rows), length), "int32")
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids


def cut_rows(rows: Sequence[Any], limit: int, unit: str = "words") -> list[Any]:
    """Cuts rows of words or other units to `limit`, with one warning."""
    if cut := sum(len(row) > limit for row in rows):
        warn_caller(
            f"{cut} of {len(rows)} texts have more than {limit} {unit} and were cut"
        )
    return [row[:limit] for row in rows]


def framed(
    rows: Sequence[Sequence[int]], start: int, end: int, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns a decoder's inputs, labels and their weights, `(B, length)` each.

    Inputs begin with `start`, labels end with `end`; weights are 1 where labels are.
    """
    inputs = pad_rows([[start, *row] for row in rows], length)
    labels = pad_rows([[*row, end] for row in rows], length)
    return inputs, labels, (labels != PAD_ID).astype("float32")
