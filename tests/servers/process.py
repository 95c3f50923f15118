"""KServe's server in a process of its own, in an environment that has kserve:
`ZOO_KSERVE_PYTHON`, or this."""

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

import pytest

from zoo.serving import Client

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("ZOO_KSERVE_PYTHON") or (
    sys.executable if importlib.util.find_spec("kserve") else None
)
marks = [
    pytest.mark.long,
    pytest.mark.skipif(
        PYTHON is None,
        reason="kserve is not here, and ZOO_KSERVE_PYTHON names no other Python",
    ),
]


class Server:
    """The server in a process of its own."""

    def __init__(self, folder, *options):
        self.folder = folder / "luong_local"
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in "ab"]
            port, rest_port = (found.getsockname()[1] for found in sockets)
        self.address, self.url = f"localhost:{port}", f"http://localhost:{rest_port}"
        command = [PYTHON, "-m", "zoo.servers.kserve", f"luong_local={self.folder}"]
        command += ["--port", str(port), "--rest-port", str(rest_port), *options]
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=log
            )
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("localhost", rest_port), 1).close()
                socket.create_connection(("localhost", port), 1).close()
                break
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def client(self, **options):
        return Client(self.url, "luong_local", timeout=60, retries=0, **options)

    def ask(self, path, body=None, **options):
        """The status and the JSON that answer a request."""
        import requests

        method = "GET" if body is None else "POST"
        if not isinstance(body, bytes | None):
            body = json.dumps(body)
        answer = requests.request(
            method, f"{self.url}{path}", data=body, timeout=60, **options
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
def serving(exported, folder, *options):
    shutil.copytree(exported / "1", folder / "luong_local" / "1")
    server = Server(folder, *options)
    try:
        yield server
    finally:
        code = server.stop()
    assert code in (0, -signal.SIGTERM)


def still_there(server):
    assert server.client().translate("A dog runs.") == "Ein Hund rennt."
