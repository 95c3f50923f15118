import gc
import warnings
import weakref
from unittest import mock

import keras
import numpy as np
import pytest
from keras import ops

from zoo.models import (
    Bahdanau,
    BahdanauTranslator,
    Luong,
    LuongTranslator,
    ShowAttendTell,
    ShowAttendTellCaptioner,
    Transformer,
    TransformerTranslator,
)
from zoo.training import ArrayBatches, PairBatches, compile_for_training
from zoo.training.fast import traced_steps
from zoo.training.fast.traced_steps import _capture, trace_steps

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="torch alone traces steps"
)

SIZES = {"vocabulary_size": 30, "num_layers": 1, "hidden_dim": 8, "dropout": 0.3}
MODELS = {
    "luong": lambda: LuongTranslator(
        Luong(**SIZES, embedding_dim=8, attention="local_p", window=2)
    ),
    "bahdanau": lambda: BahdanauTranslator(
        Bahdanau(30, embedding_dim=8, hidden_dim=8, attention_dim=8, maxout_dim=8)
    ),
    "captioner": lambda: ShowAttendTellCaptioner(
        ShowAttendTell(
            30, embedding_dim=8, hidden_dim=8, annotation_dim=8, image_shape=(16, 16, 1)
        )
    ),
    "transformer": lambda: TransformerTranslator(
        Transformer(**SIZES, num_heads=2, ff_dim=16)
    ),
}


def pairs():
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 8, 16)
    rows = [rng.integers(4, 30, length).tolist() for length in lengths]
    targets = [row[::-1] for row in rows]
    return PairBatches(rows, targets, batch_size=8, seed=1, buckets=[(7, 8)])


def captions():
    """The same targets, of images."""
    parts = []
    for x, labels, weights in map(pairs().__getitem__, range(2)):
        images = np.random.default_rng(0).uniform(size=(8, 16, 16, 1))
        x = {"images": images.astype("float32"), "target_ids": x["target_ids"]}
        parts.append((x, labels, weights))
    return ArrayBatches(parts, batch_size=8)


def train(name, after):
    """Returns the losses, the weights and the next random number."""
    import torch

    keras.utils.set_random_seed(1)
    optimizer = keras.optimizers.Adam(0.01)
    model = compile_for_training(MODELS[name](), optimizer, smoothing=0.1)
    trace_steps(model, after)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        batches = captions() if name == "captioner" else pairs()
        # Frees what only a trace still needs.
        collect = [keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: gc.collect())]
        options = {"shuffle": False, "verbose": 0, "callbacks": collect}
        found = model.fit(batches, epochs=3, **options)
    weights = [ops.convert_to_numpy(weight) for weight in model.weights]
    weights += [ops.convert_to_numpy(weight) for weight in model.optimizer.variables]
    return model, found.history["loss"], weights, float(torch.rand(()))


@pytest.mark.parametrize(
    "name",
    [
        "luong",
        "transformer",
        pytest.param("bahdanau", marks=pytest.mark.long),
        pytest.param("captioner", marks=pytest.mark.long),
    ],
)
def test_traced_steps_are_keras_own_to_the_last_bit(name, monkeypatch):
    _, losses, weights, drawn = train(name, after=float("inf"))
    script, scripts = traced_steps.trace, []
    monkeypatch.setattr(
        traced_steps,
        "trace",
        lambda *inputs: scripts.append(script(*inputs)) or scripts[-1],
    )
    model, *found = train(name, after=0.0)
    assert model.train_step.programs  # they were traced
    # torch.jit takes no convolution's gradient.
    assert bool(scripts) == (name != "captioner")
    assert found[0] == losses and found[2] == drawn
    for wanted, got in zip(weights, found[1], strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_each_shape_is_traced_in_its_time():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    trace_steps(model)
    steps = model.train_step
    x, y = np.ones((12, 3), "float32"), np.ones((12, 1), "float32")
    model.fit(x, y, batch_size=8, epochs=2, verbose=0)  # of 8 rows, and of 4
    assert not steps.programs and len(steps.seconds) == 2
    first = next(iter(steps.seconds))
    steps.seconds[first] = 1e9  # the default is 20 s on a CPU
    model.fit(x, y, batch_size=8, epochs=2, verbose=0)
    assert list(steps.programs) == [first]


def fit(layer, after=0.0, cls=keras.Sequential, **compiled):
    """Trains a small model. Returns it, its losses and the next random number."""
    import torch

    keras.utils.set_random_seed(1)
    model = cls([keras.Input((3,)), layer(), keras.layers.Dense(1)])
    model.compile(**{"optimizer": "sgd", "loss": "mse", **compiled})
    trace_steps(model, after)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 8, 3)).astype("float32")
    found = []
    for i in 4 * (0, 1, 0):
        y = np.ones((8, 1), "float32")
        found.append(model.train_on_batch(x[i], y, return_dict=True))
    return model, found, float(torch.rand(()))


