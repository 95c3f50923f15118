import hashlib
import os
from pathlib import Path

import pytest

from tests.data.conftest import SIDES
from zoo.data import CorpusError, list_corpora, load, load_ptb, load_sst
from zoo.data.corpora import BINARY, CORPORA, FINE, _read_aligned, load_ud
from zoo.data.lines import UPOS

REAL_FOLDER = Path(os.environ.get("ZOO_DATA_DIR", "/-"))
FILES = [name for name, corpus in CORPORA.items() if corpus.files]
pytestmark = [pytest.mark.backend_free, pytest.mark.usefixtures("nothing_at_hand")]


# === The user's own files ===
@pytest.fixture
def put(tmp_path, monkeypatch):
    """Writes a file below ZOO_DATA_DIR."""
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    return write


@pytest.mark.parametrize(
    ("languages", "first"),
    [
        (("en", "de"), ("A dog.", "Ein Hund.")),
        (("de", "en"), ("Ein Hund.", "A dog.")),
        (("fr", "de"), ("Un chien.", "Ein Hund.")),
    ],
)
def test_any_two_languages_of_a_corpus_make_a_pair(put, languages, first):
    for name, text in SIDES.items():
        put(f"multi30k/{name}", text)
    pairs = load("multi30k", *languages)
    assert next(iter(pairs)) == first and len(pairs) == 2
    assert pairs.references == [[target] for target in pairs.targets]
    assert (pairs.source_language, pairs.target_language) == languages


def test_test_is_another_name_of_test_2016_flickr(put):
    for code in ("en", "de"):
        put(f"multi30k/test_2016_flickr.{code}", "A\n")
    assert load("multi30k", split="test") == load("multi30k", split="test_2016_flickr")
    assert load("multi30k", split="test").split == "test_2016_flickr"


def test_tabs_separate_references_in_tatoebas_valid_and_test_alone(put):
    put("tatoeba/valid.en", "You.\nHi.\n")
    put("tatoeba/valid.de", "Du.\tIhr.\nHallo.\n")
    pairs = load("tatoeba", split="valid")
    assert pairs.references == [["Du.", "Ihr."], ["Hallo."]]
    assert pairs.targets == ["Du.", "Hallo."]
    back = load("tatoeba", source="de", target="en", split="valid")
    assert back.sources == ["Du.", "Hallo."]
    assert back.references == [["You."], ["Hi."]]
    put("multi30k/train.en", "A dog.\n")
    put("multi30k/train.de", "Ein\tHund.\n")
    assert load("multi30k").references == [["Ein\tHund."]]


def test_a_missing_file_is_named(put):
    put("multi30k/train.en", "A dog.\n")
    with pytest.raises(FileNotFoundError, match="multi30k/train.de is miss") as error:
        load("multi30k")
    assert isinstance(error.value, ValueError)  # which the command line reports


@pytest.mark.parametrize("name", FILES)
def test_the_real_corpora_are_those_that_are_meant(name):
    if not (REAL_FOLDER / name).is_dir():
        pytest.skip(f"ZOO_DATA_DIR has no {name}")
    for file_name, file in CORPORA[name].files.items():
        data = (REAL_FOLDER / name / file_name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file.sha256, file_name
        assert len(data) == file.size, file_name


@pytest.mark.parametrize(
    ("name", "sizes", "most"),
    [("multi30k", (29000, 1014, 1000), 1), ("tatoeba", (165129, 1000, 1000), 7)],
)
def test_the_real_corpora_have_the_stated_pairs(monkeypatch, name, sizes, most):
    if not (REAL_FOLDER / name).is_dir():
        pytest.skip(f"ZOO_DATA_DIR has no {name}")
    monkeypatch.setenv("ZOO_DATA_DIR", str(REAL_FOLDER))
    parts = [load(name, split=split) for split in CORPORA[name].splits]
    assert tuple(map(len, parts)) == sizes
    assert all(pairs.sources and all(pairs.targets) for pairs in parts)
    assert max(len(several) for several in parts[1].references) == most


# === Names ===
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "ptb"}, r"corpus` .*\['multi30k', 'tatoeba', 'dates'\].*'ptb'"),
        ({"name": "multi30k", "split": "val"}, "`split` must be one of .*'test'"),
        ({"name": "multi30k", "source": "EN"}, "`language` .*'en', 'de', 'fr'.*'EN'"),
        ({"name": "multi30k", "source": "de"}, "two of en, de, fr, received 'de' twi"),
        ({"name": "dates", "source": "zxx", "target": "de"}, "`source` .*'mul'"),
    ],
)
def test_what_is_unknown_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**arguments)


