import numpy as np
import pytest

from zoo.text.rows import batches, bucket, pad_batch

pytestmark = pytest.mark.backend_free


def rows(*lengths):
    return [[1] * length for length in lengths]


def cut(lengths, size, *more):
    columns = [rows(*column) for column in (lengths, *more)]
    return list(batches(range(len(lengths)), size, *columns))


@pytest.mark.parametrize(
    "lengths, expected",
    [
        ([8, 16], [[0, 1]]),  # twice as long
        ([8, 17], [[0], [1]]),  # three times
        ([8, 16, 24], [[0, 1], [2]]),  # the shortest of the batch counts
        ([30, 40, 60], [[0, 1, 2]]),
        ([512, 1024, 1025], [[0, 1], [2]]),  # behind the last bucket
        ([1000, 2049], [[0], [1]]),
        ([], []),
    ],
)
def test_little_padding(lengths, expected):
    assert cut(lengths, 64) == expected


def test_every_column_counts():
    assert cut([5, 6, 12], 64, [20, 3, 3]) == [[0], [1, 2]]
    assert cut([5, 6, 12], 64, [10, 3, 3]) == [[0, 1, 2]]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_each_row_once_in_order(size):
    lengths = sorted(np.random.default_rng(1).integers(1, 200, 300).tolist())
    found = cut(lengths, size)
    assert [i for batch in found for i in batch] == list(range(300))
    assert max(map(len, found)) <= size
    for batch in found:
        assert bucket(lengths[batch[-1]]) <= 2 * bucket(lengths[batch[0]])


def test_pad_batch():
    array = pad_batch([[1, 2], [3], [4] * 9], 64)
    assert array.shape == (4, 16) and array.dtype == "int32"
    assert array[:2, :3].tolist() == [[1, 2, 0], [3, 0, 0]]
    assert not array[3].any()
    assert pad_batch([[1]] * 5, 6).shape == (6, 8)
    assert pad_batch([[1]], 64, 3).tolist() == [[1, 0, 0]]
