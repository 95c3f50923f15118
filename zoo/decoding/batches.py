"""Batches of ids with few shapes and a bounded size.

Each shape is compiled separately, and memory grows with the size.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from zoo.text.rows import LONGEST_BUCKET, bucket, pad_rows

Rows = Sequence[Sequence[Any]]  # of ids or words
LONGEST = LONGEST_BUCKET  # maximum words of a text to read at once
POSITIONS = 16 * LONGEST  # maximum words of a batch


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
    if is_image(rows[0]):
        return np.stack([*rows, *[rows[0]] * (height - len(rows))])
    rows = [*rows, *[()] * (height - len(rows))]
    return pad_rows(rows, length or bucket(max(map(len, rows))))


def is_image(source: Any) -> bool:
    """Whether what a model reads is an image, not a row of ids."""
    return getattr(source, "ndim", 1) > 1


def in_threads(
    workers: int, function: Callable[..., Any], items: Iterable[Any]
) -> Iterator[Any]:
    """Applies a function to items as `map` does, several at a time.

    What computes must leave Python's lock to the others meanwhile.
    """
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(function, items)
    finally:  # after an error the rest is not run
        pool.shutdown(cancel_futures=True)
