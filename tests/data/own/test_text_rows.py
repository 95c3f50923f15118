import csv
import gzip
import io
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import CorpusError, Labelled, Pairs
from zoo.data.own import read, read_test
from zoo.data.own.text_rows import as_files
from zoo.data.text_sets import Tagged
from zoo.strings import composed

pytestmark = pytest.mark.backend_free

PAIRS = [("a b", "ä"), ('say "c"', "d, e"), ("f", "g")]
SIDES = tuple(list(side) for side in zip(*PAIRS, strict=True))
TEXT, LABELS = ["yes", "no"], [("yes", "good"), ("no", "bad")]
TAGS = [(["Ein", "Hund"], ["DET", "NOUN"]), (["Ja"], ["INTJ"])]
COLUMNS = "Ein DET B\nHund NOUN I\n\n \nJa INTJ B\n"
CONLLU = """# text
1\tEin\tich\tDET\tART\t_\t_\t_\t_\t_
2-3\tzum\t_\t_\t_\t_\t_\t_\t_\t_
2\tHund\tzu\tNOUN\tNN\t_\t_\t_\t_\t_

1\tJa\tja\tINTJ\tITJ\t_\t_\t_\t_\t_
"""
CELLS = 'c,text\n"go\n od",yes\nbad,no'
IDS = '\nid\ttgt\tsrc\n\n1\td\ta\n2\t e \t"b\n'
JSON = '{"src": "a", "tgt": 1.0}\n\n{"tgt": "c", "src": "b"}'


def items(data):
    """Lists the items that were read, of any kind."""
    if isinstance(data, Labelled):
        names = [data.names[label] for label in data.labels]
        return list(zip(data.texts, names, strict=True))
    if isinstance(data, Tagged):
        return list(zip(data.sentences, data.tags, strict=True))
    return list(data)


# === Files ===
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gzip"])
@pytest.mark.parametrize(
    ("kind", "name", "content", "columns", "expected"),
    [
        ("sentences", "a.txt", "yes\nno\n", None, TEXT),
        ("sentences", "a.csv", '\ntext\n"yes"\n\nno', None, TEXT),
        ("sentences", "a.tsv", "1\tyes\n2\tno\n", [2], TEXT),
        ("labelled", "a.csv", "label;text\ngood;yes\nbad;no", None, LABELS),
        ("labelled", "a.txt", "good\tyes\nbad\tno\n", ("2", "1"), LABELS),
        ("labelled", "a.csv", CELLS, ("text", "c"), [("yes", "go  od"), ("no", "bad")]),
        ("pairs", "a.tsv", IDS, None, [("a", "d"), ('"b', "e")]),
        ("pairs", "a.tsv", "Go.\tGeh.\tCC\n", (2, 1), [("Geh.", "Go.")]),
        ("pairs", "a.jsonl", JSON, None, [("a", "1"), ("b", "c")]),
        ("sentences", "a.json", '{"text": "yes"}\n{"text": "no"}', None, TEXT),
        ("tagged", "a.txt", COLUMNS, None, TAGS),
        ("tagged", "a.txt", COLUMNS.replace(" ", "\t"), ["2"], TAGS),
        ("tagged", "a.conllu", CONLLU, None, TAGS),
        ("tagged", "a.txt", "a b\t1\xa00\n", None, [(["a b"], ["1\xa00"])]),
        ("tagged", "a.jsonl", '{"tokens": ["a"], "tags": [1]}', None, [(["a"], ["1"])]),
    ],
    ids=itertools.count(),
)
def test_every_file_in_every_encoding(
    write, end, encoding, kind, name, content, columns, expected
):
    content = content.replace("\n", end)
    if encoding == "gzip":
        path = write(gzip.compress(content.encode()), f"{name}.gz")
    else:
        path = write(content.encode(encoding), name)
    assert items(read(kind, path, path, columns=columns).train) == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_csv_is_quoted(write, delimiter, quoting):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
    writer.writerows([("source", "n", "target"), *((s, 1, t) for s, t in PAIRS)])
    assert list(read_test("pairs", write(file.getvalue(), "a.csv"))) == PAIRS


texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_json_lines_give_back_each_text(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    path.write_text("\n".join(json.dumps({"source": s, "target": t}) for s, t in rows))
    expected = [tuple(map(composed, row)) for row in rows]
    assert list(read_test("pairs", path)) == expected


@pytest.mark.parametrize(
    ("kind", "name", "content", "columns", "message"),
    [
        ("pairs", "a.tsv", "en\tde\tid\n", ("en", "ge"), "en, ge; it has en, de, id"),
        ("pairs", "a.tsv", "en\tde\n", ("en", "en"), "columns en, en; it has en, de"),
        ("pairs", "a.tsv", "en\ten\n", ("en", "en"), "it has en, en"),
        ("pairs", "a.tsv", "en\tde\n", ("en",), "Choose 2"),
        ("pairs", "a.tsv", "en\tde\n", (1, 3), "columns 1, 3; it has 1, 2"),
        ("pairs", "a.tsv", "Go.\tGeh.\n", None, "target or src, tgt; it has Go., Geh."),
        ("pairs", "a.tsv", "\n \n", None, "a.tsv is empty"),
        ("pairs", "a.tsv", "src\ttgt\na\tb\na\n", None, "line 3 should have 2 columns"),
        ("pairs", "a.csv", 'src,tgt\n"a,b\nc,d\n', None, "line 3 is no CSV"),
        ("pairs", "a.csv", "", None, "a.csv is empty"),
        ("pairs", "a.jsonl", "[1, 2]\n", None, "line 1 should be an object"),
        ("pairs", "a.jsonl", '{"src": 1, "tgt": 2}\n{"', None, "line 2 should be a"),
        ("tagged", "a.txt", COLUMNS, (1, 4), "line 1 should have as many .* 4 or more"),
        ("tagged", "a.txt", COLUMNS, ("word", "upos"), "should be numbers"),
        ("tagged", "a.txt", "a X\nNew York Y\n", None, "line 2 should .*'New York Y'"),
        ("tagged", "a.txt", "a\tX\nNew York\n", None, "line 2 should .*'New York'"),
        ("tagged", "a.txt", b"a X\n\xff Y\n", None, "UTF-8.*line 2, byte 1"),
        ("tagged", "a.conllu", CONLLU, (1, 3), "columns are those of a table"),
        ("tagged", "a.conllu", "1\ta" + "\t_" * 8, None, "line 1 .*'a' and '_'"),
        ("tagged", "a.jsonl", '{"words": ["a"], "tags": []}', None, "line 1: .*0 tags"),
        (
            "labelled",
            "a.jsonl",
            '{"text": [], "label": 1}',
            None,
            "line 1: a text must",
        ),
        ("labelled", "a.txt", "good yes\n", None, "columns text, label"),
        ("sentences", "a.csv", "text\na,b\n", None, "line 2 should have 1 columns"),
    ],
    ids=itertools.count(),
)
def test_files_that_are_refused(write, kind, name, content, columns, message):
    with pytest.raises((CorpusError, TypeError), match=message):
        read_test(kind, write(content, name), columns=columns)


def test_languages_are_those_of_names(write):
    paths = write("a\n", "a.en"), write("b\n", "a.pt_BR")
    assert read("pairs", paths, [("x", "y")]).languages == ("en", "pt_BR")
    assert read("pairs", paths, paths, languages=("a", "b")).languages == ("a", "b")
    others = write("a\n", "a.txt"), write("b\n", "b.tgt")
    assert read("pairs", others, paths).languages == ("und", "und")
    table = write("source,de\na,b\n", "a.csv")
    own = read("pairs", table, paths, columns=("source", "de"))  # the table's
    assert own.languages == ("und", "de")
    with pytest.raises(CorpusError, match="two codes, received"):
        read("pairs", paths, languages=["en"])


# === Paths and folders ===
def test_what_names_files():
    path = Path("a")
    assert as_files(path) == as_files("a") == as_files([path]) == [(path,)]
    assert as_files(("a", path)) == as_files([(path, path)]) == [(path, path)]
    for data in (["a", "b"], [("a", "b")], (["a"], ["b"]), {"a": ["b"]}, [], ()):
        assert as_files(data) is None


@pytest.mark.parametrize(
    ("kind", "data", "options", "message"),
    [
        ("pairs", ("gone", "x.en"), {}, "gone does not exist, or is no file"),
        ("pairs", ("x.en", "own"), {}, "own does not exist, or is no file"),
        ("pairs", ("x.en",) * 3, {}, "2 files or one, received 3"),
        ("pairs", ("x.en",) * 2, {}, "received 2: x.en and x.en"),
        ("pairs", ("x.en", "y"), {"columns": (1, 2)}, "columns are those of a table"),
        ("sentences", ("x.en",) * 2, {}, "1 file, received 2"),
        ("pairs", [("a", "b")], {"columns": (1, 2)}, "columns are those of a table"),
    ],
)
def test_paths_that_are_refused(tmp_path, monkeypatch, kind, data, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    for name in ("x.en", "y"):
        (tmp_path / name).write_text("a\n")
    with pytest.raises(CorpusError, match=message):
        read_test(kind, data, **options)


def test_all_files_are_looked_at_before_any_is_read(write, tmp_path):
    with pytest.raises(CorpusError, match="gone does not exist"):
        read("sentences", write(b"\xff", "a.txt"), test=tmp_path / "gone")


@pytest.mark.parametrize(
    ("kind", "names", "languages", "found"),
    [
        ("pairs", ["test.en", "test.de"], ("de", "en"), ["test.de"]),
        ("pairs", ["test.en.gz", "test.de", "test.fr"], ("en", "de"), ["test.en.gz"]),
        ("pairs", ["test.src", "test.tgt", "test.x"], None, ["test.src"]),
        ("pairs", ["test.tsv", "test.txt", "train.csv"], None, ["test.tsv"]),
        ("sentences", ["test.txt", "train.txt"], None, ["test.txt"]),
        ("pairs", ["test.en", "test.de"], None, "received test.de, test.en"),
        ("pairs", ["test.en", "test.de"], ("en", "fr"), "received test.de, test.en"),
        ("sentences", ["test.txt", "test.tsv"], None, "received test.tsv, test.txt"),
        ("sentences", ["my.test.txt"], None, "has no file named test"),
    ],
)
def test_a_folders_files_are_found_by_split(write, kind, names, languages, found):
    for name in names:
        text = f"source\ttarget\n{name}\tx\n" if name.endswith("tsv") else f"{name}\n"
        path = write(gzip.compress(text.encode()) if ".gz" in name else text, name)
    if isinstance(found, str):
        with pytest.raises(CorpusError, match=found):
            read_test(kind, path.parent, languages=languages)
    else:
        [item] = read_test(kind, path.parent, languages=languages)
        assert [item[0] if kind == "pairs" else item] == found


# === Python data ===
N = [1, 2, 3]


class Dataset(dict):
    """A Hugging Face `Dataset`, as far as it is asked."""

    column_names = property(list)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (SIDES, {}),
        ((tuple(SIDES[0]), np.array(SIDES[1])), {}),
        (PAIRS, {}),
        ([list(row) for row in PAIRS], {}),
        ([{"source": s, "target": t, "id": 1} for s, t in PAIRS], {}),
        ({"src": SIDES[0], "tgt": SIDES[1], "id": N}, {}),
        ({"b": SIDES[1], "a": SIDES[0]}, {"columns": ("a", "b")}),
        ({"de": SIDES[1], "en": SIDES[0]}, {"languages": ("en", "de")}),
        (Dataset({"id": N, "target": SIDES[1], "source": SIDES[0]}), {}),
        (Pairs("my", "train", "en", "de", *SIDES), {}),
    ],
    ids=itertools.count(),
)
def test_python_data(data, options):
    assert list(read_test("pairs", data, **options)) == PAIRS


