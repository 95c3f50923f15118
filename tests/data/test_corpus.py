"""A corpus that is not at hand is downloaded, checked and kept."""

import dataclasses
import gzip
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.data.conftest import SIDES, peak
from zoo.data import CorpusError, DownloadError, load, tatoeba
from zoo.data import corpus as corpus_module
from zoo.data.corpora import CORPORA
from zoo.data.corpus import CorpusFile, download, read_packed

pytestmark = [pytest.mark.backend_free, pytest.mark.usefixtures("nothing_at_hand")]


def contents(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# === Download ===


@pytest.fixture
def public(server, monkeypatch):
    """Serves SIDES as multi30k's public source, and knows their sha256."""
    for name, text in SIDES.items():
        server.files[f"/raw/{name}.gz"] = gzip.compress(text.encode())
    sizes = {name: file.size for name, file in CORPORA["multi30k"].files.items()}
    files = {
        name: CorpusFile(server.url(f"/raw/{name}.gz"), sizes[name], sha256(text))
        for name, text in SIDES.items()
    }
    corpus = dataclasses.replace(CORPORA["multi30k"], files=files)
    monkeypatch.setitem(CORPORA, "multi30k", corpus)
    return server


def test_a_download_fills_the_cache_in_the_same_layout(public, tmp_path):
    assert list(load("multi30k"))[1] == ("A cat.", "Eine Katze.")
    folder = tmp_path / "cache" / "multi30k"
    assert contents(folder) == {name: SIDES[name] for name in ("train.en", "train.de")}
    load("multi30k")
    assert len(public.requests) == 2  # nothing is fetched twice
    load("multi30k", source="fr", target="en")
    assert len(public.requests) == 3
    assert contents(folder) == SIDES


def test_another_content_is_refused(public, tmp_path):
    public.files["/raw/train.de.gz"] = gzip.compress(b"Ein Wolf.\nEine Katze.\n")
    expected = f"train.de.gz does not have .*train.de: {sha256(SIDES['train.de'])}"
    with pytest.raises(CorpusError, match=expected.replace("de: ", "de: sha256 ")):
        load("multi30k")
    assert list(contents(tmp_path / "cache" / "multi30k")) == ["train.en"]
    with pytest.raises(CorpusError):  # the source does not come in snapshots
        load("multi30k", allow_newer=True)


@pytest.mark.parametrize(
    "data", [b"<html>", gzip.compress(b"A dog.\n" * 99)[:-12]], ids=["page", "cut"]
)
def test_what_is_no_whole_gzip_file_is_refused(public, tmp_path, data):
    public.files["/raw/train.en.gz"] = data
    with pytest.raises(CorpusError, match="train.en.gz is damaged.*ZOO_DATA_DIR"):
        load("multi30k")
    assert contents(tmp_path / "cache" / "multi30k") == {}


def test_an_altered_cache_file_is_refused_by_name(public, tmp_path):
    load("multi30k")
    path = tmp_path / "cache" / "multi30k" / "train.de"
    path.write_text("Ein Hund.\nEine")
    with pytest.raises(
        CorpusError, match=r"train\.de is altered: its sha256.*Remove the"
    ):
        load("multi30k")
    path.unlink()
    assert len(load("multi30k")) == 2


def test_what_is_larger_than_it_may_be(public, tmp_path, monkeypatch):
    files = CORPORA["multi30k"].files
    monkeypatch.setitem(files, "train.en", files["train.en"]._replace(size=14))
    right = public.files["/raw/train.en.gz"]
    public.files["/raw/train.en.gz"] = gzip.compress(bytes(10_000_000), 9)
    with pytest.raises(CorpusError, match="train.en should have at most 42 bytes"):
        load("multi30k")
    with monkeypatch.context() as patch:
        patch.setattr(corpus_module, "DOWNLOAD_LIMIT", 20)
        with pytest.raises(DownloadError, match="at most 20 bytes"):
            load("multi30k")
    assert contents(tmp_path / "cache" / "multi30k") == {}
    public.files["/raw/train.en.gz"] = right
    assert len(load("multi30k")) == 2


def test_of_several_at_once_one_downloads(public, tmp_path):
    """Processes, as `torchrun` starts them."""
    files = {name: tuple(file) for name, file in CORPORA["multi30k"].files.items()}
    script = f"""
from zoo.data import load
from zoo.data.corpora import CORPORA
from zoo.data.corpus import CorpusFile
for name, file in {files!r}.items():
    CORPORA["multi30k"].files[name] = CorpusFile(*file)
assert len(load("multi30k")) == 2
"""
    command, root = [sys.executable, "-c", script], Path(__file__).parents[2]
    running = [subprocess.Popen(command, cwd=root) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(public.requests) == 2
    assert len(contents(tmp_path / "cache" / "multi30k")) == 2


def test_a_gzip_file_broken_anywhere_or_a_bomb_is_refused_in_bounded_memory(tmp_path):
    text, path = b"Go.\tGeh.\n" * 50, tmp_path / "a.gz.part"
    whole = gzip.compress(text)
    for place in range(1, len(whole)):
        path.write_bytes(whole[:place])
        with pytest.raises(CorpusError, match="a.gz is damaged"):
            read_packed(path, "a", len(text))
    path.write_bytes(whole)
    assert read_packed(path, "a", len(text)) == text
    path.write_bytes(gzip.compress(bytes(100_000_000), 1))
    assert peak(read_packed, path, "a", 1_000_000) < 8_000_000


# === A source that comes in snapshots ===


@pytest.fixture
def snapshots(server, tmp_path, monkeypatch):
    """Serves an archive as tatoeba's public source; returns a way to replace it."""
    keys = [tatoeba.sentence_key(text) for text in ("Hi.", "Stop!")]
    monkeypatch.setattr(tatoeba, "held_out_sentences", lambda: keys)

    def publish(rows):
        path = tmp_path / "deu-eng.zip"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("deu.txt", "".join(f"{en}\t{de}\n" for en, de in rows))
        server.files["/anki/deu-eng.zip"] = path.read_bytes()
        return path

    rows = [("Hi.", "Hallo!"), ("Stop!", "Halt!"), ("Go.", "Geh."), ("Hi.", "Hi!")]
    files = tatoeba.unpack(publish(rows))
    url = server.url("/anki/deu-eng.zip")
    files = {
        name: CorpusFile(url, len(data), hashlib.sha256(data).hexdigest())
        for name, data in files.items()
    }
    corpus = dataclasses.replace(CORPORA["tatoeba"], files=files)
    monkeypatch.setitem(CORPORA, "tatoeba", corpus)
    return lambda: publish([*rows, ("Run!", "Lauf!"), ("Hi.", "Na?")])


def test_one_archive_gives_all_files(snapshots, server, tmp_path):
    assert list(load("tatoeba")) == [("Go.", "Geh.")]
    assert load("tatoeba", split="valid").references == [["Hallo!", "Hi!"]]
    assert load("tatoeba", split="test").sources == ["Stop!"]
    assert len(server.requests) == 1
    names = {f"{s}.{lang}" for s in ("train", "valid", "test") for lang in ("en", "de")}
    assert set(contents(tmp_path / "cache" / "tatoeba")) == names


def test_a_source_that_has_moved_on_is_refused(snapshots, tmp_path):
    snapshots()
    with pytest.raises(
        CorpusError, match="zip does not have zoo's .*2018-05-13: allow_newer=True"
    ):
        load("tatoeba")
    assert contents(tmp_path / "cache" / "tatoeba") == {}


def test_a_newer_snapshot_is_taken_on_request_and_kept_apart(snapshots, server):
    snapshots()
    for _ in range(2):
        with pytest.warns(
            UserWarning, match="tatoeba-newer.*newer.*2018-05-13"
        ) as seen:
            pairs = load("tatoeba", split="valid", allow_newer=True)
        assert pairs.references == [["Hallo!", "Hi!", "Na?"]]
        assert seen[0].filename == __file__
    assert len(server.requests) == 1
    with pytest.raises(CorpusError, match="allow_newer"):
        load("tatoeba", split="valid")


def test_a_broken_archive_heals_with_the_source(snapshots, server, tmp_path):
    whole = server.files["/anki/deu-eng.zip"]
    server.files["/anki/deu-eng.zip"] = whole[:100]
    with pytest.raises(CorpusError, match="ZOO_DATA_DIR"):
        load("tatoeba")
    assert contents(tmp_path / "cache" / "tatoeba") == {}
    server.files["/anki/deu-eng.zip"] = whole
    assert list(load("tatoeba")) == [("Go.", "Geh.")]


@pytest.mark.parametrize("first", [False, True])
def test_allow_newer_takes_the_snapshot_that_is_meant(snapshots, recwarn, first):
    assert list(load("tatoeba", allow_newer=first)) == [("Go.", "Geh.")]
    snapshots()
    assert list(load("tatoeba", allow_newer=True)) == [("Go.", "Geh.")]
    assert not recwarn.list


# === One file ===
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
    monkeypatch.setattr(corpus_module, "TIMEOUT", 0.02)
    with pytest.raises(DownloadError, match="ReadTimeout"):
        download(url, path, 1 << 20)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /dev/full")
def test_a_full_disk(server, url, path):
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        download(url, path, len(DATA))
    assert len(server.requests) == 1 and os.path.islink(path)
