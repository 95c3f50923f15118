import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import (
    EpochWeights,
    Optimizer,
    Rprop,
    WarmupLinearDecay,
    average_weights,
)
from zoo.training.fast.updates import prepare_optimizer, read_statistics
from zoo.training.fit.checkpoint import load_state, save_state

TORCH = keras.backend.backend() == "torch"
RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 3)).astype("float32")
Y = RNG.normal(size=(24, 2)).astype("float32")
START = RNG.normal(size=(3, 2)).astype("float32")


def make(optimizer):
    """A linear model without a bias, whose gradient NumPy can tell."""
    layer = keras.layers.Dense(2, use_bias=False)
    model = keras.Sequential([keras.Input((3,)), layer])
    layer.kernel.assign(START)
    model.compile(prepare_optimizer(optimizer), "mse", jit_compile=not TORCH)
    model.optimizer.build(model.trainable_variables)
    return model


def fit(model, batch_size, epochs=1, callbacks=(), first=0):
    options = {"epochs": epochs, "initial_epoch": first, "callbacks": list(callbacks)}
    model.fit(X, Y, batch_size=batch_size, shuffle=False, verbose=0, **options)


def weights(model):
    return np.array(ops.convert_to_numpy(model.trainable_variables[0]))


def descend(batch_size, rate, clip=None):
    """Plain gradient descent over the data once: the weights and the norms by step."""
    W, path, norms = START.astype("float64"), [], []
    for step, first in enumerate(range(0, len(X), batch_size)):
        x, y = (a[first : first + batch_size].astype("float64") for a in (X, Y))
        g = 2 * x.T @ (x @ W - y) / y.size
        norms.append(np.linalg.norm(g))
        W = W - rate(step) * g * (min(1.0, clip / norms[-1]) if clip else 1.0)
        path.append(W)
    return path, norms


# === Statistics ===


@pytest.mark.parametrize("scaled", [False, True])
def test_the_statistics_are_those_of_the_gradients_before_clipping(scaled):
    schedule = WarmupLinearDecay(0.5, 2, 12)
    model = make(keras.optimizers.SGD(schedule, global_clipnorm=0.3))
    if scaled:
        scale = keras.optimizers.LossScaleOptimizer(model.optimizer)
        model.compile(scale, "mse", jit_compile=not TORCH)
    assert read_statistics(model.optimizer) == {}
    fit(model, batch_size=4)
    path, norms = descend(4, lambda step: float(schedule(step)), clip=0.3)
    np.testing.assert_allclose(weights(model), path[-1], rtol=1e-3)
    assert min(norms) > 0.3  # every step was clipped
    found = read_statistics(model.optimizer)
    assert found["gradient_norm"] == pytest.approx(np.mean(norms), rel=1e-3)
    assert found["gradient_norm_max"] == pytest.approx(np.max(norms), rel=1e-3)
    assert found["learning_rate"] == pytest.approx(float(schedule(5)), rel=1e-6)
    assert read_statistics(model.optimizer) == {}  # they start anew


def test_a_word_that_occurs_twice_counts_twice():
    """TensorFlow's gradient of an embedding names a row once for each occurrence."""
    embedding = keras.layers.Embedding(4, 1)
    model = keras.Sequential(
        [keras.Input((3,), dtype="int32"), embedding, keras.layers.Flatten()]
    )
    sgd = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
    model.compile(prepare_optimizer(sgd), "mse")
    embedding.embeddings.assign(np.zeros((4, 1)))
    model.fit(np.array([[1, 1, 2]]), np.array([[3.0, 3.0, 3.0]]), verbose=0)
    # The derivatives are -2 for each place: -4 for the word 1, -2 for the word 2.
    norm = np.sqrt(16 + 4)
    found = read_statistics(model.optimizer)
    assert found["gradient_norm"] == pytest.approx(norm, rel=1e-5)
    wanted = np.array([0, 4, 2, 0]) / norm  # clipped at 1
    got = ops.convert_to_numpy(embedding.embeddings)[:, 0]
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_norm_that_is_not_finite_stays_in_the_statistics():
    model = make(keras.optimizers.SGD(0.0))
    model.fit(X[:4] * np.nan, Y[:4], verbose=0)
    assert np.isnan(read_statistics(model.optimizer)["gradient_norm_max"])
    model.compile("sgd", "mse")
    fit(model, batch_size=24)
    assert read_statistics(model.optimizer) == {}  # other optimizers have none


# === Keras's own options ===


def test_a_half_accumulated_update_survives_a_checkpoint(tmp_path):
    """Three batches an epoch, two an update."""
    path = tmp_path / "checkpoint.npz"

    def adam():
        return keras.optimizers.Adam(0.1, gradient_accumulation_steps=2)

    straight, first, second = make(adam()), make(adam()), make(adam())
    fit(straight, batch_size=8, epochs=2)
    fit(first, batch_size=8)
    save_state(path, first, {})
    load_state(path, second)
    fit(second, batch_size=8, epochs=2, first=1)
    np.testing.assert_array_equal(weights(second), weights(straight))


# === Adam in one pass ===


