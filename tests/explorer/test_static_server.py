"""The explorer's static server, asked over HTTP."""

import threading
import urllib.error
import urllib.request

import pytest

from zoo.explorer import STATIC
from zoo.explorer.static_server import StaticServer, is_loopback

pytestmark = pytest.mark.backend_free


@pytest.fixture(scope="module")
def server():
    with StaticServer(STATIC, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, **headers):
    """Returns the status, the headers and the content of an answer."""
    address = f"http://127.0.0.1:{server.server_port}/{path}"
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("", 200, "text/html; charset=utf-8"),
        ("assets/engine.js", 200, "text/javascript"),
        ("assets/ort.wasm.gz", 200, "application/gzip"),
        ("licenses.txt", 200, "text/plain; charset=utf-8"),
        ("assets/", 404, None),  # no list of files
        ("nothing", 404, None),
        ("../../__init__.py", 404, None),
        ("%2e%2e/%2e%2e/__init__.py", 404, None),
    ],
)
def test_files_are_served_with_strict_headers(server, path, status, kind):
    got, headers, content = ask(server, path)
    assert got == status
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    if kind:
        assert headers["Content-Type"] == kind
        assert content == (STATIC / (path or "index.html")).read_bytes()


@pytest.mark.parametrize("host", ["a.example", "", "127.0.0.1.a.example:80"])
def test_a_page_elsewhere_cannot_ask_for_a_file(server, host):
    assert ask(server, "index.html", Host=host)[0] == 403
    assert ask(server, "index.html", Host="localhost:9")[0] == 200
    assert ask(server, "index.html", Host="[")[0] == 403


def test_an_address_in_use_is_refused(server):
    with pytest.raises(OSError, match="in use"):
        StaticServer(STATIC, port=server.server_port)


def test_loopback():
    local = ["127.0.0.1", "127.8.9.1", "::1", "localhost"]
    assert all(map(is_loopback, local))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "host"]))
