"""A server on this machine that can be told to misbehave."""

import contextlib
import http.server
import re
import threading
import time

import pytest


class FileServer(http.server.ThreadingHTTPServer):
    """Serves `files` (path -> bytes) and keeps the `Range` of each request.

    `faults` are used up one for each request: an int is the status to answer with,
    ("cut", n) breaks off after n bytes, "no ranges" always sends the whole file,
    "wrong range" sends another range than the one asked for, ("length", text) states
    that Content-Length and, as "no ranges", always sends the whole file. "endless",
    "slow", "slow headers" and "endless redirect" (to the same file) go on until the
    client leaves, all but the first slowly. None is no fault.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {}
        self.faults = []
        self.ranges = []

    def handle_error(self, *args):
        """Ignores clients that leave."""

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        fault = self.server.faults.pop(0) if self.server.faults else None
        data = self.server.files.get(self.path)
        if data is None or isinstance(fault, int) and fault >= 300:
            return self.send_error(fault or 404)
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted else 0
        if isinstance(fault, str) and fault.startswith(("endless", "slow")):
            return self.go_on(fault)
        kind, value = fault if isinstance(fault, tuple) else (fault, None)
        if kind in ("no ranges", "length"):
            start = 0
        elif kind == "wrong range":
            start -= 1
        if start and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(fault if isinstance(fault, int) else 206 if start else 200)
        if start:
            whole = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.send_header("Content-Range", whole)
        body = data[start:]
        length = value if kind == "length" else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body[:value] if kind == "cut" else body)

    def go_on(self, fault):
        if fault == "slow headers":
            self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Header: ")
        else:
            self.send_response(302 if fault == "endless redirect" else 200)
            self.send_header("Location", self.path)
            self.end_headers()
        slow = fault != "endless"
        while True:
            self.wfile.write(b"x" * (1 if slow else 1 << 16))
            time.sleep(0.05 if slow else 0)

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
    monkeypatch.setattr("zoo.presets.download.PAUSE", 0)
    with serving(FileServer()) as file_server:
        yield file_server
