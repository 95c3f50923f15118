"""Runs in processes of their own that are killed, interrupted or short of disk."""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest

from tests.training.small_run import read_arrays, read_log

ROOT = Path(__file__).parents[2]
# To kill at other moments, or at those of a failure again.
SEED = int(os.environ.get("ZOO_KILL_SEED", random.randrange(10**6)))
# A start costs most where the step is compiled.
KILLS = {"torch": 20, "jax": 5, "tensorflow": 5}[keras.backend.backend()]


class Runs:
    """Talks to `tiny_run.py`."""

    def __init__(self, cache):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.training.tiny_run"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                # Compiled once for all the processes.
                "JAX_COMPILATION_CACHE_DIR": str(cache),
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            },
        )
        assert self.hear() == "ready"

    def hear(self, seconds=None):
        """The next line, "" if there is none within a time."""
        if seconds is None or select.select([self.process.stdout], [], [], seconds)[0]:
            return self.process.stdout.readline().decode().rstrip("\n")
        return ""

    def start(self, folder, place="-", count=1, steps=2):
        self.process.stdin.write(f"{folder}\t{place}\t{count}\t{steps}\n".encode())
        word, self.child = self.hear().split()
        assert word == "started"

    def send(self, number):
        # It may have ended since it was last heard: then that is the answer.
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(self.child), number)
        return self.hear()

    def finish(self, folder):
        self.start(folder)
        assert self.hear() == "ended 0"

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runs = Runs(tmp_path_factory.mktemp("cache"))
    yield runs
    runs.close()


@pytest.fixture(scope="module")
def straight(runs, tmp_path_factory):
    """A run that nothing happens to, without checkpoints within epochs; its seconds."""
    folder = tmp_path_factory.mktemp("straight")
    runs.start(folder, steps=0)
    began = time.monotonic()
    assert runs.hear() == "ended 0"
    return folder, time.monotonic() - began


def read(folder):
    """All that a run leaves which a seed repeats."""
    with h5py.File(folder / "best.weights.h5") as file:
        datasets = []
        file.visititems(lambda _, item: datasets.append(item))
        best = [item[()] for item in datasets if isinstance(item, h5py.Dataset)]
    return read_log(folder), read_arrays(folder), best


def check_equal(folder, straight):
    rows, arrays, best = read(folder)
    expected_rows, expected_arrays, expected_best = read(straight[0])
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert rows == expected_rows
    assert arrays.keys() == expected_arrays.keys() and len(best) > 5
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected_arrays[name], name)
    for array, other in zip(best, expected_best, strict=True):
        np.testing.assert_array_equal(array, other)
    assert not [path for path in folder.rglob("*") if ".part" in path.name]


# === SIGKILL ===


PLACES = ["half a checkpoint", "evaluating", "before a rename", "validated"]


def kill_and_go_on(runs, straight, folder, rng, moments):
    """Kills runs at moments, each (place, nth visit) or ("-", seconds): a run that was
    killed goes on, and ends as if nothing had been."""
    number = 0
    while moments:
        here, (place, when) = folder / str(number), moments[-1]
        if place == "-":
            runs.start(here, steps=rng.randint(1, 4))
            heard = runs.hear(when)
        else:
            runs.start(here, place, when, steps=rng.randint(1, 4))
            heard = runs.hear()
        if heard in ("", "here"):
            heard = runs.send(signal.SIGKILL)
        print(number, place, when, heard)
        if heard == "killed SIGKILL":
            moments.pop()
            continue
        assert heard == "ended 0"  # too early for this moment: once more
        check_equal(here, straight)
        number += 1
        moments[-1] = (place, 1 if place != "-" else rng.uniform(0, when))
    runs.finish(folder / str(number))
    check_equal(folder / str(number), straight)


@pytest.mark.once
def test_killed_it_ends_as_if_nothing_had_been(runs, straight, tmp_path):
    moments = [("-", straight[1] / 2), ("half a checkpoint", 1)]
    kill_and_go_on(runs, straight, tmp_path, random.Random(0), moments)


@pytest.mark.long
def test_killed_at_any_moment_it_ends_as_if_nothing_had_been(runs, straight, tmp_path):
    print(f"ZOO_KILL_SEED={SEED}")
    rng = random.Random(SEED)
    moments = [(place, rng.randint(1, 3)) for place in PLACES]
    moments = moments[: KILLS // 2] + [
        ("-", rng.uniform(0, straight[1])) for _ in range(KILLS - KILLS // 2)
    ]
    moments += [(rng.choice(PLACES), rng.randint(1, 3)) for _ in range(KILLS // 4)]
    del moments[KILLS:]
    rng.shuffle(moments)
    kill_and_go_on(runs, straight, tmp_path, rng, moments)


# === A full disk ===


@pytest.mark.once
@pytest.mark.parametrize("count", [1, 4])
def test_a_full_disk_leaves_the_last_checkpoint(runs, straight, tmp_path, count):
    runs.start(tmp_path, "a full disk", count)
    error = runs.hear()
    assert error.startswith("error ") and "checkpoint.npz" in error
    assert runs.hear() == "ended 2"
    names = {path.name for path in tmp_path.iterdir()}
    assert ("checkpoint.npz" in names) == (count > 1)
    assert not [name for name in names if ".part" in name]
    if count > 1:
        runs.finish(tmp_path)
        check_equal(tmp_path, straight)


# === Interrupts ===


@pytest.mark.once
@pytest.mark.parametrize(
    ("place", "number", "code"),
    [("a step", signal.SIGINT, 130), ("evaluating", signal.SIGTERM, 143)],
)
def test_an_interrupt_saves_and_ends(runs, straight, tmp_path, place, number, code):
    # In the middle of the second epoch, or while it is validated: nothing is lost.
    runs.start(tmp_path, place, 12 if place == "a step" else 2, steps=0)
    assert runs.hear() == "here"
    assert runs.send(number) == f"ended {code}"
    with np.load(tmp_path / "checkpoint.npz") as file:
        state = json.loads(str(file["state"]))
    expected = (1, 3) if place == "a step" else (2, 0)
    assert (state["epoch"], state["step"]) == expected
    runs.finish(tmp_path)
    check_equal(tmp_path, straight)
