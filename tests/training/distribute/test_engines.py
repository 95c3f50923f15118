"""Proof that training on several devices is training on one, on each engine.

Whole runs of a tiny recipe in processes of their own, at equal global batch.
"""

import csv
import os
import socket
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.training.distribute import distributed_run

pytestmark = pytest.mark.long
BACKEND = keras.backend.backend()
SCRIPT = Path(distributed_run.__file__)
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
SECONDS = 500  # at most; a busy machine takes its time


def spawn(script, environment, arguments, devices=1, dies=-1):
    command = [sys.executable, *script, devices, dies, *arguments]
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


def process(number, arguments, port, dies=-1):
    """One of two processes, without a launcher."""
    environment = {
        "jax": {
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{port}",
            "KERAS_DISTRIBUTION_NUM_PROCESSES": "2",
            "KERAS_DISTRIBUTION_PROCESS_ID": str(number),
        },
        "torch": {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": "2",
            "RANK": str(number),
            "LOCAL_RANK": str(number),
        },
    }[BACKEND]
    return spawn([SCRIPT], environment, arguments, dies=dies)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def launch(way, arguments):
    """Starts the processes that train in this way; the first one first."""
    if way == "8 devices":  # of JAX
        flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
        return [spawn([SCRIPT], flags, arguments)]
    if way == "2 devices":  # of TensorFlow
        return [spawn([SCRIPT], {}, arguments, devices=2)]
    if way == "torchrun":
        return [spawn([*TORCHRUN, SCRIPT], {}, arguments)]
    port = free_port()
    return [process(number, arguments, port) for number in (0, 1)]


def finish(processes):
    """Their output, when all are done."""
    try:
        printed = [each.communicate(timeout=SECONDS)[0] for each in processes]
    finally:
        for each in processes:
            each.kill()
    for each, text in zip(processes, printed, strict=True):
        assert each.returncode == 0, text
    return printed


def read(folder):
    """Losses and gradient norms of each epoch, and the last checkpoint's variables."""
    names = ("loss", "gradient_norm", "gradient_norm_max")
    with open(folder / "log.csv") as file:
        log = [[float(row[name]) for name in names] for row in csv.DictReader(file)]
    with np.load(folder / "checkpoint.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "state"}
    return np.array(log), arrays


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A run on one device: its log, and its last checkpoint."""
    folder = tmp_path_factory.mktemp("one") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            distributed_run.translation_data, "reversal_pairs", None
        )  # is put back
        code = distributed_run.main(["--distribute", "none", "--output", str(folder)])
    assert code == 0
    return read(folder)


WAYS = {
    "jax": ["8 devices", "2 processes"],
    "torch": ["torchrun"],
    "tensorflow": ["2 devices"],
}


@pytest.mark.parametrize("way", WAYS[BACKEND])
def test_the_loss_curve_is_that_of_one_device(reference, way, tmp_path):
    folder = tmp_path / "run"
    # In two goes: the second one goes on from the first one's checkpoint.
    goes = [["--epochs", "2"], []] if way == "torchrun" else [[]]
    for options in goes:
        arguments = ["--distribute", "data", "--output", folder, *options]
        printed = finish(launch(way, arguments))
    count, *within = {
        "8 devices": ("8 devices",),
        "2 devices": ("2 devices",),
    }.get(way, ("2 devices", "in 2 processes"))
    text = " ".join([f"[tiny] data parallelism over {count}", *within])
    assert sum(part.count(text) for part in printed) == 1  # one process prints
    log, arrays = read(folder)
    expected_log, expected = reference
    assert len(log) == 4 and log[3, 0] < log[0, 0] - 0.5  # it learns
    np.testing.assert_allclose(log[:, 0], expected_log[:, 0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(log[:, 1:], expected_log[:, 1:], rtol=0, atol=1e-4)
    assert arrays.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(arrays[name], expected[name], atol=1e-4)
    assert (folder / "preset" / "tiny" / "model.weights.h5").exists()


@pytest.mark.skipif(BACKEND == "tensorflow", reason="one process with two devices")
def test_when_a_process_dies_the_other_one_ends(tmp_path):
    port, arguments = free_port(), ["--output", tmp_path / "run"]
    first = process(0, arguments, port)
    second = process(1, arguments, port, dies=2)
    try:
        text = first.communicate(timeout=SECONDS)[0]
        assert second.wait(timeout=SECONDS) == -9
    finally:
        first.kill()
        second.kill()
    assert first.returncode != 0, text
    assert "epoch 1/4" in text and "epoch 2/4" not in text
