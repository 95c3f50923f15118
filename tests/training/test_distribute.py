"""The settings of several processes; training on several devices equals one."""

import csv
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from tests.training import distributed_run
from zoo.training import PairBatches, SmoothedCrossEntropy
from zoo.training.distribute import Distribution, DistributionError, start
from zoo.training.fit.loop import EpochGuard, Loop

BACKEND = keras.backend.backend()
SCRIPT = Path(distributed_run.__file__)
SECONDS = 500  # at most; a busy machine takes its time


class Two(Distribution):
    """Two processes with two devices each; process 0 says `said`."""

    processes, devices = 2, 4

    def __init__(self, process=0, said=None):
        self.process, self.said, self.seeds = process, said, []

    def broadcast(self, value):
        return value if self.main else self.said

    def seed(self, *numbers):
        self.seeds.append(numbers)


def test_none_is_one_device_and_auto_is_where_there_is_one():
    for mode in ("none", "auto"):
        found = start(mode)
        assert type(found) is Distribution and found.main
        assert (found.process, found.processes, found.devices) == (0, 1, 1)
        assert found.broadcast("a") == "a"
    with pytest.raises(DistributionError, match="needs several .* Received: 1 device"):
        start("data")
    with pytest.raises(DistributionError, match="'none', 'data'.*mode='model'"):
        start("model")
    assert keras.distribution.distribution() is None


@pytest.mark.skipif(BACKEND != "torch", reason="torchrun's settings")
def test_a_launchers_settings_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")  # an address is missing
    with pytest.raises(DistributionError, match="can't be joined. Received: "):
        start("auto")


def test_each_process_gets_its_rows_and_each_device_one():
    batches = PairBatches([[4], [5], [6], [7], [8]], [[4]] * 5, batch_size=5)
    Two(1).shard(batches)
    assert batches[0][0]["source_ids"][:, 0].tolist() == [8, 0, 0, 0]
    batches = PairBatches([[4], [5], [6]], [[4]] * 3, batch_size=3)
    with pytest.raises(DistributionError, match="each of the 4 devices.* of 3 sent"):
        Two().shard(batches)
    Distribution().shard(batches)


def test_processes_follow_process_0_and_see_its_folder(tmp_path):
    for process, own, expected in ((0, True, True), (1, False, True), (1, True, False)):
        loop = SimpleNamespace(
            distribution=Two(process, expected),
            model=SimpleNamespace(stop_training=own),
        )
        Loop._end_epoch(loop, 0, None)
        assert loop.model.stop_training is expected
    checkpoint = SimpleNamespace(path=tmp_path / "none")
    loop = SimpleNamespace(distribution=Two(1, [3, 0]), checkpoint=checkpoint, state={})
    with pytest.raises(DistributionError, match=r"one folder.*\[3, 0\].*\[None, None"):
        Loop._resume(loop)


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


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_shares_of_a_loss_make_that_of_the_whole_batch(normalize):
    rng = np.random.default_rng(0)
    labels, logits = rng.integers(0, 7, (4, 5)), rng.normal(size=(4, 5, 7))
    weights = (np.arange(5) < np.array([[5], [2], [1], [0]])).astype("float32")
    loss = SmoothedCrossEntropy(0.1, normalize)
    parts = [slice(0, 1), slice(1, 4)]  # of unlike numbers of tokens and sentences
    counts = [loss.count(weights[p]) for p in parts]

    class Shares(Distribution):
        def mean(self, total, count):
            return total / sum(counts)

    share = Shares().loss(loss)
    shares = [share(labels[p], logits[p], weights[p]) for p in parts]
    expected = float(loss(labels, logits, weights))
    assert float(sum(shares)) == pytest.approx(expected, rel=1e-5)
    assert Distribution().loss("mse") == "mse"
    with pytest.raises(DistributionError, match="SmoothedCross.*Received: 'mse'"):
        Shares().loss("mse")


# === Whole runs ===


def spawn(arguments, environment, script=(SCRIPT,), dies=-1):
    command = [sys.executable, *script, dies, *arguments]
    return subprocess.Popen(
        [str(part) for part in command],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "KERAS_BACKEND": BACKEND,
            "CUDA_VISIBLE_DEVICES": "",
            "JAX_PLATFORMS": "cpu",
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process):
    try:
        text = process.communicate(timeout=SECONDS)[0]
    finally:
        process.kill()
    assert process.returncode == 0, text
    return text


def read(folder):
    """Losses and gradient norms of each epoch, and the last checkpoint's variables."""
    names = ("loss", "gradient_norm", "gradient_norm_max")
    with open(folder / "log.csv") as file:
        log = [[float(row[name]) for name in names] for row in csv.DictReader(file)]
    with np.load(folder / "checkpoint.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "state"}
    return np.array(log), arrays


@pytest.mark.long
@pytest.mark.skipif(BACKEND == "tensorflow", reason="trains on one device")
def test_the_loss_curve_is_that_of_one_device(tmp_path):
    """JAX on 8 devices; torchrun's two processes, resumed half way."""
    one, folder = tmp_path / "one", tmp_path / "run"
    finish(spawn(["--distribute", "none", "--output", one], {}))
    arguments = ["--distribute", "data", "--output", folder]
    told = "[tiny] data parallelism over 8 devices"
    if BACKEND == "jax":
        flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
        text = finish(spawn(arguments, flags))
    else:
        told = "[tiny] data parallelism over 2 devices in 2 processes"
        run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        for options in (["--epochs", "2"], []):
            text = finish(spawn([*arguments, *options], {}, [*run, SCRIPT]))
    assert text.count(told) == 1  # one process prints
    (log, arrays), (expected_log, expected) = read(folder), read(one)
    assert len(log) == 4 and log[3, 0] < log[0, 0] - 0.5  # it learns
    np.testing.assert_allclose(log[:, 0], expected_log[:, 0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(log[:, 1:], expected_log[:, 1:], rtol=0, atol=1e-4)
    assert arrays.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(arrays[name], expected[name], atol=1e-4)
    assert (folder / "preset" / "tiny" / "model.weights.h5").exists()


@pytest.mark.long
@pytest.mark.skipif(BACKEND != "torch", reason="one process")
def test_when_a_process_dies_the_other_one_ends(tmp_path):
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": 2}
    first, second = (
        spawn(
            ["--output", tmp_path / "run"],
            {k: str(v) for k, v in {**environment, "RANK": n, "LOCAL_RANK": n}.items()},
            dies=(-1, 2)[n],
        )
        for n in (0, 1)
    )
    try:
        text = first.communicate(timeout=SECONDS)[0]
        assert second.wait(timeout=SECONDS) == -9
    finally:
        first.kill()
        second.kill()
    assert first.returncode != 0, text
    assert "epoch 1/4" in text and "epoch 2/4" not in text
