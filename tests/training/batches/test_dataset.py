import keras
import numpy as np
import pytest

from zoo.training import PairBatches
from zoo.training.batches.dataset import as_dataset

under_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="others read the batches themselves"
)


@pytest.fixture
def batches():
    """Of two shapes, whose order depends on the epoch."""
    rows = [[n] * (1 + n % 3) for n in range(4, 24)]
    return PairBatches(rows, rows[::-1], batch_size=2, seed=1, buckets=[(1, 4), (3, 4)])


def read(data):
    """The batches' arrays, one list each."""
    return [[np.asarray(x).tolist() for x in keras.tree.flatten(one)] for one in data]


def wanted(batches):
    return read(batches[index] for index in range(len(batches)))


@under_tensorflow
def test_it_gives_the_batches_in_their_order(batches):
    found = read(as_dataset(batches))
    assert found == wanted(batches)
    assert len({len(one[0][0]) for one in found}) == 2


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"use_multiprocessing": True}])
def test_tensorflow_has_a_dataset_unless_batches_have_workers(options):
    own = PairBatches([[4]], [[5]], batch_size=1, **options)
    others = keras.backend.backend() != "tensorflow"
    assert (as_dataset(own) is own) == (others or bool(options))


@under_tensorflow
def test_an_epoch_is_read_when_it_begins(batches):
    data, first = as_dataset(batches), wanted(batches)
    iterator = iter(data)
    batches.set_epoch(1)
    second = wanted(batches)
    assert second != first
    assert read(iterator) == second
    batches.set_epoch(0)
    assert read(data) == first


@under_tensorflow
def test_the_rest_of_an_epoch(batches):
    whole = wanted(batches)
    data = as_dataset(batches, len(whole) - 3)
    batches.set_epoch(0, 3)
    assert int(data.cardinality()) == len(whole) - 3
    assert read(data) == whole[3:]
    assert data.options().autotune.enabled is False
