import bz2
import csv
import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import CorpusError
from zoo.data.own.tables import PAIR_COLUMNS, Table, choose_columns, kind_of

pytestmark = pytest.mark.backend_free


@pytest.fixture
def read(write):
    """Writes a table and reads two columns of it."""

    def write_and_read(content, name="a.tsv", columns=None):
        table = Table(write(content, name), columns, PAIR_COLUMNS)
        assert list(table.rows()) == list(table.rows())
        return [tuple(row) for _, row in table.rows()]

    return write_and_read


ROWS = [("a b", "ä"), ('say "c"', "d, e"), ("", "f")]


def test_tsv_takes_cells_as_they_are(read):
    text = "id\ttgt\tsrc\n" + "".join(f"1\t{t}\t{s}\n" for s, t in ROWS)
    assert read(text) == ROWS
    assert read(text, columns=("tgt", "id"))[0] == ("ä", "1")
    assert read(bz2.compress(text.encode()), "a.tsv.bz2") == ROWS


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_csv_is_quoted(read, delimiter, quoting):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
    other = "n, ;;; n" if quoting == csv.QUOTE_ALL else "n"
    writer.writerows([("source", other, "target"), *((s, 1, t) for s, t in ROWS)])
    assert read(file.getvalue(), "a.csv") == ROWS


def test_a_delimiter_within_quotes_is_none(read):
    text = '"Stop; wait; go.",Halt\n"a\n\nb;","c\r\nd"\n\ne,f\n'
    rows = [("Stop; wait; go.", "Halt"), ("a  b;", "c d"), ("e", "f")]
    assert read(text, "a.csv", columns=(1, 2)) == rows


def test_the_line_of_each_row_is_known(write):
    path = write('\nsource,target\n"a\nb",c\n\nd,e\n', "a.csv")
    rows = list(Table(path, None, PAIR_COLUMNS).rows())
    assert rows == [(4, ["a b", "c"]), (6, ["d", "e"])]


def test_json_lines(read):
    text = "".join(json.dumps({"de": t, "x": 1, "en": s}) + "\n" for s, t in ROWS)
    assert read(text, "a.jsonl", columns=("en", "de")) == ROWS
    assert read(f"\n{text}\n \n", "a.ndjson", columns=("en", "de")) == ROWS
    more = '{"source": null, "target": 3}\n{"target": true, "source": "c"}\n'
    assert read(more, "a.jsonl") == [(None, 3), ("c", True)]
    some = '{"target": "a"}\n{"source": "b"}'
    assert read(some, "a.jsonl") == [(None, "a"), ("b", None)]
    nested = '{"translation": {"en": "a", "de": "b"}}'
    assert read(nested, "a.json") == [("a", "b")]


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=6)] * 2), max_size=5
    )
)
def test_json_lines_give_back_each_text(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    rows = [[unicodedata.normalize("NFC", text) for text in row] for row in rows]
    lines = [json.dumps({"source": s, "target": t}) for s, t in [("", ""), *rows]]
    path.write_text("\n".join(lines))
    found = Table(path, None, PAIR_COLUMNS).rows()
    assert [row for _, row in found] == [["", ""], *rows]


# === Columns ===
def test_columns_are_any_two_names_or_numbers_without_them(read):
    text = "Go.\tGeh.\tCC\nHi.\tHallo.\tCC\n"
    assert read(text, columns=(2, 1)) == [("Geh.", "Go."), ("Hallo.", "Hi.")]
    assert read(text, columns=("1", "3"))[1] == ("Hi.", "CC")
    assert read("1\t2\na\tb\n", columns=("1", "2")) == [("a", "b")]  # its names
    assert read("English\tGerman (old)\na\tb\n") == [("a", "b")]


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("en\tde\tid\n", ("en", "ge"), "no column 'ge'.*it has en, de, id"),
        ("en\tde\tid\n", ("en", "dee"), r"'dee' \(did you mean de\?\)"),
        ("en\tde\tid\n", ("en", "en"), "different ones, received en, en"),
        ("en\tde\tid\n", (2, "2"), "different ones, received 2, 2"),
        ("en\ten\na\tb\n", None, "a.tsv .*different ones, received en, en"),
        ("en\tde\tid\n", ("en",), r"should be given 2 columns, .* received en$"),
        ("en\tde\tid\n", None, "3: en, de, id; say which to read"),
        ("en\tde\tid\n", (1, 4), "has no column '4'; it has 1, 2, 3"),
        ("en\tde\tid\n", (0, 1), "has no column '0'; it has 1, 2, 3"),
        ("Go.\tGeh.\n", None, "begin with .*names.*Go., Geh.; .*by number"),
        ("A line of text\n", None, "2 columns, received 1: A line of text"),
        ("\n \n", None, "there is no row in .*a.tsv"),
        ("en\tde\na\tb\na\n", None, "line 3 should have the columns en, de, .*'a'"),
        ("en\tde\na\tb\tc\n", None, r"line 2 .*, received \['a', 'b', 'c'\]"),
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
        ("", "a.jsonl", "there is no row in .*a.jsonl"),
        ("\n\n\r\n", "a.csv", "there is no row in .*a.csv"),
    ],
)
def test_what_is_no_table(read, content, name, message):
    with pytest.raises(CorpusError, match=message):
        read(content, name)


def test_kinds_are_told_by_the_suffix(tmp_path):
    assert kind_of(tmp_path / "a.b.CSV") == kind_of(tmp_path / "a.csv.xz") == ".csv"
