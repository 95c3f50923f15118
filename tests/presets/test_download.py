import io
import os
import socket
import sys
import threading
import time

import httpx2
import pytest

from zoo.presets import download
from zoo.presets.download import DownloadError, exclusive, fetch, store

pytestmark = pytest.mark.backend_free

DATA = bytes(range(256)) * 700  # several chunks


def read(path):
    return path.read_bytes()


@pytest.fixture
def url(server):
    server.files["/some/file.gz"] = DATA
    return server.url("/some/file.gz")


@pytest.fixture
def part(tmp_path):
    return tmp_path / "file.gz.part"


def test_a_fresh_download_is_whole_and_leaves_no_part(server, url, tmp_path, capsys):
    folder = tmp_path / "made" / "here"
    assert fetch(url, folder, read) == DATA
    assert list(folder.iterdir()) == []
    assert server.ranges == [None]
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("file.gz ━━━")
    assert last.endswith("100% 179.2/179.2 kB")


def test_a_terminal_sees_the_bar_grow(url, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    fetch(url, tmp_path, read)
    drawn = terminal.getvalue().split("\r")[1:]
    assert len(drawn) >= 2
    assert "100%" not in drawn[0]
    assert "100%" in drawn[-1]
    assert "\n" in drawn[-1] and "\n" not in drawn[0]


# What the server does, what an earlier attempt left, and the ranges then asked for.
@pytest.mark.parametrize(
    "faults, left, ranges",
    [
        ([], DATA[:1000], ["bytes=1000-"]),
        ([], DATA, [f"bytes={len(DATA)}-"]),  # complete: nothing is sent again
        (["no ranges"], b"x" * 1000, ["bytes=1000-"]),
        (["wrong range"], b"x" * 1000, ["bytes=1000-", None]),
        ([], DATA + b"x", [f"bytes={len(DATA) + 1}-", None]),
        ([("cut", 70000), ("cut", 5)], b"", [None, "bytes=70000-", "bytes=70005-"]),
        ([503, 429], b"", [None] * 3),
        ([203], b"", [None]),  # from a proxy that changes headers
        ([("length", "179300")], b"", [None, f"bytes={len(DATA)}-"]),
    ],
)
def test_a_transfer_is_completed(server, url, tmp_path, part, faults, left, ranges):
    part.write_bytes(left)
    server.faults = faults
    assert fetch(url, tmp_path, read) == DATA
    assert server.ranges == ranges and list(tmp_path.iterdir()) == []


def test_a_server_that_always_truncates_is_refused_and_the_part_kept(
    server, url, tmp_path, part
):
    server.faults = [("cut", 100), ("cut", 20), ("cut", 3)]
    with pytest.raises(DownloadError) as error:
        fetch(url, tmp_path, read)
    assert url in str(error.value)
    assert "123 of 179200 bytes" in str(error.value)
    assert f"123 bytes are kept in {part}" in str(error.value)
    assert part.read_bytes() == DATA[:123]
    assert len(server.ranges) == 3
    assert fetch(url, tmp_path, read) == DATA
    assert server.ranges[3:] == ["bytes=123-"]


def test_404_is_refused_at_once(server, tmp_path):
    with pytest.raises(DownloadError, match="404") as error:
        fetch(server.url("/missing.zip"), tmp_path, read)
    assert "/missing.zip" in str(error.value)
    assert str(error.value).endswith("(Not Found). Try again later")
    assert len(server.ranges) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("server")
def test_no_server_at_all(tmp_path):
    with socket.socket() as taken:  # bound and not listening: refuses
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/file.gz"
        with pytest.raises(DownloadError, match="refused"):
            fetch(url, tmp_path, read)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("host", ["127.0.0.1:99999", "127.0.0.1:-5", "[::1", "a\0"])
def test_an_invalid_address(tmp_path, host):
    url = f"http://{host}/file.gz"
    with pytest.raises(DownloadError) as error:
        fetch(url, tmp_path, read)
    assert str(error.value).startswith(f"cannot download {url}, received ")
    assert str(error.value).endswith(". Try again later")


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "other://a", "http://[::1"])
def test_a_proxy_that_cannot_be_used(url, tmp_path, monkeypatch, proxy):
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(DownloadError, match=r"received \w+: .*\. Try again later"):
        fetch(url, tmp_path, read)


def test_a_connection_lost_without_a_number(url, tmp_path, monkeypatch):
    async def send(*_, **__):
        raise httpx2.ConnectError("") from ConnectionResetError("Connection lost")

    monkeypatch.setattr(httpx2.AsyncClient, "send", send)
    with pytest.raises(DownloadError, match="ConnectionResetError: Connection lost"):
        fetch(url, tmp_path, read)


@pytest.mark.parametrize("fault", ["slow", "slow headers"])
def test_a_stalled_transfer(server, url, tmp_path, monkeypatch, fault):
    monkeypatch.setattr(download, "TIMEOUT", 0.02)
    server.faults = [fault] * 3
    with pytest.raises(DownloadError, match=r"received nothing for 0\.02 s"):
        fetch(url, tmp_path, read)


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_what_cannot_be_unpacked_is_removed(server, url, tmp_path, error):
    def refuse(path):
        raise error(f"{path.name} is broken")

    with pytest.raises(error, match="file.gz.part is broken"):
        fetch(url, tmp_path, refuse)
    assert list(tmp_path.iterdir()) == []
    assert len(server.ranges) == 1


