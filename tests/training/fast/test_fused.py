import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import fuse

TORCH = keras.backend.backend() == "torch"


def _weights(optimizer, steps=5):
    """Weights after some updates, the clipping's and the averages' included."""
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (3,)]
    variables = [keras.Variable(rng.normal(size=s), dtype="float32") for s in shapes]
    optimizer.build(variables)
    for _ in range(steps):
        grads = [ops.convert_to_tensor(rng.normal(size=s), "float32") for s in shapes]
        optimizer.apply(grads, variables)
    return [ops.convert_to_numpy(v) for v in [*variables, *optimizer.variables]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 0.1, "beta_1": 0.5, "beta_2": 0.9},
        {"global_clipnorm": 0.5, "weight_decay": 0.01},
        {"use_ema": True, "ema_momentum": 0.9},
        {"gradient_accumulation_steps": 2},
        {"learning_rate": keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)},
    ],
)
def test_the_update_is_that_of_keras(options):
    options = {"learning_rate": 0.1, **options}
    optimizer = fuse(keras.optimizers.Adam(**options))
    assert type(optimizer).__name__ == "Adam"
    assert (type(optimizer) is not type(keras.optimizers.Adam())) == TORCH
    expected = _weights(keras.optimizers.Adam(**options))
    for wanted, got in zip(expected, _weights(optimizer), strict=True):
        # Keras takes 1 - β₂^t in float32, where it is right to 2e-5 of an update.
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(
    "optimizer",
    [
        keras.optimizers.Adam(amsgrad=True),
        keras.optimizers.AdamW(),
        keras.optimizers.SGD(),
    ],
)
def test_others_stay_as_they_are(optimizer):
    assert fuse(optimizer) is optimizer


def test_a_transposed_gradient_is_read_in_its_order():
    values = np.arange(12.0, dtype="float32").reshape(4, 3)
    weights = []
    for gradient in (values.T.copy(), ops.transpose(ops.convert_to_tensor(values))):
        optimizer = fuse(keras.optimizers.Adam(0.1, epsilon=1.0))
        variable = keras.Variable(np.zeros((3, 4)), dtype="float32")
        optimizer.apply([ops.convert_to_tensor(gradient)], [variable])
        weights.append(ops.convert_to_numpy(variable))
    np.testing.assert_array_equal(*weights)
