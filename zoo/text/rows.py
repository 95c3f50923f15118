"""Rows of ids: length buckets, padding, batches of few shapes. Imports no Keras.

Each shape is compiled separately, and memory grows with the size.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from zoo.ids import PAD_ID
from zoo.strings import warn_caller

Rows = Sequence[Sequence[Any]]  # of ids or words
_BUCKETS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
LONGEST = _BUCKETS[-1]  # maximum words of a text to read at once
POSITIONS = 16 * LONGEST  # maximum words of a batch


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
    whole = -(-length // LONGEST) * LONGEST
    return next((size for size in _BUCKETS if size >= length), whole)


def pad_rows(rows: Sequence[Sequence[int]], length: int) -> np.ndarray:
    """Pads rows of ids with 0 to an int32 array `(B, length)`."""
    return pad_batch(rows, len(rows), length)


def cut_rows(rows: Sequence[Any], limit: int) -> list[Any]:
    """Cuts rows of words to `limit`, with one warning."""
    if cut := sum(len(row) > limit for row in rows):
        warn_caller(
            f"{cut} of {len(rows)} texts have more than {limit} words and were cut"
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


# === Batches ===


def by_length(rows: Rows, batch_size: int) -> Iterator[list[int]]:
    """Yields the indices of rows to read together; see `batches`."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    return batches(order, batch_size, rows)


def batches(
    order: Iterable[int], batch_size: int, *columns: Rows
) -> Iterator[list[int]]:
    """Groups indices of rows, sorted by length, into lists of at most `batch_size`.

    A batch extends into the next length buckets, so that fewer are half full, but not
    to rows whose bucket is more than twice that of its shortest ones in any column.
    Nor does it have more than `POSITIONS` words in a column, padding included, unless a
    single row is longer.
    """
    batch: list[int] = []
    low: list[int] = []
    high: list[int] = []
    for i in order:
        sizes = [bucket(len(rows[i])) for rows in columns]
        least, most = list(map(min, low, sizes)), list(map(max, high, sizes))
        far = any(b > 2 * a for a, b in zip(least, most, strict=True))
        large = max(most, default=0) << len(batch).bit_length() > POSITIONS
        if batch and (len(batch) == batch_size or far or large):
            yield batch
            batch = []
        low, high = (least, most) if batch else (sizes, sizes)
        batch.append(i)
    if batch:
        yield batch


def pad_batch(rows: Rows, batch_size: int, length: int | None = None) -> np.ndarray:
    """Pads rows of ids with 0 to an int32 array.

    Its width is `length` or the rows' bucket, its height a power of two or
    `batch_size`. Images are stacked instead, and the first of them fills the batch up.
    """
    height = max(min(1 << (len(rows) - 1).bit_length(), batch_size), len(rows))
    if height and np.ndim(rows[0]) > 1:
        return np.stack([*rows, *[rows[0]] * (height - len(rows))])
    if length is None:
        length = bucket(max(map(len, rows)))
    ids = np.zeros((height, length), "int32")
    for padded, row in zip(ids, rows, strict=False):
        padded[: len(row)] = row
    return ids