def update_weights(optimizer, steps=5):
    """Weights after some updates, the clipping's included."""
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (3,)]
    variables = [keras.Variable(rng.normal(size=s), dtype="float32") for s in shapes]
    optimizer.build(variables)
    for _ in range(steps):
        grads = [ops.convert_to_tensor(rng.normal(size=s), "float32") for s in shapes]
        optimizer.apply(grads, variables)
    kept = [v for v in optimizer.variables if "statistics" not in v.path]
    return [ops.convert_to_numpy(v) for v in [*variables, *kept]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 0.1, "beta_1": 0.5, "beta_2": 0.9},
        {"global_clipnorm": 0.5, "weight_decay": 0.01},
        {"gradient_accumulation_steps": 2},
        {"learning_rate": keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)},
        {"amsgrad": True},
    ],
)
def test_the_update_is_that_of_keras(options):
    adam = keras.optimizers.Adam(**{"learning_rate": 0.1, **options})
    optimizer = prepare_optimizer(adam)
    assert type(optimizer).__name__ == "Adam" and isinstance(
        optimizer, keras.optimizers.Adam
    )
    assert optimizer.get_config() == adam.get_config()
    expected = update_weights(adam)
    for wanted, got in zip(expected, update_weights(optimizer), strict=True):
        # Keras takes 1 - β₂^t in float32, where it is right to 2e-5 of an update.
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-5)


def test_a_transposed_gradient_is_read_in_its_order():
    values = np.arange(12.0, dtype="float32").reshape(4, 3)
    weights = []
    for gradient in (values.T.copy(), ops.transpose(ops.convert_to_tensor(values))):
        optimizer = prepare_optimizer(keras.optimizers.Adam(0.1, epsilon=1.0))
        variable = keras.Variable(np.zeros((3, 4)), dtype="float32")
        optimizer.apply([ops.convert_to_tensor(gradient)], [variable])
        weights.append(ops.convert_to_numpy(variable))
    np.testing.assert_array_equal(*weights)


# === Averages ===


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def run_epochs(callback, model, epochs):
    """Ends epochs whose weights are their numbers."""
    callback.set_model(model)
    for epoch in epochs:
        for weight in model.trainable_variables:
            weight.assign(ops.full(weight.shape, float(epoch)))
        callback.on_epoch_end(epoch - 1, {})


def average(callback, model):
    average_weights(model, callback.paths())
    (value,) = {float(x) for w in model.get_weights() for x in w.ravel()}
    return value


@pytest.mark.once
def test_the_last_epochs_are_averaged_in_a_resumed_run_too(model, tmp_path):
    """Killed after it had kept the third epoch, but before the checkpoint."""
    folder = tmp_path / "epochs"
    run_epochs(EpochWeights(folder, model, keep=2), model, [1, 2, 9])
    (folder / "epoch-00009.weights.h5").write_bytes(b"of a longer run")
    callback = EpochWeights(folder, model, keep=2)
    run_epochs(callback, model, [3, 4])
    assert average(callback, model) == pytest.approx(3.5)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.once
def test_the_mean_of_large_numbers_is_exact(model, tmp_path):
    paths = []
    for number, value in enumerate((3e7, 3e7 + 2, 3e7 + 4)):
        model.set_weights([np.full(w.shape, value) for w in model.get_weights()])
        paths.append(tmp_path / f"{number}.weights.h5")
        model.save_weights(paths[-1])
    average_weights(model, paths)
    assert (model.get_weights()[0] == 3e7 + 2).all()


@pytest.mark.once
def test_bad_arguments_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="`keep` must be a positive integer.*0"):
        EpochWeights(tmp_path, model, keep=0)
    with pytest.raises(ValueError, match="at least one file"):
        average_weights(model, [])


# === RPROP ===

TARGET = np.array([1.0, -2.0, 0.3])
CURVES = np.array([100.0, 1.0, 0.01])  # one rate would not do for all


def gradient(weights):
    return CURVES * (weights - TARGET)


def expected(updates, rate=0.1):
    """The rule, weight by weight in Python."""
    weights = [0.0] * 3
    steps, signs = [1.0] * 3, [0.0] * 3
    for _ in range(updates):
        for i in range(3):
            sign = np.sign(CURVES[i] * (weights[i] - TARGET[i]))
            if sign * signs[i] > 0:
                steps[i] = min(steps[i] * 1.2, 3.0)
            elif sign * signs[i] < 0:
                steps[i], sign = max(steps[i] * 0.5, 0.2), 0.0
            weights[i] -= rate * steps[i] * sign
            signs[i] = sign
    return weights


@pytest.mark.parametrize("prepared", [False, True])
def test_the_rule_is_riedmillers(prepared):
    optimizer = Rprop(0.1, least=0.2, most=3.0)
    if prepared:  # as a recipe trains
        optimizer = prepare_optimizer(optimizer)
    weights = keras.Variable(np.zeros(3))
    for _ in range(40):
        found = gradient(ops.convert_to_numpy(weights.value))
        optimizer.apply([ops.convert_to_tensor(found.astype("float32"))], [weights])
    got = ops.convert_to_numpy(weights.value)
    np.testing.assert_allclose(got, expected(40), atol=1e-5)


def test_recipes_can_name_it():
    made = Optimizer("rprop", 0.02, options={"increase": 1.1})(10, 2)
    assert type(made) is Rprop and float(made.learning_rate) == pytest.approx(0.02)
    copy = Rprop.from_config(made.get_config())
    assert copy.get_config() == made.get_config()
    assert (copy.increase, copy.decrease) == (1.1, 0.5)
