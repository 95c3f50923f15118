import dataclasses
import gzip
import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from zoo.data import CorpusError, DownloadError, corpora, list_corpora, load, tatoeba

REAL_FOLDER = os.environ.get("ZOO_DATA_DIR")
needs_corpora = pytest.mark.skipif(
    not REAL_FOLDER, reason="needs the corpora, at ZOO_DATA_DIR"
)
SIDES = {
    "train.en": "A dog.\nA cat.\n",
    "train.de": "Ein Hund.\nEine Katze.\n",
    "train.fr": "Un chien.\nUn chat.\n",
}


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    """No corpora at hand, and a cache of this test's own."""
    monkeypatch.delenv("ZOO_DATA_DIR", raising=False)
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def contents(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# === The user's own files ===


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.mark.parametrize(
    ("languages", "first"),
    [
        ({}, ("A dog.", "Ein Hund.")),
        ({"source": "de", "target": "en"}, ("Ein Hund.", "A dog.")),
        ({"source": "fr", "target": "de"}, ("Un chien.", "Ein Hund.")),
    ],
)
def test_any_two_languages_of_a_corpus_make_a_pair(own, languages, first):
    write(own / "multi30k", SIDES)
    pairs = load("multi30k", split="train", **languages)
    assert next(iter(pairs)) == first
    assert len(pairs) == 2
    assert pairs.references == [[target] for target in pairs.targets]
    asked = {"source": "en", "target": "de", **languages}
    assert pairs.source_language == asked["source"]
    assert pairs.target_language == asked["target"]


def test_test_is_another_name_of_test_2016_flickr(own):
    files = {"test_2016_flickr.en": "A dog.\n", "test_2016_flickr.de": "Ein Hund.\n"}
    write(own / "multi30k", files)
    assert load("multi30k", split="test") == load("multi30k", split="test_2016_flickr")
    assert load("multi30k", split="test").split == "test_2016_flickr"


def test_tatoeba_has_several_references_in_valid_and_test(own):
    files = {"valid.en": "You.\nHi.\n", "valid.de": "Du.\tIhr.\nHallo.\n"}
    write(own / "tatoeba", files)
    pairs = load("tatoeba", split="valid")
    assert pairs.references == [["Du.", "Ihr."], ["Hallo."]]
    assert pairs.targets == ["Du.", "Hallo."]
    back = load("tatoeba", source="de", target="en", split="valid")
    assert back.sources == ["Du.", "Hallo."]
    assert back.references == [["You."], ["Hi."]]


def test_a_tab_elsewhere_is_part_of_the_sentence(own):
    write(own / "multi30k", {"train.en": "A dog.\n", "train.de": "Ein\tHund.\n"})
    assert load("multi30k").references == [["Ein\tHund."]]


def test_misaligned_sides(own):
    write(own / "multi30k", {**SIDES, "train.de": "Ein Hund.\n"})
    with pytest.raises(CorpusError, match=r"2 lines in .*train\.en and 1 in .*train"):
        load("multi30k")


def test_a_missing_file_says_what_is_there(own):
    folder = write(own / "multi30k", {"train.en": "A dog.\n", "notes.txt": ""})
    with pytest.raises(FileNotFoundError) as error:
        load("multi30k")
    assert isinstance(error.value, ValueError)  # which the command line reports
    assert f"{folder / 'train.de'} is missing" in str(error.value)
    assert f"received {folder} with notes.txt, train.en." in str(error.value)


def test_a_missing_folder_says_what_is_beside_it(own):
    with pytest.raises(FileNotFoundError, match="received no such folder"):
        load("multi30k")
    write(own / "tatoeba", {})
    with pytest.raises(FileNotFoundError, match=f"received {own} with tatoeba"):
        load("multi30k")


@needs_corpora
@pytest.mark.parametrize("name", ["multi30k", "tatoeba"])
def test_the_real_corpora_are_those_that_are_meant(name, monkeypatch):
    corpus = list_corpora()[name]
    for file_name, digest in corpus.sha256.items():
        data = (Path(REAL_FOLDER) / name / file_name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest, file_name
    monkeypatch.setenv("ZOO_DATA_DIR", REAL_FOLDER)
    sizes = {"multi30k": (29000, 1014, 1000), "tatoeba": (165129, 1000, 1000)}
    parts = [load(name, split=split) for split in corpus.splits]
    assert tuple(map(len, parts)) == sizes[name]
    assert all(pairs.sources and all(pairs.targets) for pairs in parts)
    most = max(len(several) for several in parts[1].references)
    assert most == {"multi30k": 1, "tatoeba": 7}[name]


# === Names ===


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"name": "multi30"},
            r"unknown corpus \(did you mean multi30k\?\); allowed are multi30k, "
            "tatoeba; received 'multi30'",
        ),
        (
            {"name": "multi30k", "split": "val"},
            r"unknown split of multi30k \(did you mean valid\?\); allowed are train, "
            "valid, test_2016_flickr, test; received 'val'",
        ),
        (
            {"name": "tatoeba", "target": "fr"},
            "unknown language of tatoeba; allowed are en, de; received 'fr'",
        ),
        (
            {"name": "multi30k", "source": "EN"},
            "unknown language of multi30k.*allowed are en, de, fr; received 'EN'",
        ),
        ({"name": None}, "unknown corpus; allowed are .*received None"),
        (
            {"name": "multi30k", "source": "de"},
            "two of en, de, fr, received 'de' twice",
        ),
    ],
)
def test_what_is_unknown_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**arguments)