WORDS, NAMES = [["a"], ["cafe\u0301", "a"]], [["X"], ["Y", "X"]]
RAW, CLASSES = ["I like it .", " no ", "cafe\u0301"], ["y", "n", "y"]
RIGHT = {
    "tagged": Tagged([["a"], ["caf\xe9", "a"]], NAMES),
    "labelled": Labelled(["I like it .", "no", "caf\xe9"], [1, 0, 1], ("n", "y")),
    "sentences": ["I like it .", "no", "caf\xe9"],
}


@pytest.mark.parametrize(
    ("kind", "data", "columns"),
    [
        ("tagged", Tagged(WORDS, NAMES), None),
        ("tagged", (WORDS, NAMES), None),
        ("tagged", [*zip(WORDS, NAMES, strict=True)], None),
        ("tagged", {"tags": N[:2], "tokens": WORDS, "p": NAMES}, ("tokens", "p")),
        ("labelled", (np.array(RAW), tuple(CLASSES)), None),
        ("labelled", RIGHT["labelled"], None),
        ("labelled", {"label": CLASSES, "sentence": RAW, "id": N}, None),
        ("sentences", RAW, None),
        ("sentences", {"story": RAW, "id": N}, ["story"]),
        ("sentences", [{"text": text} for text in RAW], None),
    ],
    ids=itertools.count(),
)
def test_python_data_of_other_kinds(kind, data, columns):
    found = read(kind, data, data, columns=columns)
    assert found.train == found.valid == RIGHT[kind]


