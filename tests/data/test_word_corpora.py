import hashlib
import os
from pathlib import Path

import pytest

from zoo.data import CorpusError, load_ptb, load_sst
from zoo.data.word_corpora import BINARY, FINE

pytestmark = pytest.mark.backend_free


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    for name in ("ptb", "sst"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_ptb(folder):
    text = " a <unk> dog N \n\n  runs\n"
    (folder / "ptb" / "ptb.valid.txt").write_text(text)
    assert load_ptb("valid") == ["a <unk> dog N", "runs"]
    with pytest.raises(CorpusError, match="ptb.train.txt is missing"):
        load_ptb()
    with pytest.raises(ValueError, match="split of ptb.*did you mean valid"):
        load_ptb("valit")


def test_sst(folder):
    (folder / "sst" / "fine.dev.txt").write_text("4 a café .\n0 no .\n", "utf-8")
    (folder / "sst" / "binary.dev.txt").write_text("1 good\n2 bad\n")
    found = load_sst("dev")
    assert (found.texts, found.labels) == (["a café .", "no ."], [4, 0])
    assert found.names == FINE and len(found) == 2
    with pytest.raises(
        CorpusError, match="line 2 should be a label from 0 to 1.*2 bad"
    ):
        load_sst("dev", "binary")
    with pytest.raises(ValueError, match="labels of sst.*'coarse'"):
        load_sst("dev", "coarse")
    assert len(BINARY) == 2


def test_downloads_are_compared_with_their_digest(tmp_path, monkeypatch):
    from zoo.data import word_corpora as texts

    monkeypatch.delenv("ZOO_DATA_DIR", raising=False)
    folder = tmp_path / "ptb"
    folder.mkdir()
    (folder / "ptb.test.txt").write_text("a dog\n")
    with pytest.raises(CorpusError, match="is altered: sha256"):
        load_ptb("test", cache_dir=tmp_path)
    digest = hashlib.sha256(b"a dog\n").hexdigest()
    monkeypatch.setitem(texts.PTB.sha256, "ptb.test.txt", digest)
    assert load_ptb("test", cache_dir=tmp_path) == ["a dog"]


def test_the_sources_are_whole():
    from zoo.data.word_corpora import PTB, SST

    for corpus, count in ((PTB, 3), (SST, 6)):
        assert set(corpus.urls) == set(corpus.sha256) == set(corpus.sizes)
        assert len(corpus.urls) == count
        assert all(url.startswith("https://") for url in corpus.urls.values())
    assert SST.urls["fine.dev.txt"].endswith("/data/stsa.fine.dev")
    assert PTB.urls["ptb.test.txt"].endswith("/lstm/master/data/ptb.test.txt")


@pytest.mark.parametrize("name", ["ptb", "sst"])
def test_the_real_files_have_the_sizes_that_are_stated(name):
    from zoo.data import word_corpora as texts

    folder = Path(os.environ.get("ZOO_DATA_DIR", "/-")) / name
    if not folder.is_dir():
        pytest.skip(f"ZOO_DATA_DIR has no {name}")
    sizes = {"ptb": texts.PTB, "sst": texts.SST}[name].sizes
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == sizes