def test_records_are_complete():
    for name, corpus in list_corpora().items():
        files = {f"{s}.{lang}" for s in corpus.splits for lang in corpus.languages}
        assert set(corpus.urls) == set(corpus.sha256) == files
        assert all(url.startswith("https://") for url in corpus.urls.values())
        assert corpus.terms
        assert corpus.name == name
    urls = list_corpora()["multi30k"].urls
    assert urls["valid.fr"].endswith(
        "/multi30k/dataset/raw/master/data/task1/raw/val.fr.gz"
    )


def test_the_list_is_a_copy():
    list_corpora().clear()
    assert sorted(list_corpora()) == ["multi30k", "tatoeba"]


# === Download ===


@pytest.fixture
def public(server, monkeypatch):
    """Serves SIDES as multi30k's public source, and knows their sha256."""
    for name, text in SIDES.items():
        server.files[f"/raw/{name}.gz"] = gzip.compress(text.encode())
    corpus = dataclasses.replace(
        list_corpora()["multi30k"],
        urls={name: server.url(f"/raw/{name}.gz") for name in SIDES},
        sha256={name: sha256(text) for name, text in SIDES.items()},
    )
    monkeypatch.setitem(corpora._CORPORA, "multi30k", corpus)
    return server


def test_a_download_fills_the_cache_in_the_same_layout(public, tmp_path):
    assert list(load("multi30k"))[1] == ("A cat.", "Eine Katze.")
    folder = tmp_path / "cache" / "multi30k"
    assert contents(folder) == {name: SIDES[name] for name in ("train.en", "train.de")}
    load("multi30k")
    assert len(public.ranges) == 2  # nothing is fetched twice
    load("multi30k", source="fr", target="en")
    assert len(public.ranges) == 3
    assert contents(folder) == SIDES


def test_cache_dir_is_where_it_goes(public, tmp_path):
    load("multi30k", cache_dir=tmp_path / "mine")
    assert (tmp_path / "mine" / "multi30k" / "train.en").is_file()
    assert not (tmp_path / "cache").exists()