def test_a_stale_part_is_fetched_once_more_from_the_start(server, url, tmp_path, part):
    def check(path):
        if path.read_bytes() != DATA:
            raise ValueError("pieced together from two versions")
        return "good"

    part.write_bytes(b"older version")
    assert fetch(url, tmp_path, check) == "good"
    assert server.ranges == ["bytes=13-", None]


# === Bounds ===


@pytest.mark.parametrize("limit", [1, 65536, len(DATA) - 1])
def test_a_body_without_end_is_refused_at_the_limit(server, url, tmp_path, limit):
    server.faults = ["endless"]
    with pytest.raises(DownloadError, match=f"more than the {limit} bytes") as error:
        fetch(url, tmp_path, read, limit=limit)
    assert url in str(error.value) and str(error.value).endswith(". Try again later")
    assert list(tmp_path.iterdir()) == []
    assert len(server.ranges) == 1
    assert fetch(url, tmp_path, read, limit=len(DATA)) == DATA


def test_a_length_beyond_the_limit_is_refused_unread(server, url, tmp_path, capsys):
    with pytest.raises(DownloadError, match="received 179200 bytes.*at most 179199"):
        fetch(url, tmp_path, read, limit=len(DATA) - 1)
    assert capsys.readouterr().err == ""  # no progress
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", ["abc", "-5", "1e3", "9" * 5000, "²"])
def test_a_length_that_is_no_number(server, url, tmp_path, length):
    server.faults = [("length", length)] * 3
    with pytest.raises(DownloadError, match="received .*Content-Length"):
        fetch(url, tmp_path, read)
    assert fetch(url, tmp_path, read) == DATA


def test_a_length_that_is_too_large(server, url, tmp_path):
    """A server that sends everything again has nothing to go on from."""
    server.faults = [("length", "179300")] * 3
    with pytest.raises(DownloadError, match="received 179200 of 179300 bytes twice"):
        fetch(url, tmp_path, read)
    assert list(tmp_path.iterdir()) == []
    server.faults = []
    assert fetch(url, tmp_path, read) == DATA
    assert server.ranges == [None, "bytes=179200-", None]


def test_a_length_that_is_too_small(server, url, tmp_path):
    server.faults = [("length", "1000")]
    assert fetch(url, tmp_path, read) == DATA[:1000]  # which `unpack` would refuse
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ["slow", "slow headers", "endless redirect"])
def test_the_deadline(server, url, tmp_path, monkeypatch, fault):
    """A byte now and then keeps every socket's timeout away."""
    server.faults = [fault]
    start = time.monotonic()
    if fault == "endless redirect":  # whose body nobody needs
        monkeypatch.setattr(download, "DEADLINE", 5)
        assert fetch(url, tmp_path, read) == DATA
    else:
        monkeypatch.setattr(download, "DEADLINE", 0.3)
        with pytest.raises(DownloadError, match=r"\d bytes in 0\.3 s") as error:
            fetch(url, tmp_path, read)
        assert url in str(error.value)
    assert time.monotonic() - start < 10
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert fetch(url, tmp_path, read) == DATA
    assert set(server.ranges) == {None}


@pytest.mark.parametrize("left, resume", [(DATA + DATA, True), (DATA[:1000], False)])
def test_a_part_that_is_too_long_or_unwanted_is_dropped(
    server, url, tmp_path, part, left, resume
):
    part.write_bytes(left)
    assert fetch(url, tmp_path, read, limit=len(DATA), resume=resume) == DATA
    assert server.ranges == [None]


# === Others at the same time ===


def test_one_at_a_time(tmp_path):
    inside, most = [], []

    def enter():
        with exclusive(tmp_path / "made" / "here"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "here",
        "here.lock",
    ]


def test_waiting_has_an_end_and_is_told_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(download, "DEADLINE", 0.1)
    monkeypatch.setattr(download, "SILENT", 0.0)
    with exclusive(tmp_path / "folder"):
        with pytest.raises(DownloadError, match="another process.*folder.lock"):
            with exclusive(tmp_path / "folder"):
                pass
    message = f"waiting for another process that is downloading to {tmp_path}/folder\n"
    assert capsys.readouterr().err == message
    with exclusive(tmp_path / "folder"):  # free again
        pass


# === Writing ===


def test_a_folder_that_cannot_be_made(url, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="cannot write to .*file.*ZOO_CACHE_DIR"):
        fetch(url, tmp_path / "file" / "folder", read)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_full_disk(server, url, tmp_path, part):
    part.symlink_to("/dev/full")
    with pytest.raises(DownloadError, match="No space left on device"):
        fetch(url, tmp_path, read)
    assert len(server.ranges) == 1  # asking again would not help


def test_store_replaces_a_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "folder" / "train.en"
    for data in (b"first", b"second"):
        store(path, data)
        assert path.read_bytes() == data
    assert [path.name for path in path.parent.iterdir()] == ["train.en"]


def test_store_that_fails_leaves_nothing_behind(tmp_path):
    (tmp_path / "train.en").mkdir()
    with pytest.raises(DownloadError, match="cannot write to"):
        store(tmp_path / "train.en", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["train.en"]
