import math
import re
import types

import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import (
    Checkpoint,
    CheckpointError,
    Monitor,
    PairBatches,
    Progress,
    callbacks,
    load_state,
)


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return model


# === Order of the data ===


class Echo(keras.Model):
    """Its loss is the mean first source id, so that logs tell which batch came."""

    def __init__(self):
        super().__init__()
        self.factor = self.add_weight(initializer="ones")

    def call(self, inputs):
        first = ops.cast(inputs["source_ids"][:, 0], "float32")
        return ops.mean(first) * self.factor

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        return y_pred


class Losses(keras.callbacks.Callback):
    """Loss of each batch, from the running means that Keras logs."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self.total = 0.0
        self.epochs.append([])

    def on_train_batch_end(self, batch, logs=None):
        total = float(logs["loss"]) * (batch + 1)
        self.epochs[-1].append(total - self.total)
        self.total = total


@pytest.mark.parametrize("first", [0, 2])
def test_training_sees_the_order_of_each_epoch(first):
    sources = [[4 + row] * (1 + row % 3) for row in range(48)]
    batches = PairBatches(sources, sources, batch_size=4, seed=1)
    model, losses = Echo(), Losses()
    model.compile(keras.optimizers.SGD(0.0), loss=None)
    model.fit(
        batches,
        epochs=4,
        initial_epoch=first,
        shuffle=False,
        verbose=0,
        callbacks=[callbacks.EpochOrder(batches), losses],
    )
    assert len(losses.epochs) == 4 - first
    for epoch, found in enumerate(losses.epochs, start=first):
        batches.set_epoch(epoch)
        expected = [
            batches[index][0]["source_ids"][:, 0].mean()
            for index in range(len(batches))
        ]
        np.testing.assert_allclose(found, expected, atol=1e-2)


# === Progress ===


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: clock.now)
    return clock


def make_progress(**options):
    batches = PairBatches([[4]] * 100, [[4, 5, 6]] * 100, batch_size=10)
    progress = Progress(batches, **options)
    progress.set_params({"epochs": 3})
    return progress


def test_progress_tells_epoch_step_loss_and_tokens_per_second(clock, capsys):
    progress = make_progress(seconds=5.0)
    progress.on_epoch_begin(1)
    capsys.readouterr()
    for batch in range(10):
        clock.now += 2.0
        progress.on_train_batch_end(batch, {"loss": 1.25})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "epoch 2/3  step 1/10  loss 1.2500  20 target tokens/s"
    assert len(lines) == 4  # every third step: 2, 8, 14 and 20 s
    logs = {}
    progress.on_epoch_end(1, logs)
    assert logs == {"tokens_per_second": 20.0, "seconds": 20.0}


def test_compiling_is_told_once(clock, capsys):
    progress = make_progress()
    progress.on_train_begin()
    progress.on_epoch_begin(0)
    progress.on_epoch_begin(1)
    told = capsys.readouterr().err.count(
        "compiling: the first step of each batch shape"
    )
    assert told == (keras.backend.backend() != "torch")


def test_the_line_of_an_epoch():
    for logs, told in (
        ((2, 3, {"seconds": 60.0, "val_chrf": 3.0}), "epoch 3/3  BLEU 38.66"),
        ((0, None, {"loss": 0.5}), "epoch 1  loss 0.5  BLEU 38.66"),
    ):
        assert callbacks.epoch_line(*logs, {"BLEU": 38.658}) == told


def test_the_time_left_counts_no_compilation(clock, capsys):
    """Steps of 1 s, those of a new shape 100 s, and 7 s between the epochs."""
    sources = [[4] * (1 if row < 120 else 9) for row in range(240)]
    batches = PairBatches(sources, sources, batch_size=10, seed=1, buckets=2)
    progress, seen = Progress(batches, epochs=3), set()
    for epoch, later in enumerate((24 + 24, 7 + 24)):
        batches.set_epoch(epoch)
        progress.on_epoch_begin(epoch)
        for step, shape in enumerate(batches.shapes):
            clock.now += 1.0 if shape in seen else 100.0
            seen.add(shape)
            progress.on_train_batch_end(step, {"loss": 1.0})
        progress.on_epoch_end(epoch)
        clock.now += 7.0
        lines = capsys.readouterr().err.splitlines()
        told = re.findall(
            r"step (\d+)/24 .* about (\d+) seconds left", "\n".join(lines)
        )
        assert told and all(int(left) == 24 - int(s) + later for s, left in told)


def test_progress_survives_a_closed_standard_error(clock, monkeypatch):
    def closed(*args, **kwargs):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    progress = make_progress()
    progress.on_epoch_begin(0)
    clock.now += 1.0
    progress.on_train_batch_end(0, {"loss": 1.0})


# === Checkpoints ===


@pytest.fixture
def checkpoint(model, tmp_path):
    def make(**options):
        callback = Checkpoint(
            tmp_path / "checkpoint.npz",
            tmp_path / "best.weights.h5",
            model,
            identity={"seed": 1},
            **options,
        )
        callback.set_model(model)
        return callback

    return make


def run_epochs(checkpoint, model, scores, first=0):
    """Ends epochs with these scores, the weights being those scores."""
    for epoch, score in enumerate(scores, start=first):
        for weight in model.trainable_variables:
            weight.assign(ops.full(weight.shape, 0.0 if math.isnan(score) else score))
        checkpoint.on_epoch_end(epoch, {"val_bleu": score, "seconds": 2.0})
        if model.stop_training:
            return epoch
    return None


def best_weight(model, tmp_path):
    model.load_weights(tmp_path / "best.weights.h5")
    return float(ops.convert_to_numpy(model.trainable_variables[0])[0, 0])


def test_the_best_weights_are_kept_and_the_last_state(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [1.0, 3.0, 3.0, 2.0])
    state = load_state(tmp_path / "checkpoint.npz", model, {"seed": 1})
    assert (state.pop("generator") is None) == (keras.backend.backend() != "torch")
    assert (ops.convert_to_numpy(model.trainable_variables[0]) == 2.0).all()
    assert state == {
        "seed": 1,
        "epoch": 4,
        "step": 0,
        "best": 3.0,
        "best_epoch": 1,
        "seconds": 8.0,
        "plans": [[0]],
        "stopped": False,
        "stateful": {},
    }
    assert best_weight(model, tmp_path) == 3.0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["best.weights.h5", "checkpoint.npz"]


def test_what_is_monitored_has_a_direction():
    for mode, better, worse in (("max", 2.0, 1.0), ("min", 1.0, 2.0)):
        monitor = Monitor("a score", mode)
        assert monitor.better(better, worse) and not monitor.better(worse, better)
        assert monitor.better(worse, monitor.worst)


def test_a_first_score_of_zero_is_a_best_score(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [0.0])
    assert best_weight(model, tmp_path) == 0.0


@pytest.mark.parametrize(
    ("patience", "scores", "last"),
    [
        (None, [3.0, 1.0, 1.0, 1.0], None),
        (1, [3.0, 1.0, 4.0], 1),
        (2, [3.0, 1.0, 4.0, 4.0, 2.0, 9.0], 4),
        (2, [1.0, 2.0, 3.0, 4.0], None),
    ],
)
def test_patience(checkpoint, model, tmp_path, patience, scores, last):
    assert (
        run_epochs(checkpoint(monitor=Monitor(patience=patience)), model, scores)
        == last
    )
    state = load_state(tmp_path / "checkpoint.npz", model)
    assert state["stopped"] is (last is not None)


def test_a_resumed_run_goes_on_counting(checkpoint, model, tmp_path):
    monitor = Monitor(patience=2)
    run_epochs(checkpoint(monitor=monitor), model, [5.0, 1.0])
    resumed = checkpoint(monitor=monitor)
    resumed.resume(load_state(tmp_path / "checkpoint.npz", model))
    assert run_epochs(resumed, model, [4.0, 9.0], first=2) == 2
    assert best_weight(model, tmp_path) == 5.0
    state = load_state(tmp_path / "checkpoint.npz", model)
    assert (state["best"], state["best_epoch"], state["seconds"]) == (5.0, 0, 6.0)


def test_a_change_of_plan_is_kept_with_its_epoch(checkpoint, model, tmp_path):
    path = tmp_path / "checkpoint.npz"
    run_epochs(checkpoint(plan=[4, "jax"]), model, [5.0, 1.0])
    for first, plan in ((2, [4, "jax"]), (3, [9, "torch"])):
        resumed = checkpoint(plan=plan)
        resumed.resume(load_state(path, model))
        run_epochs(resumed, model, [1.0], first=first)
    assert load_state(path, model)["plans"] == [[0, 4, "jax"], [3, 9, "torch"]]


def test_a_score_of_nan_is_no_best_score(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [1.0, math.nan])
    assert best_weight(model, tmp_path) == 1.0


def test_a_failure_while_saving_leaves_the_previous_best(
    checkpoint, model, tmp_path, monkeypatch
):
    callback = checkpoint()
    run_epochs(callback, model, [1.0])
    write = model.save_weights

    def fail(path):
        write(path)
        with open(path, "r+b") as file:
            file.truncate(100)
        raise OSError("no space left on device")

    monkeypatch.setattr(model, "save_weights", fail)
    with pytest.raises(OSError, match="no space"):
        run_epochs(callback, model, [2.0], first=1)
    assert load_state(tmp_path / "checkpoint.npz", model)["epoch"] == 1
    assert best_weight(model, tmp_path) == 1.0


def test_the_state_of_another_run_is_refused(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [1.0])
    with pytest.raises(CheckpointError, match="seed"):
        load_state(tmp_path / "checkpoint.npz", model, {"seed": 2})
