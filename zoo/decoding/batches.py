"""Lists of ids as batches of few shapes and bounded size: each shape is compiled by
itself, and memory follows the size."""

import numpy as np

from zoo.text.preprocessor import LONGEST_BUCKET, bucket
from zoo.warn import warn_caller

LONGEST = LONGEST_BUCKET  # words of a text that are read at once
POSITIONS = 16 * LONGEST  # words of a batch that are


def by_length(rows, batch_size):
    """Places of rows that are read together: see `batches`."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    return batches(order, batch_size, rows)


def warn_of_parts(rows, longest, more=""):
    """Warns if rows have more than `longest` words and are read in parts; `more` says
    what that means. (`zoo.text.words.cut_rows` is for those that are cut.)"""
    if long := sum(len(row) > longest for row in rows):
        warn_caller(
            f"{long} of {len(rows)} texts have more than {longest} words and were read "
            f"in parts{more}"
        )


def batches(order, batch_size, *columns):
    """Cuts places of rows, sorted by length, into lists of at most `batch_size`.

    A batch goes on into the next length buckets, so that fewer are left half full, but
    not to rows whose bucket is more than twice that of its shortest ones, in any of the
    columns, which are lists of rows. Nor has it more than `POSITIONS` words in a
    column, its padding counted, but for a row that is longer by itself.
    """
    batch, least, most = [], (), ()
    for i in order:
        sizes = [bucket(len(rows[i])) for rows in columns]
        if batch:
            low = [min(pair) for pair in zip(least, sizes, strict=True)]
            high = [max(pair) for pair in zip(most, sizes, strict=True)]
            far = any(b > 2 * a for a, b in zip(low, high, strict=True))
            large = _height(len(batch) + 1) * max(high) > POSITIONS
            if len(batch) == batch_size or far or large:
                yield batch
                batch = []
        least, most = (low, high) if batch else (sizes, sizes)
        batch.append(i)
    if batch:
        yield batch


def batch_shape(rows, batch_size, length=None):
    """The shape in which rows are read: as wide as `length` or their bucket, and as
    high as a power of two or the whole batch."""
    if length is None:
        length = bucket(max(map(len, rows)))
    return max(min(_height(len(rows)), batch_size), len(rows)), length


def pad_batch(rows, batch_size, length=None):
    """Rows of ids as an int32 array of their `batch_shape`, padded with 0."""
    array = np.zeros(batch_shape(rows, batch_size, length), "int32")
    for row, ids in enumerate(rows):
        array[row, : len(ids)] = ids
    return array


def _height(rows):
    """The next power of two."""
    return 1 << (rows - 1).bit_length()
