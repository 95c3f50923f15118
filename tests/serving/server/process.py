"""Ray's server in a process of its own, in an environment that has what it needs:
that of `ZOO_RAY_PYTHON`, or this."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import numpy as np
import pytest

from zoo.serving import Client, ServingError
from zoo.training.recipes.captioner_recipe import draw_tests

ROOT = Path(__file__).resolve().parents[3]
HERE = all(map(importlib.util.find_spec, ("ray", "fastapi", "uvicorn")))
PYTHON = os.environ.get("ZOO_RAY_PYTHON") or (HERE and sys.executable)
REASON = "Ray is not here, and ZOO_RAY_PYTHON names no other Python"
MARKS = [pytest.mark.long, pytest.mark.skipif(not PYTHON, reason=REASON)]


class Server:
    """The server in a process of its own."""

    def __init__(self, folder, *options, command=None, name="luong_local"):
        self.folder, self.name = folder / name, name
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in "ab"]
            port, rest_port = (found.getsockname()[1] for found in sockets)
        self.address, self.url = f"localhost:{port}", f"http://localhost:{rest_port}"
        if command:
            command = command(port, rest_port)
        else:
            command = [
                PYTHON,
                "-m",
                "zoo.serving.server.ray_serve",
                f"{name}={self.folder}",
            ]
            command += ["--port", str(port), "--rest-port", str(rest_port), *options]
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=log
            )

    def wait(self):
        """Waits until both ports answer."""
        port = int(self.address.rpartition(":")[2])
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError, ValueError, httpx2.TransportError):
                socket.create_connection(("localhost", port), 1).close()
                if self.ask(f"/v1/models/{self.name}")[0] == 200:
                    break
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def client(self, grpc=False, **options):
        address = self.address if grpc else self.url
        options = {"timeout": 60, "retries": 0, **options}
        return Client(address, self.name, **options)

    def ask(self, path, body=None, **options):
        """The status and the JSON that answer a request."""
        method = "GET" if body is None else "POST"
        if not isinstance(body, bytes | None):
            body = json.dumps(body)
        answer = httpx2.request(
            method, f"{self.url}{path}", content=body, timeout=60, **options
        )
        return answer.status_code, answer.json()

    def stop(self):
        """The exit code; SIGTERM is what Kubernetes sends."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"it did not stop: {self.log.read_text()}")


@contextlib.contextmanager
def serving(exported, folder, *options, name="luong_local", **choice):
    shutil.copytree(exported / "1", folder / name / "1")
    server = Server(folder, *options, name=name, **choice)
    try:
        server.wait()
        yield server
    finally:
        code = server.stop()
    # Of a framework's own command the code is the framework's.
    assert code in (0, -signal.SIGTERM) or "command" in choice


def captions_of(client, task):
    """Asks a captioner's server for what the task tells; captions, and an image."""
    images = draw_tests("scenes", range(3))
    wanted = task.caption(images, return_details=True)
    captions = [record.text for record in wanted]
    assert client.caption(images) == captions
    assert client.caption(images[0]) == captions[0]
    [(best, score), *_] = client.caption_n_best(images[0])
    assert best == captions[0] and score == pytest.approx(wanted[0].score, abs=1e-4)
    found = client.align_caption(images[0])
    assert (found["text"], found["tokens"]) == (best, wanted[0].tokens)
    np.testing.assert_allclose(found["alignment"], wanted[0].alignment, atol=1e-4)
    with pytest.raises(ServingError, match="damaged") as error:
        client.caption(b"no image")
    assert error.value.code == "INVALID_ARGUMENT"
    return captions, images[0]


def still_there(server):
    for grpc in (False, True):
        assert server.client(grpc).translate("A dog runs.") == "Ein Hund rennt."


def descendants(pid):
    """The names of a process's descendants by their ids, by Linux's /proc."""
    lines = subprocess.check_output(["ps", "-eo", "pid=,ppid=,args="], text=True)
    rows = [line.split(None, 2) for line in lines.splitlines()]
    found, before = {pid}, 0
    while len(found) > before:
        before = len(found)
        found |= {int(row[0]) for row in rows if int(row[1]) in found}
    return {int(row[0]): row[2] for row in rows if int(row[0]) in found - {pid}}


# === Hostile requests, with the status that answers them ===
PREDICT = "/v1/models/luong_local:predict"
HEAD = f"POST {PREDICT} HTTP/1.1\r\nHost: a\r\n".encode()
SLOW = HEAD + b"Content-Length: 1000\r\n\r\n{"  # and then nothing
hostile_bodies = pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"\xff\xfe", 400),
        ('{"instances": ["é"]}'.encode("latin-1"), 400),
        (b"[" * 1_000_000, 400),
        (b'{"instances": [' + b"1" * 100_000 + b"]}", 400),
        (b'{"instances": ["' + b"a" * 10_000_000 + b'"]}', 400),
        ({"instances": [1, None, {}]}, 400),
        ({"instances": ["a"] * 513}, 400),
        ({"signature_name": "nothing", "instances": ["a"]}, 400),
        ({"instances": ["a" * 5_000_000]}, 200),
        ({"instances": ["日" * 100_000, "\x00\x1b[31m", "\u202e", "👩‍👩‍👧"]}, 200),
    ],
    ids=lambda value: str(value)[:30],
)


def hostile_connections(port):
    """Nothing after the head, a wrong length, no HTTP, a head without an end."""
    opened = []
    for content in (
        b"",
        b"\x00" * 1000,
        HEAD,
        SLOW,
        HEAD + b"Content-Length: -1\r\n\r\n{}",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"X: " + b"a" * 1_000_000,
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ):
        connection = socket.create_connection(("localhost", port), 10)
        with contextlib.suppress(OSError):
            connection.sendall(content)
        opened.append(connection)
    return opened
