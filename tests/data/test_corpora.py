import hashlib
import os
from pathlib import Path

import pytest

from tests.data.conftest import SIDES
from zoo.data import CorpusError, list_corpora, load

REAL_FOLDER = os.environ.get("ZOO_DATA_DIR")
needs_corpora = pytest.mark.skipif(
    not REAL_FOLDER, reason="needs the corpora, at ZOO_DATA_DIR"
)
pytestmark = [pytest.mark.backend_free, pytest.mark.usefixtures("nothing_at_hand")]


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


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
        assert len(data) == corpus.sizes[file_name], file_name
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
            "tatoeba, dates; received 'multi30'",
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
        assert corpus.terms
        assert corpus.name == name
        if corpus.generate:
            assert not corpus.urls
            continue
        files = {f"{s}.{lang}" for s in corpus.splits for lang in corpus.languages}
        assert set(corpus.urls) == set(corpus.sha256) == set(corpus.sizes) == files
        assert all(url.startswith("https://") for url in corpus.urls.values())
    urls = list_corpora()["multi30k"].urls
    assert urls["valid.fr"].endswith(
        "/multi30k/dataset/raw/master/data/task1/raw/val.fr.gz"
    )


def test_the_list_is_a_copy():
    list_corpora().clear()
    assert sorted(list_corpora()) == ["dates", "multi30k", "tatoeba"]


def test_a_generated_corpus_needs_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    pairs = load("dates", "de", "zxx", "test")
    assert pairs.source_language == "de" and len(pairs) == 600
    with pytest.raises(ValueError, match="source of dates should be one of mul"):
        load("dates", "zxx", "de")
