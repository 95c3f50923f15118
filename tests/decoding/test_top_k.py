import numpy as np
import pytest
from keras import ops

from tests.harness import compiled
from tests.marks import once
from zoo.decoding.top_k import top_k

FLOOR = -100.0


@pytest.mark.parametrize("k", [1, 4, 33])
@pytest.mark.parametrize("kinds", [1, once(3), once(20), 1000])
def test_the_first_of_equals_comes_first(k, kinds):
    values = np.random.default_rng(k).integers(kinds, size=(2, 7, 33)) - 2.0
    values = values.astype("float32")
    values[0, :3, ::2] = -np.inf
    values[1, :2] = FLOOR
    found, indices = compiled(lambda x: top_k(x, k))(ops.convert_to_tensor(values))
    found, indices = ops.convert_to_numpy(found), ops.convert_to_numpy(indices)
    order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    wanted = np.take_along_axis(values, order, axis=-1)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.take_along_axis(values, indices, -1), wanted)
    settled = wanted > FLOOR
    np.testing.assert_array_equal(indices[settled], order[settled])


@pytest.mark.parametrize("rows", [3, once(30)])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("kinds", [once(1), 40, 10**6])
def test_the_first_of_equals_of_a_vocabulary(rows, k, kinds):
    """It is read in blocks (under torch, of many rows); 2,003 is a multiple of none."""
    rng = np.random.default_rng(k)
    values = rng.integers(kinds, size=(2, rows, 2003)).astype("float32")
    values[1, 0, -1] = values[1, 1, 1999] = 2.0 * kinds  # in what is left over
    values[1, 2] = np.sort(values[1, 2])
    found, indices = compiled(lambda x: top_k(x, k))(ops.convert_to_tensor(values))
    order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(ops.convert_to_numpy(indices), order)
    wanted = np.take_along_axis(values, order, axis=-1)
    np.testing.assert_array_equal(ops.convert_to_numpy(found), wanted)


def test_no_index_comes_twice():
    values = np.full((1, 5), -np.inf, "float32")
    values[0, 3] = 1.0
    _, indices = top_k(ops.convert_to_tensor(values), 3)
    indices = ops.convert_to_numpy(indices)[0].tolist()
    assert indices[0] == 3 and len(set(indices)) == 3
