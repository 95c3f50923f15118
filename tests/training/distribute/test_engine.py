import contextlib
import json
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import PairBatches, SmoothedCrossEntropy
from zoo.training.distribute import Distribution, DistributionError, SingleDevice, start
from zoo.training.distribute.engine import ShardLoss, Together

BACKEND = keras.backend.backend()
LAUNCHERS = {  # settings that don't fit: an address or a number is missing
    "jax": {"KERAS_DISTRIBUTION_JOB_ADDRESSES": "127.0.0.1:1"},
    "torch": {"WORLD_SIZE": "2"},
    "tensorflow": {"TF_CONFIG": "{"},
}


class Two(Distribution):
    """Two processes with two devices each; the other one says `others`."""

    processes, devices = 2, 4

    def __init__(self, process=0, others=b""):
        self.process, self.others, self.seeds = process, others, []

    def _from_main(self, array):
        if self.main:
            return array
        return np.array([len(self.others)]) if array.dtype == "int32" else self.others

    def seed(self, *numbers):
        self.seeds.append(numbers)


def said(value):
    """The bytes that process 0 sends for `value`."""
    two, sent = Two(), []
    two._from_main = lambda array: sent.append(array) or array
    two.broadcast(value)
    return sent[-1]


# === Starting ===


def test_none_is_one_device_and_auto_is_where_there_is_one():
    for mode in ("none", "auto"):
        found = start(mode)
        assert type(found) is Distribution and found.main
        assert (found.process, found.processes, found.devices) == (0, 1, 1)
    assert keras.distribution.distribution() is None


def test_data_parallelism_needs_several_devices():
    with pytest.raises(DistributionError, match="needs several .* Received: 1 device"):
        start("data")
    assert keras.distribution.distribution() is None


def test_an_unknown_mode_is_refused():
    with pytest.raises(DistributionError, match="'none', 'data'.*mode='model'"):
        start("model")


@pytest.mark.parametrize("mode", ["auto", "data"])
def test_a_launchers_settings_that_do_not_fit_are_refused(mode, monkeypatch):
    for name, value in LAUNCHERS[BACKEND].items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DistributionError, match="can't be joined. Received: "):
        start(mode)


# === One process of several ===


@pytest.mark.parametrize("value", [b"\x00model\xff", b"", None, True, [1, "ä", None]])
def test_what_process_0_says_arrives(value):
    assert Distribution().broadcast(value) == value
    assert Two().broadcast(value) == value
    assert Two(1, said(value)).broadcast("something else") == value


def test_processes_that_see_different_folders_are_told():
    Two(1, said([3, 0])).agree("epoch", [3, 0])
    with pytest.raises(DistributionError, match=r"\[3, 0\]. Received: \[0, 0\] in pro"):
        Two(1, said([3, 0])).agree("epoch", [0, 0])


def test_each_process_gets_its_rows():
    batches = PairBatches([[4], [5], [6], [7], [8]], [[4]] * 5, batch_size=5)
    Two(1).shard(batches)
    assert batches[0][0]["source_ids"][:, 0].tolist() == [8, 0, 0, 0]


def test_a_batch_without_a_row_for_each_device_is_refused():
    batches = PairBatches([[4], [5], [6]], [[4]] * 3, batch_size=3)
    with pytest.raises(DistributionError, match="each of the 4 devices.* of 3 sent"):
        Two().shard(batches)
    Distribution().shard(batches)


def test_process_0_alone_has_the_callbacks_that_write():
    order, log, batches = object(), object(), SimpleNamespace(seed=1, start=0)
    assert Distribution().callbacks([order], [log], batches) == [order, log]
    for process, expected in ((0, [order, log]), (1, [order])):
        *found, last = Two(process).callbacks([order], [log], batches)
        assert found == expected and isinstance(last, Together)


def test_all_stop_when_process_0_stops():
    batches = SimpleNamespace(seed=1, start=0)
    for process, own, expected in ((0, True, True), (1, False, True), (1, True, False)):
        together = Together(Two(process, said(expected)), batches)
        together.set_model(SimpleNamespace(stop_training=own))
        together.on_epoch_end(0)
        assert together.model.stop_training is expected


def test_seeds_follow_the_place_in_the_run_and_not_where_it_was_resumed():
    straight, resumed = (
        Together(Two(1), SimpleNamespace(seed=7, start=start)) for start in (0, 2)
    )
    for together, steps in ((straight, 4), (resumed, 2)):
        together.on_epoch_begin(3)
        for step in range(steps):
            together.on_train_batch_begin(step)
    assert straight.distribution.seeds == [(7, 3, step) for step in range(4)]
    assert resumed.distribution.seeds == straight.distribution.seeds[2:]


# === Losses and weights ===


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_shares_of_a_loss_make_that_of_the_whole_batch(normalize):
    rng = np.random.default_rng(0)
    labels, logits = rng.integers(0, 7, (4, 5)), rng.normal(size=(4, 5, 7))
    weights = (np.arange(5) < np.array([[5], [2], [1], [0]])).astype("float32")
    loss = SmoothedCrossEntropy(0.1, normalize)
    parts = [slice(0, 1), slice(1, 4)]  # of unlike numbers of tokens and sentences
    counts = [loss.sums(labels[p], logits[p], weights[p])[1] for p in parts]
    shares = [
        ShardLoss(loss, lambda total, count: total / sum(counts))(
            labels[p], logits[p], weights[p]
        )
        for p in parts
    ]
    expected = float(loss(labels, logits, weights))
    assert float(sum(shares)) == pytest.approx(expected, rel=1e-5)


def test_the_copy_on_one_device_has_the_trained_weights(translator):
    copy = type(translator)(type(translator.backbone)(**config_of(translator)))
    entered, called = [], []

    class Copies(Distribution):
        @contextlib.contextmanager
        def single_device(self):
            entered.append("in")
            yield
            entered.append("out")

    watching = SimpleNamespace(
        translator=copy,
        on_epoch_end=lambda *arguments: called.append((*arguments, list(entered))),
    )
    SingleDevice(Copies(), watching, translator.backbone).on_epoch_end(2, {"loss": 1.0})
    assert called == [(2, {"loss": 1.0}, ["in"])]
    pairs = zip(copy.backbone.weights, translator.backbone.weights, strict=True)
    for mine, trained in pairs:
        np.testing.assert_array_equal(
            ops.convert_to_numpy(mine), ops.convert_to_numpy(trained)
        )


def test_a_callback_on_one_device_knows_how_long_the_run_is():
    inner = keras.callbacks.Callback()
    outer = SingleDevice(Distribution(), inner, None)
    keras.callbacks.CallbackList([outer], epochs=3, steps=2)  # as `fit` makes it
    assert inner.params == {"epochs": 3, "steps": 2}


def config_of(translator):
    config = translator.backbone.get_config()
    return {**json.loads(json.dumps(config, default=str)), "dtype": "float32"}