def test_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": N, "label": [10, 9, 10], "text": RAW})
    found = read("labelled", frame, frame)
    assert found.train.names == ("9", "10") and found.train.labels == [1, 0, 1]
    for missing in (None, float("nan"), pandas.NA, pandas.NaT):
        frame["text"] = ["x", missing, "z"]
        assert read_test("sentences", frame) == ["x", "z"]
        frame["label"] = [missing, 9, 10]
        assert read_test("labelled", frame).names == ("10",)
    frame = pandas.DataFrame({"words": [["a", "b"]], "tags": [np.array([3, 0])]})
    assert read_test("tagged", frame) == Tagged([["a", "b"]], [["3", "0"]])
    frame = pandas.DataFrame({"id": N, "de": SIDES[1], "en": SIDES[0]})
    own = read("pairs", frame, frame, columns=("en", "de"))
    assert own.languages == ("en", "de") and list(own.train) == PAIRS


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("pairs", 7, r"pairs must be paths.*Received: 7 \(int\)"),
        ("pairs", [], r"pairs must be paths.*Received: \[\] \(list\)"),
        ("pairs", ["a.en"], "pairs must be paths.*'a.en'"),
        ("pairs", [("a", "b"), ("a", "b", "c")], "pairs must be .*'c'"),
        ("pairs", [("a", [3])], r"a text must be a str or number. .* \[3\]"),
        (
            "pairs",
            [{"source": "a", "target": "b"}, 3],
            "row 1 should be an object .* 3",
        ),
        ("pairs", ("abc", ["x"]), "a column must be a list. Received: 'abc'"),
        ("pairs", (["x"], {"a"}), "a column must be a list. Received: {'a'}"),
        ("pairs", (["x"], np.array([["a"]])), "a column must be a list."),
        ("pairs", (["x", "y"], ["z"]), "equally long, received 2, 1"),
        ("pairs", {"en": ["a"], "de": ["b"]}, "the table should have .* it has en, de"),
        ("pairs", [{"en": "a"}], "the data should have the columns"),
        ("tagged", (["a b"], [["X"]]), "a column must be a list. .*'a b'"),
        ("labelled", {}, "the table should have the columns text, label"),
    ],
    ids=itertools.count(),
)
def test_data_that_are_refused(kind, data, message):
    with pytest.raises((CorpusError, TypeError), match=message):
        read_test(kind, data)
