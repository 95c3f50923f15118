import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import compiled
from tests.marks import once
from zoo.decoding.ties import any_top_k, top_k

FLOOR = -100.0


@pytest.mark.parametrize("k", [1, 4, 33])
@pytest.mark.parametrize("kinds", [1, once(3), once(20), 1000])
def test_the_first_of_equals_comes_first(k, kinds):
    values = np.random.default_rng(k).integers(kinds, size=(2, 7, 33)) - 2.0
    values = values.astype("float32")
    values[0, :3, ::2] = -np.inf
    values[1, :2] = FLOOR
    found, indices = compiled(lambda x: top_k(x, k, FLOOR))(
        ops.convert_to_tensor(values)
    )
    found, indices = ops.convert_to_numpy(found), ops.convert_to_numpy(indices)
    order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    wanted = np.take_along_axis(values, order, axis=-1)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.take_along_axis(values, indices, -1), wanted)
    settled = wanted > FLOOR
    np.testing.assert_array_equal(indices[settled], order[settled])


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("kinds", [once(1), 40, 10**6])
def test_the_first_of_equals_of_a_vocabulary(k, kinds):
    """It is read in blocks, and 2,003 is a multiple of none."""
    rng = np.random.default_rng(k)
    values = rng.integers(kinds, size=(2, 3, 2003)).astype("float32")
    values[1, 0, -1] = values[1, 1, 1999] = 2.0 * kinds  # in what is left over
    values[1, 2] = np.sort(values[1, 2])
    found, indices = compiled(lambda x: top_k(x, k, FLOOR))(
        ops.convert_to_tensor(values)
    )
    order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(ops.convert_to_numpy(indices), order)
    wanted = np.take_along_axis(values, order, axis=-1)
    np.testing.assert_array_equal(ops.convert_to_numpy(found), wanted)


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="of torch alone")
@pytest.mark.parametrize("size", [65, 2000, 2003])
@pytest.mark.parametrize("k", [1, 5])
def test_ties_are_noticed(k, size):
    values = np.random.default_rng(k).permutation(6 * size).astype("float32")
    values = values.reshape(2, 3, size)
    values[0, 1, -1] = 6 * size  # in what is left over after whole rows
    order = np.argsort(-values, axis=-1)
    found, indices, tied = any_top_k(ops.convert_to_tensor(values), k, FLOOR)
    np.testing.assert_array_equal(indices, order[..., :k])
    np.testing.assert_array_equal(found, np.sort(values)[..., : -k - 1 : -1])
    assert not tied
    *found, tied = any_top_k(ops.convert_to_tensor(values[1]), k, FLOOR)  # (B, n)
    np.testing.assert_array_equal(found[1], order[1, :, :k])
    # The last that is wanted has an equal, far from it and beside it.
    row, last = values[1, 2], order[1, 2, k - 1]
    for other in (order[1, 2, -1], (last + 1) % size):
        if other not in order[1, 2, :k]:
            kept, row[other] = row[other], row[last]
            *_, tied = any_top_k(ops.convert_to_tensor(values), k, FLOOR)
            assert tied
            row[other] = kept


def test_no_index_comes_twice():
    values = np.full((1, 5), -np.inf, "float32")
    values[0, 3] = 1.0
    _, indices = top_k(ops.convert_to_tensor(values), 3, FLOOR)
    indices = ops.convert_to_numpy(indices)[0].tolist()
    assert indices[0] == 3 and len(set(indices)) == 3
