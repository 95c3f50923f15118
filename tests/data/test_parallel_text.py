import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.parallel_text import read_aligned

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


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a\nb\nc\n", "x\ny\n", r"3 lines in .*en and 2 in .*de"),
        ("a\nb\n", b"x\nf\xfcr\n", r"valid\.de .*UTF-8.*byte 0xfc in line 2"),
        ("", "", "no sentence pair.*received 0 lines"),
        ("\n\n", "\n\n", "no sentence pair.*received 2 lines"),
    ],
)
def test_files_that_are_refused(read, source, target, message):
    with pytest.raises(CorpusError, match=message):
        read(source, target)


def test_blank_lines_leave_their_pair_out_with_a_warning(read):
    with pytest.warns(UserWarning, match="3 of 5 pairs left out.*line 2"):
        pairs = read("a\n\nc\n \ne\n", "v\nw\n\t\n\nz\n", tabs_separate=True)
    assert pairs == (["a", "e"], [["v"], ["z"]])


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
