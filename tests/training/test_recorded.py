import warnings

import keras
import numpy as np
import pytest
from keras import ops

from zoo.models import (
    Bahdanau,
    BahdanauTranslator,
    Luong,
    LuongTranslator,
    Transformer,
    TransformerTranslator,
)
from zoo.training import PairBatches, compile_for_training
from zoo.training.recorded import record_steps

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="torch alone records steps"
)

SIZES = {"vocabulary_size": 30, "num_layers": 1, "hidden_dim": 8, "dropout": 0.3}
MODELS = {
    "luong": lambda: LuongTranslator(
        Luong(**SIZES, embedding_dim=8, attention="local_p", window=2)
    ),
    "bahdanau": lambda: BahdanauTranslator(
        Bahdanau(30, embedding_dim=8, hidden_dim=8, attention_dim=8, maxout_dim=8)
    ),
    "transformer": lambda: TransformerTranslator(
        Transformer(**SIZES, num_heads=2, ff_dim=16)
    ),
}


def pairs(seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 8, 16)
    rows = [rng.integers(4, 30, length).tolist() for length in lengths]
    targets = [row[::-1] for row in rows]
    return PairBatches(rows, targets, batch_size=8, seed=1, buckets=[(7, 8)])


def train(make, after, epochs=3):
    """Returns the losses, the weights and the next random number."""
    import torch

    keras.utils.set_random_seed(1)
    model = compile_for_training(make(), keras.optimizers.Adam(0.01), smoothing=0.1)
    record_steps(model, after)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = model.fit(pairs(), epochs=epochs, shuffle=False, verbose=0)
    weights = [ops.convert_to_numpy(weight) for weight in model.weights]
    weights += [ops.convert_to_numpy(weight) for weight in model.optimizer.variables]
    return model, found.history["loss"], weights, float(torch.rand(()))


@pytest.mark.parametrize(
    "name",
    ["luong", pytest.param("bahdanau", marks=pytest.mark.long), "transformer"],
)
def test_recorded_steps_are_keras_own_to_the_last_bit(name):
    _, losses, weights, drawn = train(MODELS[name], after=float("inf"))
    model, *found = train(MODELS[name], after=0.0)
    assert model.train_step.programs  # they were recorded
    assert found[0] == losses and found[2] == drawn
    for wanted, got in zip(weights, found[1], strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_each_shape_is_recorded_in_its_time():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    record_steps(model)
    steps = model.train_step
    x, y = np.ones((12, 3), "float32"), np.ones((12, 1), "float32")
    model.fit(x, y, batch_size=8, epochs=2, verbose=0)  # of 8 rows, and of 4
    assert not steps.programs and len(steps.seconds) == 2
    first = next(iter(steps.seconds))
    steps.seconds[first] = 1e9  # the default is some 20
    model.fit(x, y, batch_size=8, verbose=0)
    assert list(steps.programs) == [first]


class Reading(keras.layers.Layer):
    """A layer that reads a value, which no record can repeat."""

    def call(self, x):
        return x * (1.0 if float(ops.max(x)) > 100 else 2.0)


class Counting(keras.layers.Layer):
    """A layer that changes a variable at each step."""

    def build(self, input_shape):
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.count.assign_add(1.0)
        return x * self.count


@pytest.mark.parametrize(
    ("layer", "said"),
    [(Reading, "_local_scalar_dense"), (Counting, "variables that are not trained")],
)
def test_what_cannot_be_recorded_is_trained_by_plain_steps(layer, said):
    x, y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")

    def train(after):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), layer(), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        record_steps(model, after)
        return model.fit(x, y, epochs=3, verbose=0).history["loss"]

    wanted = train(float("inf"))
    with pytest.warns(UserWarning, match=f"are not recorded.*{said}") as found:
        assert train(0.0) == wanted
    assert len([one for one in found if one.category is UserWarning]) == 1
