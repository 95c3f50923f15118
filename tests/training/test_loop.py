import csv
import dataclasses
import json
import re

import keras
import numpy as np
import pytest
from keras import ops

from tests.training import tiny_run
from zoo.training import PairBatches, load_state, loop, trainer
from zoo.training.gradients import gradient_norm
from zoo.training.loop import _rate_after
from zoo.training.updates import prepare_optimizer


@pytest.fixture
def make(monkeypatch, tmp_path):
    monkeypatch.setattr(trainer, "reversal_pairs", tiny_run.few_pairs)
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
        if self is run.batches and x["source_ids"].tobytes() in spoiled:
            weights = weights * np.float32("nan")
        return x, labels, weights

    monkeypatch.setattr(PairBatches, "__getitem__", get_spoiled)


def test_a_bad_loss_goes_back_once_and_ends_training_the_second_time(
    make, monkeypatch, capsys
):
    run = make(checkpoint_steps=2, checkpoint_minutes=None)
    rates = [float(run.model.optimizer.learning_rate)]
    for _ in range(30):
        rates.append(_rate_after(run.model.optimizer, len(rates)))
    spoil(monkeypatch, run, [(1, 5), (2, 3)])
    with pytest.raises(FloatingPointError) as caught:
        run.train()

    # The first time: found at the end of step 6, back to step 4, then without it.
    told = next(line for line in capsys.readouterr().err.splitlines() if "nan" in line)
    assert "The loss is nan in epoch 2, step 6. " in told
    assert f"learning rate was {rates[9 + 5]:g}; " in told
    assert re.search(
        r"gradient norm is [\d.]+ at step 5, nan at step 6, with the w", told
    )
    assert "the weights of the last checkpoint (epoch 2, step 4). Back" in told
    with open(run.path("log.csv")) as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1"]
    assert all(np.isfinite(float(row["loss"])) for row in rows)

    # The second time.
    error = str(caught.value)
    assert error.startswith("The loss is nan in epoch 3, step 4. ")
    assert f"learning rate was {rates[9 + 8 + 3]:g}; " in error  # one batch less
    assert "went back once before, from epoch 2, step 6" in error
    state = load_state(run.path("checkpoint.npz"), run.model)
    assert (state["epoch"], state["step"], state["rollback"]) == (2, 2, [1, 5])
    for variable in run.model.variables:
        assert np.isfinite(ops.convert_to_numpy(variable.value)).all()
    iterations = [v for v in run.model.optimizer.variables if v.name == "iteration"]
    assert int(iterations[0].value) == 9 + 8 + 2


@pytest.mark.once
def test_the_last_batch_of_an_epoch_may_be_left_out(make, monkeypatch):
    run = make(checkpoint_steps=2, checkpoint_minutes=None)
    spoil(monkeypatch, run, [(1, 8)])  # of 9; the checkpoint stands right before it
    run.train()
    with open(run.path("log.csv")) as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    for row in rows:
        assert np.isfinite(float(row["loss"])) and float(row["seconds"]) >= 0


@pytest.mark.once
def test_the_batch_whose_gradient_is_not_finite_is_left_out(make, monkeypatch):
    run = make(checkpoint_steps=2, checkpoint_minutes=None)
    spoil(monkeypatch, run, [(1, 5)])
    norms = iter([np.inf, 1.0, 1.0, 1.0])
    monkeypatch.setattr(loop, "gradient_norm", lambda *_: next(norms))
    with pytest.raises(FloatingPointError, match="once before, from epoch 2, step 5"):
        run.train()


def test_a_diverging_run_stops_with_the_reason_each_time(make):
    def optimizer(steps, epochs):
        return keras.optimizers.Adam(1e12, global_clipnorm=1.0)

    scale = dataclasses.replace(tiny_run.SCALE, optimizer=optimizer)
    for _ in range(2):
        with pytest.raises(FloatingPointError) as caught:
            make(scale=scale).train()
        # The second batch's; the gradients by which it diverged are finite.
        assert re.match(r"The loss is \d.*e\+\d\d in epoch 1, step ", str(caught.value))
        assert "learning rate was 1e+12; " in str(caught.value)
        assert "A lower learning rate may help" in str(caught.value)


@pytest.mark.once
def test_weights_that_are_not_finite_are_not_saved(make, monkeypatch):
    run = make()
    run.train()
    path = run.path("checkpoint.npz")
    with open(path, "rb") as file:
        content = file.read()
    weight = run.backbone.trainable_variables[0]
    weight.assign(ops.full(weight.shape, float("inf")))
    with pytest.raises(FloatingPointError, match=weight.path):
        run.loop.checkpoint.save(epoch=3)
    with open(path, "rb") as file:
        assert file.read() == content
    run.batches.set_epoch(0)
    assert not np.isfinite(gradient_norm(run.model, run.batches[0]))


@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_rate_of_a_later_step(accumulation):
    schedule = keras.optimizers.schedules.PolynomialDecay(1.0, 8, 0.0)
    optimizer = prepare_optimizer(keras.optimizers.SGD(schedule), accumulation)
    optimizer.build([keras.Variable(np.zeros(2))])
    assert _rate_after(optimizer, 4) == pytest.approx(1 - 4 / accumulation / 8)
    assert float(optimizer.learning_rate) == 1.0


@pytest.mark.once
def test_the_state_tells_where_it_is(make):
    """What a resumed run finds of an epoch that was trained and not yet watched."""
    run = make()
    saves = []
    save = run.distribution.callbacks  # where the loop asks for its callbacks

    def callbacks(everywhere, main_only, batches):
        guard = everywhere[-1]
        keep = guard.checkpoint.save

        def noting(*arguments, **options):
            keep(*arguments, **options)
            with np.load(run.path("checkpoint.npz")) as file:
                saves.append(json.loads(str(file["state"])))

        guard.checkpoint.save = noting
        return save(everywhere, main_only, batches)

    run.distribution.callbacks = callbacks
    run.train()
    places = [(state["epoch"], state["step"]) for state in saves]
    assert places == [(0, 9), (1, 0), (1, 9), (2, 0), (2, 9), (3, 0)]
    assert {"loss", "seconds", "tokens_per_second"} <= set(saves[0]["logs"])
    assert saves[0]["epoch_seconds"] > 0 and saves[0]["seconds"] == 0
    assert saves[1]["best_epoch"] == 0
