import os
import sys

import pytest

from zoo.data import DownloadError
from zoo.data import download as module
from zoo.data.download import download

pytestmark = pytest.mark.backend_free

DATA = bytes(range(256)) * 700  # several chunks


@pytest.fixture
def url(server):
    server.files["/some/file.gz"] = DATA
    return server.url("/some/file.gz")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.gz.part"


@pytest.mark.parametrize(
    "faults", [[], [("cut", 70000), ("cut", 5)], [503, 502], [("length", "179300")]]
)
def test_a_file_is_downloaded_whole(server, url, path, capsys, faults):
    server.faults = list(faults)
    download(url, path, 1 << 20)
    assert path.read_bytes() == DATA
    assert len(server.requests) == len(faults) + 1
    assert "179.2/179.2 kB" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "faults, limit, requests, message",
    [
        ([404], len(DATA), 1, "HTTPStatusError: .*404"),
        ([500] * 3, len(DATA), 3, "HTTPStatusError: .*500"),
        ([("cut", 100)] * 3, len(DATA), 3, "RemoteProtocolError"),
        ([("length", "no number")] * 3, len(DATA), 3, "RemoteProtocolError"),
        ([], len(DATA) - 1, 1, "at most 179199 bytes, received more"),
        (["endless"], len(DATA), 1, "at most 179200 bytes, received more"),
    ],
)
def test_answers_that_are_refused(server, url, path, faults, limit, requests, message):
    server.faults = list(faults)
    with pytest.raises(DownloadError, match=f"{url}.*{message}"):
        download(url, path, limit)
    assert len(server.requests) == requests


def test_slow_answers_end(server, url, path, monkeypatch):
    server.faults = ["slow"] * 3
    monkeypatch.setattr(module, "TIMEOUT", 0.02)
    with pytest.raises(DownloadError, match="ReadTimeout"):
        download(url, path, 1 << 20)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /dev/full")
def test_a_full_disk(server, url, path):
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        download(url, path, len(DATA))
    assert len(server.requests) == 1 and os.path.islink(path)
