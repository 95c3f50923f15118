from types import SimpleNamespace

import keras
import numpy as np
import pytest

from zoo.training import EpochGuard, Loop, PairBatches, SmoothedCrossEntropy
from zoo.training.distribute import Distribution, DistributionError, start

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
    with pytest.raises(DistributionError, match="'none', 'data'.*mode='model'"):
        start("model")
    assert keras.distribution.distribution() is None


def test_a_launchers_settings_that_do_not_fit_are_refused(monkeypatch):
    for name, value in LAUNCHERS[BACKEND].items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DistributionError, match="can't be joined. Received: "):
        start("auto")


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


def test_each_process_gets_its_rows_and_each_device_one():
    batches = PairBatches([[4], [5], [6], [7], [8]], [[4]] * 5, batch_size=5)
    Two(1).shard(batches)
    assert batches[0][0]["source_ids"][:, 0].tolist() == [8, 0, 0, 0]
    batches = PairBatches([[4], [5], [6]], [[4]] * 3, batch_size=3)
    with pytest.raises(DistributionError, match="each of the 4 devices.* of 3 sent"):
        Two().shard(batches)
    Distribution().shard(batches)


def test_all_stop_when_process_0_stops():
    for process, own, expected in ((0, True, True), (1, False, True), (1, True, False)):
        loop = SimpleNamespace(
            distribution=Two(process, said(expected)),
            model=SimpleNamespace(stop_training=own),
        )
        Loop._stop_together(loop, 0, None)
        assert loop.model.stop_training is expected


def test_seeds_follow_the_place_in_the_run_and_not_where_it_was_resumed():
    found = []
    for first, steps in ((0, 4), (2, 2)):
        batches = SimpleNamespace(seed=7, start=first)
        loop = SimpleNamespace(
            batches=batches, distribution=Two(1), checkpoint=None, state={"step": first}
        )
        guard = EpochGuard(loop, None)
        guard.epoch, guard.generator = 3, None
        for step in range(steps):
            guard.on_train_batch_begin(step)
        found.append(loop.distribution.seeds)
    assert found[0] == [(7, 3, step) for step in range(4)]
    assert found[1] == found[0][2:]


# === Losses ===


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_shares_of_a_loss_make_that_of_the_whole_batch(normalize):
    rng = np.random.default_rng(0)
    labels, logits = rng.integers(0, 7, (4, 5)), rng.normal(size=(4, 5, 7))
    weights = (np.arange(5) < np.array([[5], [2], [1], [0]])).astype("float32")
    loss = SmoothedCrossEntropy(0.1, normalize)
    parts = [slice(0, 1), slice(1, 4)]  # of unlike numbers of tokens and sentences
    counts = [loss.sums(labels[p], logits[p], weights[p])[1] for p in parts]

    class Shares(Distribution):
        def mean(self, total, count):
            return total / sum(counts)

    share = Shares().loss(loss)
    shares = [share(labels[p], logits[p], weights[p]) for p in parts]
    expected = float(loss(labels, logits, weights))
    assert float(sum(shares)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", ["mse", keras.losses.MeanSquaredError(name="mse")])
def test_a_loss_that_cannot_be_summed_over_devices_is_refused(loss):
    class Shares(Distribution):
        def mean(self, total, count):
            raise NotImplementedError

    assert Distribution().loss(loss) is loss
    with pytest.raises(DistributionError, match="SmoothedCross.*Received: 'mse'"):
        Shares().loss(loss)
