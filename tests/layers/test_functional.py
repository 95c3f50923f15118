import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, gradients, penalty_gradients, to_numpy
from zoo.layers.functional import custom_gradient, masked_softmax


def test_masked_softmax_is_the_softmax_of_what_is_real():
    scores = np.array([[1.0, 2.0, 3.0, 50.0], [-1e4, 0.0, 1e4, 1.0]], "float32")
    mask = np.array([[True, True, True, False], [True, True, False, False]])
    weights = to_numpy(masked_softmax(scores, mask))
    e = np.exp(np.array([1.0, 2.0, 3.0]) - 3.0)
    np.testing.assert_allclose(weights[0, :3], e / e.sum(), rtol=1e-6)
    np.testing.assert_allclose(weights[1, :2], [0.0, 1.0])
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_masked_softmax_of_an_empty_row_is_zero(dtype):
    scores = ops.cast(np.full((2, 3), 6e4, "float32"), dtype)
    weights = masked_softmax(scores, np.zeros((2, 3), bool))
    assert (to_numpy(ops.cast(weights, "float32")) == 0).all()


def test_a_gradient_takes_no_second_forward_pass():
    variable, calls = keras.Variable(np.array([3.0, -2.0], "float32")), []

    @custom_gradient
    def cube(x):
        calls.append(x)
        return x**3, lambda upstream: (3 * x**2 * upstream,)

    value, (found,) = gradients([variable], lambda: ops.sum(cube(variable.value)))
    assert value == 19
    close(found, [27, 12])
    assert len(calls) == 1
    # One of a gradient does under torch, which would take x for a constant.
    x = ops.convert_to_tensor(np.array([1.0, 2.0], "float32"))
    (found,) = penalty_gradients(
        [variable], lambda x: ops.sum(cube(x * variable.value)), x
    )
    # d/dv Σ (3 x² v³)² = 54 x⁴ v⁵
    close(found, [54 * 3.0**5, 54 * 16 * (-2.0) ** 5])
