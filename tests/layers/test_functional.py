from importlib.metadata import version

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import (
    build_randomized,
    close,
    gradients,
    penalty_gradients,
    to_numpy,
)
from zoo.backend import bfloat16_product
from zoo.layers.functional import (
    apply_dense,
    custom_gradient,
    log_sum_exp,
    masked_softmax,
    matmul,
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


@pytest.mark.parametrize("size", [1, 16, 37])
def test_log_sum_exp_and_its_gradient(size):
    x = np.random.default_rng(0).normal(size=(2, 3, size)) * 30
    variable = keras.Variable(x.astype("float32"))
    value, (found,) = gradients([variable], lambda: ops.sum(log_sum_exp(variable)))
    total = np.exp(x).sum(-1, keepdims=True)
    assert value == pytest.approx(np.log(total).sum(), rel=1e-5)
    close(found, np.exp(x) / total)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("rows", "width"), [(1, 7), (5, 7), (5, 2)])
def test_products_of_bfloat16s_and_their_gradients(rows, width, transposed):
    rng = np.random.default_rng(0)  # small integers: nothing is rounded
    x, y, w = (rng.integers(-4, 5, s) for s in ((rows, 6), (6, width), (rows, width)))
    given = x, y.T if transposed else y
    variables = [keras.Variable(v, dtype="bfloat16") for v in given]

    def loss():
        product = matmul(*variables, transposed)
        return ops.sum(ops.multiply(product, ops.cast(w, "float32")))

    value, (d_x, d_y) = gradients(variables, loss)
    assert value == (x @ y * w).sum()
    close(d_x, w @ y.T)
    close(d_y, w.T @ x if transposed else x.T @ w)
    tried = version("jax").startswith("0.10.") and keras.backend.backend() == "jax"
    assert bool(bfloat16_product("bfloat16")) == tried


def test_a_dense_layer_in_bfloat16_gives_what_it_does():
    layer = keras.layers.Dense(3, activation="relu", dtype="mixed_bfloat16")
    x = ops.reshape(ops.arange(40, dtype="float32") / 40, (2, 4, 5))
    build_randomized(layer, x.shape)
    found, wanted = apply_dense(layer, x), layer(x)
    assert found.dtype == wanted.dtype
    close(ops.cast(found, "float32"), ops.cast(wanted, "float32"), 1e-2)


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
