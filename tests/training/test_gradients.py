import keras
import numpy as np
import pytest
from keras import ops

from zoo.training.gradients import gradient_norm


@pytest.fixture
def model():
    model = keras.Sequential(
        [keras.Input((5,)), keras.layers.Dropout(0.5), keras.layers.Dense(3)]
    )
    model.compile("adam", "mse")
    return model


@pytest.fixture
def batch():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(7, 5)), rng.normal(size=(7, 3))
    return x.astype("float32"), y.astype("float32"), np.ones(7, "float32")


def test_it_is_the_norm_of_the_loss_by_all_weights(model, batch):
    x, y, _ = batch
    kernel, bias = (ops.convert_to_numpy(v) for v in model.trainable_variables)
    error = 2 * (x @ kernel + bias - y) / y.size  # of the mean square
    expected = np.sqrt((error.sum(0) ** 2).sum() + ((x.T @ error) ** 2).sum())
    assert gradient_norm(model, batch) == pytest.approx(expected, rel=1e-5)


def test_nothing_of_the_model_changes(model, batch):
    before = [ops.convert_to_numpy(v) for v in model.variables]
    assert gradient_norm(model, batch) == gradient_norm(model, batch)
    for old, new in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, ops.convert_to_numpy(new))


def test_an_embedding_whose_rows_come_twice():
    """TensorFlow gives its gradient as slices, one for each occurrence."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Embedding(4, 1)])
    model.compile("adam", "mse")
    model.set_weights([np.zeros((4, 1))])
    batch = np.array([[1, 1]]), np.array([[[1.0], [1.0]]]), None
    assert gradient_norm(model, batch) == pytest.approx(2.0)  # -1 - 1, not √2


@pytest.mark.parametrize(("scale", "finite"), [(1e25, True), (np.nan, False)])
def test_the_square_of_a_finite_norm_may_not_be(model, batch, scale, finite):
    x, y, weights = batch
    found = gradient_norm(model, (x, np.float32(scale) * y, weights))
    assert np.isfinite(found) == finite
    assert not finite or found > 1e23
