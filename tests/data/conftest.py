"""A server on this machine that can be told to misbehave."""

import http.server
import re
import threading

import pytest

from zoo.data import download


class FileServer(http.server.ThreadingHTTPServer):
    """Serves `files` (path -> bytes) and keeps the `Range` of each request.

    `faults` are used up one for each request: an int is the status to answer with,
    ("cut", n) breaks off after n bytes, "no ranges" always sends the whole file,
    "wrong range" sends another range than the one asked for. None is no fault.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {}
        self.faults = []
        self.ranges = []

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        fault = self.server.faults.pop(0) if self.server.faults else None
        data = self.server.files.get(self.path)
        if isinstance(fault, int) or data is None:
            return self.send_error(fault or 404)
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted else 0
        if fault == "no ranges":
            start = 0
        elif fault == "wrong range":
            start -= 1
        if start and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if start else 200)
        if start:
            whole = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.send_header("Content-Range", whole)
        body = data[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: fault[1]] if isinstance(fault, tuple) else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0)
    with FileServer() as file_server:
        # The default poll would make every test wait half a second at its end.
        thread = threading.Thread(
            target=file_server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield file_server
        file_server.shutdown()
        thread.join()
