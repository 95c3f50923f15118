import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import EpochWeights, average_weights

pytestmark = pytest.mark.once


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


def test_the_last_epochs_are_averaged_in_a_resumed_run_too(model, tmp_path):
    """Killed after it had kept the third epoch, but before the checkpoint."""
    folder = tmp_path / "epochs"
    run_epochs(EpochWeights(folder, model, keep=2), model, [1, 2, 9])
    (folder / "epoch-00009.weights.h5").write_bytes(b"of a longer run")
    callback = EpochWeights(folder, model, keep=2)
    run_epochs(callback, model, [3, 4])
    assert average(callback, model) == pytest.approx(3.5)
    assert len(list(folder.iterdir())) == 2


def test_the_moving_average_is_kept_where_there_is_one(model, tmp_path):
    model.compile(keras.optimizers.SGD(0.1, use_ema=True), "mse")
    model.optimizer.build(model.trainable_variables)
    callback = EpochWeights(tmp_path, model)
    run_epochs(callback, model, [1])
    assert average(callback, model) == 0.0  # nothing was averaged yet


def test_the_mean_of_large_numbers_is_exact(model, tmp_path):
    paths = []
    for number, value in enumerate((3e7, 3e7 + 2, 3e7 + 4)):
        model.set_weights([np.full(w.shape, value) for w in model.get_weights()])
        paths.append(tmp_path / f"{number}.weights.h5")
        model.save_weights(paths[-1])
    average_weights(model, paths)
    assert (model.get_weights()[0] == 3e7 + 2).all()


def test_bad_arguments_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="`keep` must be a positive integer.*0"):
        EpochWeights(tmp_path, model, keep=0)
    with pytest.raises(ValueError, match="at least one file"):
        average_weights(model, [])
