import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, gradients, penalty_gradients, to_numpy
from zoo.layers.functional import (
    custom_gradient,
    gather_rows,
    masked_softmax,
    scan,
    take_last,
)


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


def test_masked_softmax_without_mask_sums_to_one():
    weights = masked_softmax(np.random.normal(size=(2, 3, 5)).astype("float32"))
    close(ops.sum(weights, -1), np.ones((2, 3)))


def test_gather_rows():
    values = np.arange(2 * 5 * 3).reshape(2, 5, 3).astype("float32")
    index = np.array([[[0, 4], [2, 2], [1, 0], [3, 3]]] * 2, "int32")
    got = to_numpy(gather_rows(*map(ops.convert_to_tensor, (values, index))))
    for b in range(2):
        np.testing.assert_array_equal(got[b], values[b][index[b]])


def test_take_last():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2, 3, 4)).astype("float32")
    index = rng.integers(0, 4, (2, 3, 7)).astype("int32")
    got = to_numpy(take_last(*map(ops.convert_to_tensor, (values, index))))
    np.testing.assert_array_equal(got, np.take_along_axis(values, index, -1))


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_runs_the_step_in_order(reverse):
    inputs = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")

    def step(x, states):
        total = 0.5 * states[0] + x
        return total * 2, [total]

    outputs, final = scan(
        step, ops.convert_to_tensor(inputs), [ops.zeros((2, 3))], reverse
    )
    state, wanted = np.zeros((2, 3)), np.zeros((2, 5, 3))
    for t in reversed(range(5)) if reverse else range(5):
        state = 0.5 * state + inputs[:, t]
        wanted[:, t] = 2 * state
    close(outputs, wanted)
    close(final[0], state)


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
