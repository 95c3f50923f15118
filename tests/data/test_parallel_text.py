import sys

import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.parallel_text import direction_name, read_aligned

pytestmark = pytest.mark.backend_free


@pytest.fixture
def read(write):
    """Writes two sides and reads them."""

    def write_and_read(source, target, tabs_separate=False):
        paths = write(source, "valid.en"), write(target, "valid.de")
        return read_aligned(*paths, tabs_separate)

    return write_and_read


# === Reading ===
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


# === Pairs ===
def test_pairs_are_a_frozen_sequence_of_two_texts():
    pairs = Pairs("mine", "train", "en", "de", ["a", "b"], ["x", "y"])
    assert len(pairs) == 2 and list(pairs) == [("a", "x"), ("b", "y")]
    assert pairs.references == [["x"], ["y"]]
    assert repr(pairs) == "Pairs(mine train, en-de, 2 pairs)"
    with pytest.raises(AttributeError):
        pairs.sources = []


def test_unequal_lists_are_refused():
    with pytest.raises(ValueError, match="received 2, 1 and 1"):
        Pairs("mine", "train", "en", "de", ["a", "b"], ["x"])


def test_a_direction_in_words(monkeypatch):
    assert direction_name("mul", "en") == direction_name("de", "und") == ""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "babel", None)
        assert direction_name("de", "en") == "de to en"
    pytest.importorskip("babel")
    assert direction_name("tlh", "xx") == "Klingon to xx"
    assert direction_name("pt-BR", "ja") == "Brazilian Portuguese to Japanese"
