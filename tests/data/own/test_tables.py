import bz2
import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import CorpusError
from zoo.data.own.tables import PAIR_COLUMNS, Table, choose_columns, kind_of

pytestmark = pytest.mark.backend_free


@pytest.fixture
def read(tmp_path):
    """Writes a table and reads two columns of it."""

    def write_and_read(content, name="a.tsv", columns=None):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        table = Table(path)
        reader = table.reader(*table.choose(columns, PAIR_COLUMNS))
        assert list(reader()) == list(reader())
        return [tuple(row) for row in reader()]

    return write_and_read


ROWS = [("a b", "ä"), ('say "c"', "d, e"), ("", "f")]


def test_tsv_takes_cells_as_they_are(read):
    text = "id\ttgt\tsrc\n" + "".join(f"1\t{t}\t{s}\n" for s, t in ROWS)
    assert read(text) == ROWS
    assert read(text.replace("\n", "\r\n"), columns=("tgt", "id"))[0] == ("ä", "1")
    assert read("\ufeff" + text, "a.txt") == ROWS
    assert read(bz2.compress(text.encode()), "a.tsv.bz2") == ROWS


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_is_quoted(read, delimiter):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerows([("source", "n", "target"), *((s, 1, t) for s, t in ROWS)])
    assert read(file.getvalue(), "a.csv") == ROWS


def test_a_line_end_in_a_cell_becomes_a_space(read):
    assert read('en,de\n"a\nb","c\r\nd"\n\ne,f\n', "a.csv") == [
        ("a b", "c d"),
        ("e", "f"),
    ]


def test_json_lines(read):
    text = "".join(json.dumps({"de": t, "x": 1, "en": s}) + "\n" for s, t in ROWS)
    assert read(text, "a.jsonl", columns=("en", "de")) == ROWS
    assert read(text + "\n \n", "a.ndjson", columns=("en", "de")) == ROWS
    more = '{"source": null, "target": 3}\n{"target": "\\ud83d", "source": "c"}\n'
    assert read(more, "a.jsonl") == [("", "3"), ("c", "\ufffd")]
    assert read('{"source": "e\\u0301", "target": "a"}', "a.json") == [("\xe9", "a")]
    nested = '{"translation": {"en": "a", "de": "b"}}'
    assert read(nested, "a.json") == [("a", "b")]


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=6)] * 2), max_size=5
    )
)
def test_json_lines_give_back_each_text(tmp_path_factory, rows):
    import unicodedata

    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    lines = [json.dumps({"source": s, "target": t}) for s, t in [("", ""), *rows]]
    path.write_text("\n".join(lines))
    table = Table(path)
    found = table.reader(*table.choose(None, PAIR_COLUMNS))()
    normal = [[unicodedata.normalize("NFC", text) for text in row] for row in rows]
    assert list(found) == [["", ""], *normal]


# === Columns ===


def test_two_columns_of_any_name_are_taken_in_their_order(read):
    assert read("English\tGerman (old)\na\tb\n") == [("a", "b")]


def test_numbers_are_columns_of_a_table_without_head(read):
    text = "Go.\tGeh.\tCC\nHi.\tHallo.\tCC\n"
    assert read(text, columns=(2, 1)) == [("Geh.", "Go."), ("Hallo.", "Hi.")]
    assert read(text, columns=("1", "3"))[1] == ("Hi.", "CC")
    assert read("1\t2\na\tb\n", columns=("1", "2")) == [("a", "b")]  # its names


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("en\tde\tid\n", ("en", "ge"), "no column 'ge'.*it has en, de, id"),
        ("en\tde\tid\n", ("en", "dee"), r"'dee' \(did you mean de\?\)"),
        ("en\tde\tid\n", ("en", "en"), "different ones, received en and en"),
        ("en\tde\tid\n", (2, "2"), "different ones, received 2 and 2"),
        ("en\ten\na\tb\n", None, "a.tsv should be different .*en and en"),
        ("en\tde\tid\n", ("en",), r"should be given 2 columns, received \('en',\)"),
        (
            "en\tde\tid\n",
            None,
            "a.tsv has 3 columns: en, de, id; say which 2 to read, as --columns en,de",
        ),
        ("en\tde\tid\n", (1, 4), "has 3 columns, received columns 1, 4"),
        ("en\tde\tid\n", (0, 1), "has 3 columns, received columns 0, 1"),
        ("Go.\tGeh.\n", None, "begin with the names.*Go., Geh.; .*by number"),
        ("A line of text\n", None, "should have 2 columns, received one: 'A line"),
        ("\n", None, "should have 2 columns"),
        ("en\tde\na\tb\na\n", None, "row 3 .* should have 2 columns, received 1"),
        ("en\tde\na\tb\tc\n", None, "row 2 .* should have 2 columns, received 3"),
    ],
)
def test_columns_that_are_not_there(read, content, columns, message):
    with pytest.raises(CorpusError, match=message):
        read(content, columns=columns)


def test_the_default_columns():
    names = ["id", "tgt", "src", "target", "source"]
    assert choose_columns(names, None, PAIR_COLUMNS, "it") == ["source", "target"]
    assert choose_columns(names[:3], None, PAIR_COLUMNS, "it") == ["src", "tgt"]
    wanted = [("tgt", "id"), *PAIR_COLUMNS]
    assert choose_columns(names, None, wanted, "it") == ["tgt", "id"]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ('en,de\n"a,b\n' + "c,d\n" * 40_000, "a.csv", "line .*never closed"),
        ("[1, 2]\n", "a.jsonl", r"line 1 should be JSON lines.*'\[1, 2\]'"),
        ('{"en": "a", "de": "b"}\n{"en": "a"', "a.jsonl", "line 2 should be JSON"),
        ('{"en": "a", "de": "b"}\n{"en": "a"}', "a.jsonl", "line 2 .*for en and de"),
        ('{"en": "a", "de": "b"}\n{"en": 1, "de": []}', "a.jsonl", "line 2 .*strings"),
        ("", "a.jsonl", "line 1 should be JSON lines"),
        ("\n\n\r\n", "a.csv", "there is no row in .*a.csv"),
    ],
)
def test_what_is_no_table(read, content, name, message):
    with pytest.raises(CorpusError, match=message):
        read(content, name)


def test_kinds_are_told_by_the_suffix(tmp_path):
    assert kind_of(tmp_path / "a.b.CSV") == kind_of(tmp_path / "a.csv.xz") == ".csv"
