import csv
import dataclasses
import json
import re
import types

import keras
import numpy as np
import pytest
from keras import ops

from tests.training import tiny_run
from zoo.training import Monitor, Optimizer, PairBatches, WarmupLinearDecay
from zoo.training.distribute import Distribution
from zoo.training.fit import loop
from zoo.training.fit.checkpoint import Checkpoint, load_state
from zoo.training.fit.loop import EpochGuard, Loop
from zoo.training.recipes import translation_run


@pytest.fixture
def make(monkeypatch, tmp_path):
    monkeypatch.setattr(translation_run, "reversal_pairs", tiny_run.few_pairs)
    return lambda **options: tiny_run.make(tmp_path / "run", **options)


def spoil(monkeypatch, run, places):
    """Makes the batches at these (epoch, step) give a loss of NaN, wherever they
    come."""
    spoiled = set()
    for epoch, step in places:
        run.batches.set_epoch(epoch)
        spoiled.add(run.batches[step][0]["source_ids"].tobytes())
    get = PairBatches.__getitem__

    def get_spoiled(self, index):
        x, labels, weights = get(self, index)
        if x["source_ids"].tobytes() in spoiled:
            weights = weights * np.float32("nan")
        return x, labels, weights

    monkeypatch.setattr(PairBatches, "__getitem__", get_spoiled)


