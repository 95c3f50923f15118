"""Lists of ids as batches of few shapes: each shape is compiled by itself."""

import numpy as np

from zoo.text.preprocessor import bucket


def batches(order, batch_size, *columns):
    """Cuts places of rows, sorted by length, into lists of at most `batch_size`.

    A batch goes on into the next length buckets, so that fewer are left half full, but
    not to rows whose bucket is more than twice that of its shortest ones, in any of the
    columns, which are lists of rows.
    """
    batch, least, most = [], (), ()
    for i in order:
        sizes = [bucket(len(rows[i])) for rows in columns]
        if batch:
            low = [min(pair) for pair in zip(least, sizes, strict=True)]
            high = [max(pair) for pair in zip(most, sizes, strict=True)]
            far = any(b > 2 * a for a, b in zip(low, high, strict=True))
            if len(batch) == batch_size or far:
                yield batch
                batch = []
        least, most = (low, high) if batch else (sizes, sizes)
        batch.append(i)
    if batch:
        yield batch


def pad_batch(rows, batch_size, length=None):
    """Rows as an int32 array, padded with 0: as wide as `length` or their bucket, and
    as high as a power of two or the whole batch."""
    if length is None:
        length = bucket(max(len(row) for row in rows))
    height = 1
    while height < len(rows):
        height *= 2
    array = np.zeros((max(min(height, batch_size), len(rows)), length), "int32")
    for row, ids in enumerate(rows):
        array[row, : len(ids)] = ids
    return array
