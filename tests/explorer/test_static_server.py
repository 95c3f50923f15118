"""The explorer's static server, asked over HTTP."""

import threading

import httpx2
import pytest

from zoo.explorer import STATIC
from zoo.explorer.static_server import static_server

pytestmark = pytest.mark.backend_free


@pytest.fixture(scope="module")
def address():
    with static_server(STATIC, port=0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html"),
        ("assets/engine.js", "text/javascript"),
        ("assets/ort.wasm.gz", "application/gzip"),
        ("nothing", None),
        ("%2e%2e/%2e%2e/__init__.py", None),
    ],
)
def test_files_are_served(address, path, kind):
    answer = httpx2.get(address + path)
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.status_code == (200 if kind else 404)
    if kind:
        assert answer.headers["Content-Type"].startswith(kind)
        assert answer.content == (STATIC / (path or "index.html")).read_bytes()


def test_an_address_in_use_is_refused(address):
    with pytest.raises(OSError, match="in use"):
        static_server(STATIC, port=int(address.rsplit(":", 1)[1].rstrip("/")))
