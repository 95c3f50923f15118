import numpy as np
import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.own import as_pairs

pytestmark = pytest.mark.backend_free

ROWS = [("a", "x"), ("b", "y"), ("c", "z")]
SIDES = [list(side) for side in zip(*ROWS, strict=True)]


class Table:
    """A Hugging Face `Dataset`, as far as it is asked: columns and rows by key."""

    def __repr__(self):  # the name of a case, equal in all processes
        return f"Table({self.column_names})"

    def __init__(self, columns):
        self._columns, self.column_names = columns, list(columns)

    def __getitem__(self, name):
        return self._columns[name]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (tuple(SIDES), {}),
        ((tuple(SIDES[0]), np.array(SIDES[1])), {}),
        ((np.array(SIDES[0], object), SIDES[1]), {}),
        (ROWS, {}),
        (tuple(ROWS), {}),
        ([list(row) for row in ROWS], {}),
        ([{"source": s, "target": t, "id": 1} for s, t in ROWS], {}),
        ([{"translation": {"en": s, "de": t}} for s, t in ROWS], {}),
        ({"src": SIDES[0], "tgt": SIDES[1], "id": [1, 2, 3]}, {}),
        ({"a": SIDES[0], "b": SIDES[1]}, {}),
        ({"b": SIDES[1], "a": SIDES[0]}, {"columns": ("a", "b")}),
        ({"de": SIDES[1], "en": SIDES[0]}, {"languages": ("en", "de")}),
        (Table({"id": [1, 2, 3], "target": SIDES[1], "source": SIDES[0]}), {}),
        (
            Table({"translation": [{"de": t, "en": s} for s, t in ROWS]}),
            {"languages": ("en", "de")},
        ),
        (Pairs("my", "train", "en", "de", *SIDES), {}),
    ],
    ids=str,
)
def test_every_kind_of_data_gives_the_pairs_again_and_again(data, options):
    part = as_pairs(data, **options)
    assert list(part.read()) == list(part.read()) == ROWS


def test_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2, 3], "de": SIDES[1], "en": SIDES[0]})
    part = as_pairs(frame, columns=("en", "de"))
    assert list(part.read()) == ROWS and part.languages == ("en", "de")
    assert list(as_pairs((frame["en"], frame["de"])).read()) == ROWS
    frame.loc[1, "de"] = None
    assert list(as_pairs(frame, ("en", "de")).read())[1] == ("b", "")


def test_languages_are_those_of_names():
    assert as_pairs({"en": ["a"], "fr": ["b"]}).languages == ("en", "fr")
    assert as_pairs({"source": ["a"], "target": ["b"]}).languages == ("und", "und")
    assert as_pairs(Pairs("my", "train", "ja", "en", ["a"], ["b"])).languages == (
        "ja",
        "en",
    )


def test_texts_are_composed_and_missing_ones_are_empty():
    rows = [("cafe\u0301", None), (float("nan"), "a")]
    assert list(as_pairs(rows).read()) == [("caf\xe9", ""), ("", "a")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, r"pairs must be two lists.*Received: 7 \(int\)"),
        ([], r"pairs must be two lists.*Received: \[\] \(list\)"),
        ("a.en", r"pairs must be .*'a.en' \(str\)"),
        (["a.en", "a.de"], r"data\[0\] must be a pair of str; for files, a tuple"),
        ([("a", "b"), ("a", "b", "c")], r"data\[1\] must be a pair of str. Received"),
        ([("a", "b"), 3], r"data\[1\] must be a pair of str. Received: 3"),
        ([("a", "b"), ("a", 3)], r"pair 1 must be two str. Received: 3 \(int\)"),
        (("abc", ["x"]), "sources must be a list. Received: 'abc'"),
        ((["x"], {"a"}), "targets must be a list. Received: {'a'}"),
        ((["x"], np.array([["a"]])), "targets must be a list."),
        ([{"en": "a", "de": "b"}, {"en": "a"}], r"data\[1\] must be a dict with the"),
        ([{"en": "a", "de": "b"}, "c"], r"data\[1\] must be a dict"),
        (Table({}), "a table"),
    ],
    ids=str,
)
def test_what_is_no_pairs(data, message):
    if isinstance(data, Table):
        data.column_names = {"train": ["en", "de"], "test": ["en", "de"]}
        message = r"one split .*data\['train'\]. Received: splits train, test"
    with pytest.raises(TypeError, match=message):
        list(as_pairs(data).read())


def test_sides_of_different_lengths():
    with pytest.raises(CorpusError, match="equally many, received 3 and 2"):
        as_pairs((SIDES[0], SIDES[1][:2]))


def test_columns_that_are_not_there():
    with pytest.raises(CorpusError, match="no column 'ge'.*it has en, de"):
        as_pairs({"en": ["a"], "de": ["b"]}, columns=("en", "ge"))
    with pytest.raises(CorpusError, match="3 columns: a, b, c; say which 2"):
        as_pairs([{"a": "1", "b": "2", "c": "3"}])
    for options in ({"columns": ("en", "en")}, {"languages": ("en", "en")}):
        with pytest.raises(CorpusError, match="the table should be different ones"):
            as_pairs({"en": ["a"], "de": ["b"]}, **options)
