"""A server on this machine that can be told to misbehave."""

import contextlib
import http.server
import threading
import time

import pytest


class FileServer(http.server.ThreadingHTTPServer):
    """Serves `files` (path -> bytes) and keeps the path of each request.

    `faults` are used up one for each request: an int is the status to answer with,
    ("cut", n) breaks off after n bytes, ("length", text) states that Content-Length,
    "endless" and "slow" go on until the client leaves, and None is no fault.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {}
        self.faults = []
        self.requests = []

    def handle_error(self, *args):
        """Ignores clients that leave."""

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        fault = self.server.faults.pop(0) if self.server.faults else None
        data = self.server.files.get(self.path)
        if data is None or isinstance(fault, int):
            return self.send_error(fault or 404)
        kind, value = fault if isinstance(fault, tuple) else (fault, None)
        self.send_response(200)
        if kind not in ("endless", "slow"):
            length = value if kind == "length" else str(len(data))
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(data[:value] if kind == "cut" else data)
        while kind in ("endless", "slow"):
            self.wfile.write(b"x" * (1 if kind == "slow" else 1 << 16))
            time.sleep(0.05 if kind == "slow" else 0)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def serving(server):
    """Runs a server of `http.server` in a thread, and gives it."""
    with server:
        # The default poll would make every test wait half a second at its end.
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("zoo.data.corpus.PAUSE", 0)
    with serving(FileServer()) as file_server:
        yield file_server