@pytest.mark.once
def test_a_bad_loss_ends_training_and_the_checkpoint_stays(make, monkeypatch):
    run = make(steps=2)
    spoil(monkeypatch, run, [(1, 5)])
    with pytest.raises(FloatingPointError) as caught:
        run.train()
    # Found at the end of step 6; the checkpoint is of step 4.
    error = str(caught.value)
    assert error.startswith("The loss is nan in epoch 2, step 6. ")
    rate = WarmupLinearDecay(5e-3, 4, 9 * 3)(9 + 5)
    assert f"gradient norm max nan, learning rate {float(rate):g}. Training" in error
    with open(run.run.output / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0"]
    model = run.run.loop.model
    state = load_state(run.run.output / "checkpoint.npz", model)
    assert (state["epoch"], state["step"]) == (1, 4)
    assert int(model.optimizer.iterations) == 9 + 4
    with pytest.raises(FloatingPointError, match="nan in epoch 2, step 6"):
        make(steps=2).train()


@pytest.mark.once
def test_a_diverging_run_stops_with_the_reason_each_time(make):
    optimizer = Optimizer("adam", 1e12, clip=1.0)
    scale = dataclasses.replace(tiny_run.SCALE, optimizer=optimizer)
    for _ in range(2):
        with pytest.raises(FloatingPointError) as caught:
            make(scale=scale).train()
        # The second batch's; the gradients by which it diverged are finite.
        assert re.match(r"The loss is \d.*e\+\d\d in epoch 1, step ", str(caught.value))
        assert "learning rate 1e+12. " in str(caught.value)
        assert "A lower learning rate may help" in str(caught.value)


@pytest.mark.once
def test_bad_weights_replace_no_best_ones(make, monkeypatch):
    """The last step of an epoch may spoil them, after its loss was computed."""
    run, end = make(), loop.Progress.on_epoch_end

    def spoil_weights(self, epoch, logs=None):
        if epoch:
            weight = self.model.trainable_variables[0]
            weight.assign(ops.full(weight.shape, float("inf")))
            monkeypatch.setattr(Checkpoint, "on_epoch_end", None)
        return end(self, epoch, logs)

    monkeypatch.setattr(loop.Progress, "on_epoch_end", spoil_weights)
    with pytest.raises(FloatingPointError, match="The weights are not finite"):
        run.train()


@pytest.mark.once
def test_the_state_tells_where_it_is(make, monkeypatch):
    run = make(steps=5)
    saves = []
    save = Checkpoint.save

    def noting(self, *arguments, **options):
        save(self, *arguments, **options)
        with np.load(self.path) as file:
            saves.append(json.loads(str(file["state"])))

    monkeypatch.setattr(Checkpoint, "save", noting)
    run.train()
    places = [(state["epoch"], state["step"]) for state in saves]
    assert places == [(0, 0), (0, 5), (1, 0), (1, 5), (2, 0), (2, 5), (3, 0)]
    assert saves[1]["epoch_seconds"] > 0 and saves[1]["seconds"] == 0
    wanted = {"loss", "seconds", "tokens_per_second", "gradient_norm", "learning_rate"}
    assert wanted <= set(saves[2]["log"][0])
    assert saves[2]["best_epoch"] == 0


class Echo(keras.Model):
    """Its loss is the mean first source id, so that logs tell which batch came."""

    def __init__(self):
        super().__init__()
        self.factor = self.add_weight(initializer="ones")
        self.built = True

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


def test_training_sees_the_order_of_each_epoch(tmp_path):
    """In two goes, the second of which begins with the third epoch."""
    sources = [[4 + row] * (1 + row % 3) for row in range(48)]
    batches = PairBatches(sources, sources, batch_size=4, seed=1)
    losses = Losses()
    for epochs in (2, 4):
        model = Echo()
        model.compile(keras.optimizers.SGD(0.0), loss=None)
        model.optimizer.build(model.trainable_variables)
        paths = tmp_path / "checkpoint.npz", tmp_path / "best.weights.h5"
        checkpoint = Checkpoint(*paths, model, Monitor("loss", "min"))
        Loop(model, batches, checkpoint, epochs).run([losses])
    assert len(losses.epochs) == 4
    for epoch, found in enumerate(losses.epochs):
        batches.set_epoch(epoch)
        expected = [
            batches[index][0]["source_ids"][:, 0].mean()
            for index in range(len(batches))
        ]
        np.testing.assert_allclose(found, expected, atol=1e-2)


def test_process_0_alone_writes_and_validates(tmp_path):
    batches = PairBatches([[4]] * 4, [[5]] * 4, batch_size=2)

    class Process(Distribution):
        processes = 2

    for process in (0, 1):
        seen = []
        model, distribution = Echo(), Process()
        model.compile(keras.optimizers.SGD(0.0), loss=None)
        model.optimizer.build(model.trainable_variables)
        distribution.process = process
        losses = Losses()
        paths = tmp_path / "checkpoint.npz", tmp_path / "best.weights.h5"
        checkpoint = Checkpoint(*paths, model, Monitor("loss", "min"))
        run = Loop(model, batches, checkpoint, 1, distribution)
        run.state = {"epoch": 0, "step": 0}
        model.fit = lambda *_, callbacks, seen=seen, **__: seen.extend(
            callbacks.callbacks
        )
        run._fit([losses])
        assert any(isinstance(callback, EpochGuard) for callback in seen)
        for writing in (losses, checkpoint):
            assert (writing in seen) == checkpoint.writes == (process == 0)


# === Progress ===


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(loop.time, "monotonic", lambda: clock.now)
    return clock


def test_progress_tells_epoch_step_loss_and_tokens_per_second(clock, capsys):
    batches = PairBatches([[4]] * 100, [[4, 5, 6]] * 100, batch_size=10)
    progress = loop.Progress(batches)
    progress.set_params({"epochs": 3})
    progress.on_epoch_begin(1)
    for batch in range(10):
        clock.now += 2.0
        progress.on_train_batch_end(batch, {"loss": 1.25})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "epoch 2/3  step 1/10  loss 1.2500  20 target tokens/s"
    assert len(lines) == 4  # every third step: 2, 8, 14 and 20 s
    assert lines[1].endswith("  about 32 seconds left")  # of 6 and 10 steps
    logs = {}
    progress.on_epoch_end(1, logs)
    assert logs == {"tokens_per_second": 20.0, "seconds": 20.0}
    progress.on_epoch_begin(2)
    for batch, seconds in enumerate((60.0, 6.0, 8.0)):  # the first and last compile
        clock.now += seconds
        progress.on_train_batch_end(batch, {"loss": 1.25})
    assert capsys.readouterr().err.endswith("  about 49 seconds left\n")  # 7 of 7
