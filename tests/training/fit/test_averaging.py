import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import EpochWeights, average_weights, prepare_optimizer

pytestmark = pytest.mark.once


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    return model


def run_epochs(callback, model, scores, first=0):
    """Ends epochs with these scores, the weights being the epochs from 1."""
    callback.set_model(model)
    for epoch, score in enumerate(scores, start=first):
        for weight in model.trainable_variables:
            weight.assign(ops.full(weight.shape, epoch + 1.0))
        callback.on_epoch_end(epoch, {"val_bleu": score})


def average(callback, model):
    average_weights(model, callback.paths())
    (value,) = {float(x) for w in model.get_weights() for x in w.ravel()}
    return value


@pytest.mark.parametrize(
    ("which", "wanted"), [("last", (4 + 5 + 6) / 3), ("best", (2 + 3 + 6) / 3)]
)
def test_the_last_or_the_best_are_averaged(model, tmp_path, which, wanted):
    callback = EpochWeights(tmp_path / "epochs", model, keep=3, which=which)
    run_epochs(callback, model, [1.0, 30.5, 4.0, 2.0, 0.0, 9.0])
    assert average(callback, model) == pytest.approx(wanted)
    assert len(list((tmp_path / "epochs").iterdir())) == 3


def test_a_file_that_was_being_written_is_of_no_epoch(model, tmp_path):
    (tmp_path / "epoch-00001_25.part.3.weights.h5").write_bytes(b"half")
    callback = EpochWeights(tmp_path, model, keep=5)
    assert callback.paths() == []
    run_epochs(callback, model, [25.3, -1e-7, float("nan")])
    assert len(callback.paths()) == len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("which", "wanted"), [("last", (3 + 4) / 2), ("best", (2 + 3) / 2)]
)
def test_a_resumed_run_knows_what_was_kept(model, tmp_path, which, wanted):
    """Killed after it had kept the third epoch, but before the checkpoint."""
    first = EpochWeights(tmp_path, model, keep=2, which=which)
    run_epochs(first, model, [5.0, 6.0, 99.0])
    second = EpochWeights(tmp_path, model, keep=2, which=which)
    run_epochs(second, model, [4.0, 3.0], first=2)  # replaces the third's file
    assert average(second, model) == wanted
    assert len(list(tmp_path.iterdir())) == 2


def test_the_moving_average_is_kept_where_there_is_one(model, tmp_path):
    model.compile(prepare_optimizer(keras.optimizers.SGD(0.1), ema=0.5), "mse")
    model.optimizer.build(model.trainable_variables)
    callback = EpochWeights(tmp_path, model)
    run_epochs(callback, model, [1.0])
    assert average(callback, model) == 0.0  # nothing was averaged yet
    assert model.optimizer.use_ema


def test_the_mean_of_large_numbers_is_exact(model, tmp_path):
    paths = []
    for number, value in enumerate((3e7, 3e7 + 2, 3e7 + 4)):
        model.set_weights([np.full(w.shape, value) for w in model.get_weights()])
        paths.append(tmp_path / f"{number}.weights.h5")
        model.save_weights(paths[-1])
    average_weights(model, paths)
    assert (model.get_weights()[0] == 3e7 + 2).all()


def test_bad_arguments_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="which='first'"):
        EpochWeights(tmp_path, model, which="first")
    with pytest.raises(ValueError, match="`keep` must be a positive integer.*0"):
        EpochWeights(tmp_path, model, keep=0)
    with pytest.raises(ValueError, match="at least one file"):
        average_weights(model, [])
