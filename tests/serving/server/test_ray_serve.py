"""Ray's server, started for real: both protocols, hostile requests, load, a kill."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import numpy as np
import pytest

from zoo.serving import Client, ServingError
from zoo.serving.server.ray_serve import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[3]
NAME, GERMAN = "luong_local", "Ein Hund rennt."
PREDICT = f"/v1/models/{NAME}:predict"
TEXTS = ["A dog runs.", "", "Two men sit at a table.", "qwxz 日本 dog"]
PACKAGES = "ray", "fastapi", "uvicorn", "tensorflow_serving"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, PACKAGES)), reason="it is of `ray`"
    ),
]
BOTH = pytest.mark.parametrize("over_grpc", [False, True], ids=["REST", "gRPC"])


class Server:
    """The server in a process of its own; `command` is a function of both ports."""

    def __init__(self, folder, *options, command=None):
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in "ab"]
            self.port, rest_port = (found.getsockname()[1] for found in sockets)
        self.url, self.log = f"http://localhost:{rest_port}", folder / "log"
        words = [sys.executable, "-m", "zoo.serving.server.ray_serve"]
        words += [f"{NAME}={folder / NAME}", *options]
        words += ["--port", str(self.port), "--rest-port", str(rest_port)]
        words = command(self.port, rest_port) if command else words
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, env=environment, stderr=log)

    def wait(self):
        """Waits until both ports answer."""
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError, ValueError, httpx2.TransportError):
                socket.create_connection(("localhost", self.port), 1).close()
                if self.ask(f"/v1/models/{NAME}")[0] == 200:
                    break
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def client(self, grpc=False, **options):
        address = f"localhost:{self.port}" if grpc else self.url
        return Client(address, NAME, **{"timeout": 60, "retries": 0, **options})

    def ask(self, path, body=None, **options):
        """The status and the JSON that answer a request."""
        method = "GET" if body is None else "POST"
        body = body if isinstance(body, bytes | None) else json.dumps(body)
        url = f"{self.url}{path}"
        answer = httpx2.request(method, url, content=body, timeout=60, **options)
        return answer.status_code, answer.json()

    def still_there(self):
        for grpc in (False, True):
            assert self.client(grpc).translate("A dog runs.") == GERMAN

    def descendants(self):
        """The names of its processes by their ids."""
        lines = subprocess.check_output(["ps", "-eo", "pid=,ppid=,args="], text=True)
        rows = [line.split(None, 2) for line in lines.splitlines()]
        found, before = {self.process.pid}, 0
        while len(found) > before:
            before = len(found)
            found |= {int(row[0]) for row in rows if int(row[1]) in found}
        return {int(x): name for x, _, name in rows if int(x) in found}


@contextlib.contextmanager
def serving(exported, folder, *options, **choice):
    shutil.copytree(exported / "1", folder / NAME / "1")
    server = Server(folder, *options, **choice)
    try:
        server.wait()
        yield server
    finally:
        server.process.send_signal(signal.SIGTERM)  # as Kubernetes sends it
        code = server.process.wait(40)
    # Of Ray's own command the code is Ray's.
    assert code in (0, -signal.SIGTERM) or choice


@pytest.fixture(scope="module")
def server(exported, tmp_path_factory):
    with serving(exported, tmp_path_factory.mktemp("served")) as server:
        yield server
        pids = server.descendants()
        assert any("ServeReplica" in name for name in pids.values())
    # Nothing of Ray's outlives it.
    deadline = time.monotonic() + 20
    while left := {pid for pid in pids if os.path.exists(f"/proc/{pid}")}:
        assert time.monotonic() < deadline, {pid: pids[pid] for pid in left}
        time.sleep(0.1)


@BOTH
def test_the_client_gets_what_the_runtime_gives(server, translator, over_grpc):
    with server.client(over_grpc) as client:
        assert client.translate(TEXTS) == translator.translate(TEXTS)
        records = translator.translate(TEXTS, return_details=True)
        for found, wanted in zip(client.align(TEXTS), records, strict=True):
            assert (found["text"], found["tokens"]) == (wanted.text, wanted.tokens)
            assert found["source_tokens"] == wanted.source_tokens
            np.testing.assert_allclose(found["alignment"], wanted.alignment, atol=1e-4)


def test_status_and_health(server):
    status, answer = server.ask(f"/v1/models/{NAME}")
    assert answer["model_version_status"][0]["state"] == "AVAILABLE"
    # As curl sends it, without a content type for JSON.
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    status, answer = server.ask(PREDICT, {"instances": ["A dog runs."]}, headers=form)
    assert (status, answer["predictions"][0]["translation"]) == (200, GERMAN)
    assert httpx2.get(f"{server.url}/-/healthz", timeout=60).text == "success"


# === Hostile requests ===
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"\xff\xfe", 400),
        (b'{"instances": ["' + b"a" * 10_000_000 + b'"]}', 400),
        ({"instances": ["a"] * 513}, 400),
        ({"instances": ["日" * 100_000, "\x00\x1b[31m", "\u202e", "👩‍👩‍👧"]}, 200),
    ],
    ids=lambda value: str(value)[:30],
)
def test_hostile_bodies(server, body, status):
    found, answer = server.ask(PREDICT, body)
    assert found == status, answer
    assert ("error" in answer) == (status != 200)
    server.still_there()


def test_hostile_messages(server):
    import grpc

    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        for sent, code in (
            (b"\xff" * 100, "INVALID_ARGUMENT"),
            (bytes(10_000_000), "RESOURCE_EXHAUSTED"),
        ):
            with pytest.raises(grpc.RpcError) as error:
                call(sent, timeout=60)
            assert error.value.code().name == code
    server.still_there()


# === The example for Kubernetes ===
def test_the_example_for_kuberay(exported, tmp_path, monkeypatch):
    """Its Serve config, but for ports and folder, with the variables of its image."""
    yaml = pytest.importorskip("yaml", reason="the example is YAML")
    text = (ROOT / "deploy/kubernetes/rayservice.yaml").read_text()
    config = yaml.safe_load(yaml.safe_load(text)["spec"]["serveConfigV2"])
    image = (ROOT / "deploy/ray.Dockerfile").read_text()
    for name, value in ENVIRONMENT.items():
        assert f"{name}={value}" in image
        monkeypatch.setenv(name, value)

    def command(port, rest_port):
        config["grpc_options"]["port"] = port
        config["http_options"].update(port=rest_port, host="127.0.0.1")
        config["applications"][0]["args"]["models"] = {NAME: str(tmp_path / NAME)}
        (tmp_path / "serve.yaml").write_text(yaml.safe_dump(config))
        serve = Path(sys.executable).with_name("serve")
        return [serve, "run", "--address", "local", str(tmp_path / "serve.yaml")]

    with serving(exported, tmp_path, command=command) as server:
        server.still_there()
        assert server.ask("/nothing")[0] == 400


# === Load ===
def test_a_killed_replica_is_replaced_and_no_answer_is_wrong(exported, tmp_path):
    with serving(exported, tmp_path, "--replicas", "2") as server:
        found, errors, stop = [], [], threading.Event()

        def replicas():
            names = server.descendants().items()
            return {pid for pid, name in names if "ServeReplica" in name}

        def work(client):
            while not stop.is_set():
                try:
                    found.append(client.translate(["A dog runs."] * 4))
                except ServingError as error:
                    errors.append(error)

        server.still_there()  # the first use imports TensorFlow Serving's messages
        clients = [server.client(n % 2, retries=5) for n in range(6)]
        threads = [threading.Thread(target=work, args=(x,)) for x in clients]
        for thread in threads:
            thread.start()
        first = replicas()
        assert len(first) == 2
        time.sleep(2)
        os.kill(min(first), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while len(replicas()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join(60)
        assert not errors and len(found) > 20 and replicas() - first
        assert all(texts == [GERMAN] * 4 for texts in found)
        server.still_there()


def test_a_request_that_takes_too_long_is_given_up(exported, tmp_path):
    with serving(exported, tmp_path, "--timeout", "2") as server:
        server.still_there()
        long = ["A man in a blue shirt stands on a ladder. " * 10] * 512
        for over_grpc in (False, True):
            with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
                server.client(over_grpc, batch_size=512).translate(long)
