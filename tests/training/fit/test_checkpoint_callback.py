import math
from pathlib import Path

import keras
import pytest
from keras import ops

from zoo.training import Checkpoint, CheckpointError, Monitor, load_state
from zoo.training.fit.checkpoint import FORMAT


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return model


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
        "format": FORMAT,
        "log": [
            {"epoch": epoch, "seconds": 2.0, "val_bleu": score}
            for epoch, score in enumerate([1.0, 3.0, 3.0, 2.0])
        ],
    }
    assert best_weight(model, tmp_path) == 3.0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["best.weights.h5", "checkpoint.npz", "log.csv"]


@pytest.mark.parametrize(("scores", "best"), [([0.0], 0.0), ([1.0, math.nan], 1.0)])
def test_a_first_score_of_zero_is_a_best_score_and_nan_is_none(
    checkpoint, model, tmp_path, scores, best
):
    run_epochs(checkpoint(), model, scores)
    assert best_weight(model, tmp_path) == best


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
    watched = checkpoint(monitor=Monitor(patience=patience))
    assert run_epochs(watched, model, scores) == last
    state = load_state(tmp_path / "checkpoint.npz", model)
    assert state["stopped"] is (last is not None)


def test_a_resumed_run_goes_on_counting(checkpoint, model, tmp_path):
    monitor = Monitor(patience=2)
    run_epochs(checkpoint(monitor=monitor), model, [5.0, 1.0])
    resumed = checkpoint(monitor=monitor)
    resumed.resume()
    assert run_epochs(resumed, model, [4.0, 9.0], first=2) == 2
    assert best_weight(model, tmp_path) == 5.0
    rows = [f"{n},2.0,{score}" for n, score in enumerate((5.0, 1.0, 4.0))]
    log = (tmp_path / "log.csv").read_text()
    assert log.splitlines() == ["epoch,seconds,val_bleu", *rows]
    state = load_state(tmp_path / "checkpoint.npz", model)
    assert (state["best"], state["best_epoch"], state["seconds"]) == (5.0, 0, 6.0)


def test_a_change_of_plan_is_kept_with_its_epoch(checkpoint, model, tmp_path):
    path = tmp_path / "checkpoint.npz"
    run_epochs(checkpoint(plan=[4, "jax"]), model, [5.0, 1.0])
    for first, plan in ((2, [4, "jax"]), (3, [9, "torch"])):
        resumed = checkpoint(plan=plan)
        resumed.resume()
        run_epochs(resumed, model, [1.0], first=first)
    assert load_state(path, model)["plans"] == [[0, 4, "jax"], [3, 9, "torch"]]


def test_a_failure_while_saving_leaves_the_previous_best(
    checkpoint, model, tmp_path, monkeypatch
):
    callback = checkpoint()
    run_epochs(callback, model, [1.0])

    def fail(path):
        Path(path).write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(model, "save_weights", fail)
    with pytest.raises(OSError, match="no space"):
        run_epochs(callback, model, [2.0], first=1)
    assert load_state(tmp_path / "checkpoint.npz", model)["epoch"] == 1
    assert best_weight(model, tmp_path) == 1.0


def test_what_a_killed_run_left_is_put_right(checkpoint, model, tmp_path):
    """It had written a row more than the checkpoint knows of, and half a file."""
    run_epochs(checkpoint(), model, [5.0])
    log = tmp_path / "log.csv"
    before = log.read_bytes()
    log.write_bytes(before + b"1,2.0,7")
    (tmp_path / "checkpoint.part.npz").write_bytes(b"half")
    resumed = checkpoint()
    resumed.resume()
    resumed.clean_up()
    assert log.read_bytes() == before
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["best.weights.h5", "checkpoint.npz", "log.csv"]


def test_best_weights_that_are_gone_or_cut_are_refused(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [5.0])
    resumed, path = checkpoint(), tmp_path / "best.weights.h5"
    resumed.resume()
    path.write_bytes(path.read_bytes()[:500])
    for read in (resumed.clean_up, resumed.load_best):
        with pytest.raises(CheckpointError, match="best.weights.h5, .* --restart"):
            read()
    path.unlink()
    with pytest.raises(CheckpointError, match="best.weights.h5, .* --restart"):
        resumed.clean_up()


def test_all_of_the_best_weights_are_read(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [5.0])
    resumed, path = checkpoint(), tmp_path / "best.weights.h5"
    resumed.resume()
    start, _, end = path.read_bytes().rpartition(b"SNOD")  # of the innermost group
    path.write_bytes(start + b"SNO!" + end)
    with pytest.raises(CheckpointError, match="best.weights.h5, .* --restart"):
        resumed.clean_up()
