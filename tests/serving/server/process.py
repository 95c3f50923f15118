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
import pytest

from zoo.serving import Client

ROOT = Path(__file__).resolve().parents[3]
HERE = all(map(importlib.util.find_spec, ("ray", "fastapi", "uvicorn")))
PYTHON = os.environ.get("ZOO_RAY_PYTHON") or (HERE and sys.executable)
REASON = "Ray is not here, and ZOO_RAY_PYTHON names no other Python"
MARKS = [pytest.mark.long, pytest.mark.skipif(not PYTHON, reason=REASON)]


NAME = "luong_local"
COMMAND = [PYTHON, "-m", "zoo.serving.server.ray_serve"]


class Server:
    """The server in a process of its own."""

    def __init__(self, folder, *options, command=None):
        self.folder = folder / NAME
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in "ab"]
            port, rest_port = (found.getsockname()[1] for found in sockets)
        self.address, self.url = f"localhost:{port}", f"http://localhost:{rest_port}"
        if command:
            command = command(port, rest_port)
        else:
            command = [*COMMAND, f"{NAME}={self.folder}", *options]
            command += ["--port", str(port), "--rest-port", str(rest_port)]
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
                if self.ask(f"/v1/models/{NAME}")[0] == 200:
                    break
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def client(self, grpc=False, **options):
        address = self.address if grpc else self.url
        options = {"timeout": 60, "retries": 0, **options}
        return Client(address, NAME, **options)

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
def serving(exported, folder, *options, **choice):
    shutil.copytree(exported / "1", folder / NAME / "1")
    server = Server(folder, *options, **choice)
    try:
        server.wait()
        yield server
    finally:
        code = server.stop()
    # Of a framework's own command the code is the framework's.
    assert code in (0, -signal.SIGTERM) or choice


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


PREDICT = f"/v1/models/{NAME}:predict"
