"""Corpora on a server on this machine."""

import tracemalloc

import pytest

from zoo.data import CorpusError

# A corpus's files, and their content.
SIDES = {
    "train.en": "A dog.\nA cat.\n",
    "train.de": "Ein Hund.\nEine Katze.\n",
    "train.fr": "Un chien.\nUn chat.\n",
}


@pytest.fixture
def nothing_at_hand(tmp_path, monkeypatch):
    """No corpora, and a cache of this test's own."""
    monkeypatch.delenv("ZOO_DATA_DIR", raising=False)
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def write(tmp_path):
    """Writes a file of text or bytes."""

    def write_file(content, name="a.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def peak(function, *args):
    """The most bytes that a call had, which has to be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError):
            function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
