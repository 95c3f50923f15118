import numpy as np
import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.own.own_pairs import PairKind
from zoo.data.own.python import python_part

pytestmark = pytest.mark.backend_free

ROWS = [("a", "x"), ("b", "y"), ("c", "z")]
SIDES = [list(side) for side in zip(*ROWS, strict=True)]
EN_DE = {"en": SIDES[0], "de": SIDES[1]}


def as_pairs(data, columns=None, languages=None):
    return python_part(PairKind(columns, languages), data)


class Dataset(dict):
    """A Hugging Face `Dataset`, as far as it is asked."""

    column_names = property(list)


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
        (Dataset({"id": [1, 2, 3], "target": SIDES[1], "source": SIDES[0]}), {}),
        (
            Dataset({"translation": [{"de": t, "en": s} for s, t in ROWS]}),
            {"languages": ("en", "de")},
        ),
        (Pairs("my", "train", "en", "de", *SIDES), {}),
        ({"src": SIDES[0], "tgt": SIDES[1], "translation": [[]] * 3}, {}),
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
    for missing in (None, float("nan"), pandas.NA, pandas.NaT):
        frame["de"] = ["x", missing, "z"]
        assert list(as_pairs(frame, ("en", "de")).read())[1] == ("b", "")


def test_languages_are_those_of_names():
    assert as_pairs({"en": ["a"], "fr": ["b"]}).languages == ("en", "fr")
    assert as_pairs({"source": ["a"], "target": ["b"]}).languages == ("und", "und")
    assert as_pairs(Pairs("my", "train", "ja", "en", ["a"], ["b"])).languages == (
        "ja",
        "en",
    )


def test_texts_are_composed_and_missing_ones_are_empty():
    rows = [("cafe\u0301", None), (float("nan"), 2.0), (1.5, True)]
    assert list(as_pairs(rows).read()) == [("caf\xe9", ""), ("", "2"), ("1.5", "True")]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (7, {}, r"pairs must be two lists.*Received: 7 \(int\)"),
        ([], {}, r"pairs must be two lists.*Received: \[\] \(list\)"),
        ("a.en", {}, r"pairs must be .*'a.en' \(str\)"),
        (["a.en"], {}, r"data\[0\] must be a pair of sources and .*'a.en'"),
        (
            [("a", "b"), ("a", "b", "c")],
            {},
            r"data\[1\] must be a pair of sources and t",
        ),
        ([("a", "b"), 3], {}, r"data\[1\] must be a pair of .*Received: 3"),
        ([("a", [3])], {}, r"targets\[0\] must be a str or number. .* \[3\] \(list\)"),
        (("abc", ["x"]), {}, "sources must be a list. Received: 'abc'"),
        ((["x"], {"a"}), {}, "targets must be a list. Received: {'a'}"),
        ((["x"], np.array([["a"]])), {}, "targets must be a list."),
        (
            [{"en": "a", "de": "b"}, {"en": "a"}],
            {},
            r"data\[1\] must be a dict with th",
        ),
        ([{"en": "a", "de": "b"}, "c"], {}, r"data\[1\] must be a dict"),
        ((SIDES[0], SIDES[1][:2]), {}, "equally many, received 3 and 2"),
        (EN_DE, {"columns": ("en", "ge")}, "no column 'ge'"),
        ([{"a": "1", "b": "2", "c": "3"}], {}, "2 columns, received 3: a, b, c; say"),
        (EN_DE, {"columns": ("en", "en")}, "different ones"),
        (EN_DE, {"languages": ("en", "en")}, "different ones"),
    ],
    ids=str,
)
def test_what_is_no_pairs(data, options, message):
    with pytest.raises((CorpusError, TypeError), match=message):
        list(as_pairs(data, **options).read())