def test_records_are_complete():
    for name, corpus in CORPORA.items():
        assert corpus.terms and corpus.weights and corpus.name == name
        assert bool(corpus.generate) != bool(corpus.files)
        for file in corpus.files.values():
            assert file.url.startswith("https://") and len(file.sha256) == 64
        if name in ("multi30k", "tatoeba"):
            files = {f"{s}.{lang}" for s in corpus.splits for lang in corpus.languages}
            assert set(corpus.files) == files
    assert CORPORA["multi30k"].files["valid.fr"].url.endswith("/task1/raw/val.fr.gz")
    list_corpora().clear()
    assert sorted(list_corpora()) == ["dates", "multi30k", "tatoeba"]


def test_a_generated_corpus_needs_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    pairs = load("dates", "de", "zxx", "test")
    assert pairs.source_language == "de" and len(pairs) == 600


# === Aligned files ===
@pytest.fixture
def read(write):
    """Writes two sides and reads them."""

    def write_and_read(source, target, tabs_separate=False):
        paths = write(source, "valid.en"), write(target, "valid.de")
        return _read_aligned(*paths, tabs_separate)

    return write_and_read


@pytest.mark.parametrize(
    ("source", "target", "tabs", "sources", "references"),
    [
        ("a b\nc \n", "ä\tö\nü\n", False, ["a b", "c "], [["ä\tö"], ["ü"]]),
        ("\ufeffa\r\nb", "x\ny\n", False, ["a", "b"], [["x"], ["y"]]),
        ("a\u2028b\x85c\x0bd\n", "x\n", False, ["a\u2028b\x85c\x0bd"], [["x"]]),
        (
            "You.\nHi.\n",
            "Du.\tIhr.\t Sie.\nHallo.\n",
            True,
            ["You.", "Hi."],
            [["Du.", "Ihr.", " Sie."], ["Hallo."]],
        ),
        ("Du.\tIhr.\n", "You.\n", True, ["Du."], [["You."]]),
    ],
)
def test_lines_belong_together(read, source, target, tabs, sources, references):
    assert read(source, target, tabs) == (sources, references)


def test_files_that_are_refused(read):
    with pytest.raises(CorpusError, match="no sentence pair"):
        read("", "")
    for target in ("y\t", "\ty", " "):
        with pytest.raises(CorpusError, match="line 2 of .* has a blank text"):
            read("a\nb\n", f"x\n{target}\n", tabs_separate=True)


# === Corpora of one language ===
CONLLU = """# sent_id = 1
# text = I don't.
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def test_ptb(put):
    put("ptb/ptb.valid.txt", " a <unk> dog N \n\n  runs\n")
    assert load_ptb("valid") == ["a <unk> dog N", "runs"]


def test_sst(put):
    put("sst/fine.dev.txt", "4 a café .\n0 no .\n")
    put("sst/binary.dev.txt", "1 good\n2 bad\n")
    found = load_sst("dev")
    assert (found.texts, found.labels) == (["a café .", "no ."], [4, 0])
    assert found.names == FINE and len(found) == 2 == len(BINARY)
    with pytest.raises(CorpusError, match="line 2 should be .* from 0 to 1.*2 bad"):
        load_sst("dev", "binary")


def test_ud(put):
    put("ud_english_ewt/dev.conllu", CONLLU)
    found = load_ud("dev")
    assert found.sentences == [["I", "do", "n't", "."], ["Yes"]]
    assert found.tags == [["PRON", "AUX", "PART", "PUNCT"], ["INTJ"]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PRON\tPRP", "PRON PRP", "line 3 should have the ten fields"),
        ("PRON\t", "PRP\t", "line 3 should .* one of the tags.*'I' and 'PRP'"),
        (CONLLU, "# nothing\n", "should hold sentences, received none"),
    ],
)
def test_what_is_no_conllu_is_refused(put, old, new, message):
    put("ud_english_ewt/dev.conllu", CONLLU.replace(old, new))
    with pytest.raises(CorpusError, match=message):
        load_ud("dev")


@pytest.mark.parametrize(
    ("load", "arguments", "message"),
    [
        (load_ptb, (), "ptb.train.txt is missing"),
        (load_ptb, ("valit",), "`split` must be .*'valid'.*'valit'"),
        (load_sst, ("dev", "coarse"), "`labels` must be .*'coarse'"),
        (load_ud, ("train",), "train.conllu is missing"),
        (load_ud, ("valid",), "`split` must be .*split='valid'"),
    ],
)
def test_what_there_is_not(put, load, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(*arguments)


def test_the_treebank(monkeypatch):
    if not (REAL_FOLDER / "ud_english_ewt").is_dir():
        pytest.skip("ZOO_DATA_DIR has no ud_english_ewt")
    monkeypatch.setenv("ZOO_DATA_DIR", str(REAL_FOLDER))
    counts = {"train": (12544, 204577), "dev": (2001, 25147), "test": (2077, 25094)}
    for split, (sentences, words) in counts.items():
        found = load_ud(split)
        assert len(found) == sentences
        assert sum(map(len, found.sentences)) == words
        assert {tag for row in found.tags for tag in row} == set(UPOS)