class Plain(keras.layers.Dense):
    def __init__(self):
        super().__init__(4)


class Penalised(Plain):
    """A layer with a loss of its own."""

    def call(self, x):
        self.add_loss(ops.mean(ops.square(x @ self.kernel)))
        return super().call(x)


class Dropped(Plain):
    """A layer that draws random numbers and uses only some."""

    def call(self, x):
        keras.random.dropout(x, 0.5)
        return super().call(keras.random.dropout(x, 0.5))


class Reading(keras.layers.Layer):
    """A layer that reads a value, which no record can repeat."""

    def call(self, x):
        return x * (1.0 if float(ops.max(x)) > 100 else 2.0)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (Plain, None),
        (Penalised, None),
        (Reading, "_local_scalar_dense"),
        (Dropped, "other random numbers"),
    ],
)
def test_a_layer_is_trained_as_before_traced_or_not(layer, said):
    _, *wanted = fit(layer, float("inf"))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model, *found = fit(layer)
    assert found == wanted
    assert bool(model.train_step.programs) == (said is None)
    told = [str(w.message) for w in warned if "not traced" in str(w.message)]
    assert len(told) == (said is not None)
    assert not told or said in told[0]


class Stepping(keras.Sequential):
    """A model with a training step of its own."""

    def train_step(self, data):
        return super().train_step((data[0], 2.0 * data[1]))


@pytest.mark.parametrize(
    "compiled",
    [
        lambda: {"cls": Stepping},
        lambda: {"metrics": ["mae"]},
        lambda: {"run_eagerly": True},
        lambda: {"optimizer": keras.optimizers.SGD(0.1, loss_scale_factor=8.0)},
    ],
)
def test_what_is_compiled_for_other_steps_has_them(compiled):
    model, found, _ = fit(Plain, **compiled())
    assert not model.train_step.programs
    assert found == fit(Plain, float("inf"), **compiled())[1]


def test_a_model_that_is_compiled_again_is_traced_again():
    model, _, _ = fit(Plain)
    x, y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")
    model.compile("sgd", "mae")
    for _ in range(4):
        loss = model.evaluate(x, y, verbose=0)
        assert model.train_on_batch(x, y) == pytest.approx(loss, rel=1e-6)
        model.reset_metrics()
    assert model.train_step.programs
    assert all(variable.value.grad is None for variable in model.variables)


def test_a_graph_keeps_the_constants_that_it_reads(monkeypatch):
    """A CUDA graph holds addresses, nothing more; here it is a mock."""
    import torch

    class Program:
        def __call__(self, tensors):
            return [2.0 * tensors[0]]

    names = ("Stream", "stream", "current_stream", "CUDAGraph", "graph")
    for name in (*names, "get_sync_debug_mode", "set_sync_debug_mode"):
        monkeypatch.setattr(torch.cuda, name, mock.MagicMock())
    program = Program()
    alive = weakref.ref(program)
    run = _capture(program, [torch.ones(3)], [])
    del program
    gc.collect()
    assert alive() is not None
    run([torch.zeros(3)])
    assert torch.cuda.CUDAGraph.return_value.replay.call_count == 1
