import csv
import dataclasses
import json
import re

import keras
import numpy as np
import pytest
from keras import ops

from tests.training import tiny_run
from zoo.training import PairBatches, WarmupLinearDecay, load_state, parallel


@pytest.fixture
def make(monkeypatch, tmp_path):
    monkeypatch.setattr(parallel, "reversal_pairs", tiny_run.few_pairs)
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
    run = make(checkpoint_steps=2, checkpoint_minutes=None)
    spoil(monkeypatch, run, [(1, 5)])
    with pytest.raises(FloatingPointError) as caught:
        run.train()
    # Found at the end of step 6; the checkpoint is of step 4.
    error = str(caught.value)
    assert error.startswith("The loss is nan in epoch 2, step 6. ")
    rate = WarmupLinearDecay(5e-3, 4, 9 * 3)(9 + 5)
    assert f"gradient norm max nan, learning rate {float(rate):g}. Training" in error
    with open(run.run.path("log.csv")) as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0"]
    model = run.run.loop.model
    state = load_state(run.run.path("checkpoint.npz"), model)
    assert (state["epoch"], state["step"]) == (1, 4)
    for variable in model.variables:
        assert np.isfinite(ops.convert_to_numpy(variable.value)).all()
    iterations = [v for v in model.optimizer.variables if v.name == "iteration"]
    assert int(iterations[0].value) == 9 + 4
    with pytest.raises(FloatingPointError, match="nan in epoch 2, step 6"):
        make(checkpoint_steps=2, checkpoint_minutes=None).train()


@pytest.mark.once
def test_a_diverging_run_stops_with_the_reason_each_time(make):
    def optimizer(steps, epochs):
        return keras.optimizers.Adam(1e12, global_clipnorm=1.0)

    scale = dataclasses.replace(tiny_run.SCALE, optimizer=optimizer)
    for _ in range(2):
        with pytest.raises(FloatingPointError) as caught:
            make(scale=scale).train()
        # The second batch's; the gradients by which it diverged are finite.
        assert re.match(r"The loss is \d.*e\+\d\d in epoch 1, step ", str(caught.value))
        assert "learning rate 1e+12. " in str(caught.value)
        assert "A lower learning rate may help" in str(caught.value)


@pytest.mark.once
def test_weights_that_are_not_finite_are_not_saved(make, monkeypatch):
    run = make()
    run.train()
    path = run.run.path("checkpoint.npz")
    with open(path, "rb") as file:
        content = file.read()
    weight = run.backbone.trainable_variables[0]
    weight.assign(ops.full(weight.shape, float("inf")))
    with pytest.raises(FloatingPointError, match=weight.path):
        run.run.loop.checkpoint.save(epoch=3)
    with open(path, "rb") as file:
        assert file.read() == content


@pytest.mark.once
def test_the_state_tells_where_it_is(make):
    """A resumed run finds an epoch that was trained and not yet validated."""
    run = make()
    saves = []
    save = run.run.distribution.callbacks  # where the loop asks for its callbacks

    def callbacks(everywhere, main_only, batches):
        guard = everywhere[-1]
        keep = guard.checkpoint.save

        def noting(*arguments, **options):
            keep(*arguments, **options)
            with np.load(run.run.path("checkpoint.npz")) as file:
                saves.append(json.loads(str(file["state"])))

        guard.checkpoint.save = noting
        return save(everywhere, main_only, batches)

    run.run.distribution.callbacks = callbacks
    run.train()
    places = [(state["epoch"], state["step"]) for state in saves]
    assert places == [(0, 9), (1, 0), (1, 9), (2, 0), (2, 9), (3, 0)]
    assert {"loss", "seconds", "tokens_per_second"} <= set(saves[0]["logs"])
    assert saves[0]["epoch_seconds"] > 0 and saves[0]["seconds"] == 0
    assert saves[1]["best_epoch"] == 0