def test_the_default_cache_is_below_the_home_folder(public, tmp_path, monkeypatch):
    monkeypatch.delenv("ZOO_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    load("multi30k")
    assert (tmp_path / ".cache" / "zoo" / "multi30k" / "train.en").is_file()


def test_zoo_data_dir_is_used_instead_of_a_download(public, own):
    write(own / "multi30k", {"train.en": "Mine.\n", "train.de": "Meins.\n"})
    assert list(load("multi30k")) == [("Mine.", "Meins.")]
    assert public.ranges == []


def test_another_content_is_refused(public, tmp_path):
    public.files["/raw/train.de.gz"] = gzip.compress(b"Ein Wolf.\nEine Katze.\n")
    with pytest.raises(CorpusError) as error:
        load("multi30k")
    assert "/raw/train.de.gz is not the train.de that is meant" in str(error.value)
    assert sha256(SIDES["train.de"]) in str(error.value)
    assert "received 22 bytes" in str(error.value)
    assert list(contents(tmp_path / "cache" / "multi30k")) == ["train.en"]
    with pytest.raises(CorpusError):  # the source does not come in snapshots
        load("multi30k", allow_newer=True)


@pytest.mark.parametrize(
    "data", [b"<html>", gzip.compress(b"A dog.\n" * 99)[:-12]], ids=["page", "cut"]
)
def test_what_is_no_whole_gzip_file_is_refused(public, tmp_path, data):
    public.files["/raw/train.en.gz"] = data
    with pytest.raises(CorpusError, match="train.en.gz should be a whole gzip file"):
        load("multi30k")
    assert contents(tmp_path / "cache" / "multi30k") == {}


def test_a_broken_transfer_is_resumed_by_the_next_call(public, tmp_path):
    public.faults = [("cut", 10), ("cut", 1), ("cut", 1)]
    with pytest.raises(DownloadError, match="train.en.gz, received 12 of"):
        load("multi30k")
    assert len(load("multi30k")) == 2
    assert public.ranges[3] == "bytes=12-"


def test_an_altered_cache_file_is_refused_by_name(public, tmp_path):
    load("multi30k")
    path = tmp_path / "cache" / "multi30k" / "train.de"
    path.write_text("Ein Hund.\nEine")
    with pytest.raises(CorpusError, match=r"train\.de is altered: sha256.*Remove the"):
        load("multi30k")
    path.unlink()
    assert len(load("multi30k")) == 2


# === A source that comes in snapshots ===


@pytest.fixture
def snapshots(server, tmp_path, monkeypatch):
    """Serves an archive as tatoeba's public source; returns a way to replace it."""
    keys = [tatoeba.sentence_key(text) for text in ("Hi.", "Stop!")]
    monkeypatch.setattr(tatoeba, "held_out_sentences", lambda: keys)

    def publish(date, rows):
        path = tmp_path / "deu-eng.zip"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("deu.txt", "".join(f"{en}\t{de}\n" for en, de in rows))
            file.writestr("_about.txt", f"Date of this file:\n  {date}\n")
        server.files["/anki/deu-eng.zip"] = path.read_bytes()
        return path

    rows = [("Hi.", "Hallo!"), ("Stop!", "Halt!"), ("Go.", "Geh."), ("Hi.", "Hi!")]
    files, _ = tatoeba.unpack(publish("2018-05-13", rows))
    corpus = dataclasses.replace(
        list_corpora()["tatoeba"],
        urls=dict.fromkeys(files, server.url("/anki/deu-eng.zip")),
        sha256={n: hashlib.sha256(data).hexdigest() for n, data in files.items()},
    )
    monkeypatch.setitem(corpora._CORPORA, "tatoeba", corpus)
    return lambda: publish("2030-01-02", [*rows, ("Run!", "Lauf!"), ("Hi.", "Na?")])


def test_one_archive_gives_all_files(snapshots, server, tmp_path):
    assert list(load("tatoeba")) == [("Go.", "Geh.")]
    assert load("tatoeba", split="valid").references == [["Hallo!", "Hi!"]]
    assert load("tatoeba", split="test").sources == ["Stop!"]
    assert len(server.ranges) == 1
    names = {f"{s}.{lang}" for s in ("train", "valid", "test") for lang in ("en", "de")}
    assert set(contents(tmp_path / "cache" / "tatoeba")) == names


def test_a_source_that_has_moved_on_is_refused(snapshots, tmp_path):
    snapshots()
    with pytest.raises(CorpusError) as error:
        load("tatoeba")
    for said in (
        "/anki/deu-eng.zip has moved on",
        "snapshot of 2018-05-13",
        "received an archive of 2030-01-02 with 6 pairs and 2 of the 2 sentences",
        "train.en, train.de, valid.de result",
        "ZOO_DATA_DIR",
        "allow_newer=True",
    ):
        assert said in str(error.value)
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
    assert len(server.ranges) == 1
    with pytest.raises(CorpusError, match="has moved on"):
        load("tatoeba", split="valid")


def test_allow_newer_prefers_the_snapshot_that_is_meant(snapshots, recwarn):
    assert list(load("tatoeba", allow_newer=True)) == [("Go.", "Geh.")]
    snapshots()
    assert list(load("tatoeba", allow_newer=True)) == [("Go.", "Geh.")]
    assert not recwarn.list
