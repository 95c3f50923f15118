"""Ray's server that follows the load, and on a cluster that runs already."""

import os
import signal
import subprocess
import threading
import time

import pytest

from tests.serving.server.process import (
    COMMAND,
    MARKS,
    PYTHON,
    ROOT,
    descendants,
    serving,
    still_there,
)
from zoo.serving.server.ray_serve import ENVIRONMENT

pytestmark = MARKS


def test_replicas_follow_the_load(exported, tmp_path):
    options = "--max-replicas", "2", "--target-ongoing-requests", "1"
    with serving(exported, tmp_path, *options) as server:
        stop = threading.Event()

        def work():
            with server.client() as client:
                while not stop.is_set():
                    client.translate(["A dog runs."] * 8)

        def replicas():
            names = descendants(server.process.pid).values()
            return sum("ServeReplica" in name for name in names)

        assert replicas() == 1
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            deadline = time.monotonic() + 120  # Ray waits for half a minute
            while replicas() < 2:
                assert time.monotonic() < deadline, server.log.read_text()
                time.sleep(0.5)
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        still_there(server)


# Ends when its input does, and its cluster with it.
_CLUSTER = """
import ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=2**27)
print(ray.get_runtime_context().gcs_address, flush=True)
input()
"""


@pytest.fixture
def cluster():
    """The address of a cluster with two processors, in a process of its own."""
    process = subprocess.Popen(
        [PYTHON, "-c", _CLUSTER],
        env={
            **os.environ,
            **ENVIRONMENT,
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "disabled",  # the command has no token either
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate("\n", timeout=60)


def test_a_cluster_keeps_its_application_and_a_signal_ends_the_wait(
    cluster, exported, tmp_path
):
    place = "--address", cluster
    command = [*COMMAND, f"luong_local={exported}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serving(exported, tmp_path, *place) as server:
        still_there(server)
        other = subprocess.run(
            [*command, *place],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert other.returncode == 1, other.stderr
        assert "has an application zoo already" in other.stderr
        still_there(server)
    # More processors than there are: Ray waits for a node that has them.
    log = tmp_path / "waiting"
    with log.open("wb") as file:
        waiting = subprocess.Popen(
            [*command, *place, "--threads", "9"], env=environment, stderr=file
        )
    time.sleep(15)
    assert waiting.poll() is None, log.read_text()
    waiting.send_signal(signal.SIGTERM)
    try:
        assert waiting.wait(60) == 0, log.read_text()
    finally:
        waiting.kill()
    assert "ready" not in log.read_text()
