import random

import numpy as np
import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.parallel_text import aligned_lines, parting_line, read_aligned

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


# === Where two files part ===
def lengths(count, seed):
    """Lengths of sentences, and of translations about 1.2 times as long."""
    rng = np.random.default_rng(seed)
    source = rng.integers(5, 150, count)
    return source, np.maximum(1, (source * rng.normal(1.2, 0.15, count)).astype(int))


@pytest.mark.parametrize("count", [60, 5000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_lost_line_is_found_nearly(count, share):
    errors = []
    for seed in range(21):
        source, target = lengths(count, seed)
        place = int(count * share)
        errors.append(abs(parting_line(source, np.delete(target, place)) - place - 1))
    assert np.median(errors) <= 5 and np.quantile(errors, 0.9) <= 30


@pytest.mark.parametrize(
    ("lost", "line"), [([700, 701, 1500, 4000], 701), (range(4700, 5000), 4701)]
)
def test_lines_lost_in_several_places_or_at_the_end(lost, line):
    source, target = lengths(5000, 1)
    assert abs(parting_line(source, np.delete(target, lost)) - line) < 10


@pytest.mark.parametrize("sides", [([3, 4], []), ([], [3])])
def test_an_empty_side_parts_at_once(sides):
    assert parting_line(*(np.array(side, int) for side in sides)) == 1


def test_unequal_counts_are_told_with_the_place(write):
    rng = random.Random(0)
    texts = ["x" * rng.randint(3, 99) for _ in range(200)]
    one, other = write("\n".join(texts), "a"), write("\n".join(texts[:150]), "b")
    with pytest.raises(CorpusError) as caught:
        list(aligned_lines(one, other))
    assert str(caught.value) == (
        "the two files must have the same number of lines, received 200 lines in "
        f"{one} and 150 in {other}; they seem to go out of step near line 151"
    )


# === Pairs ===
def pairs(name="mine", split="train", target_language="de", n=2):
    sources = [f"s{i}" for i in range(n)]
    references = [[f"t{i}", f"u{i}"] for i in range(n)]
    targets = [several[0] for several in references]
    return Pairs(name, split, "en", target_language, sources, targets, references)


def test_pairs_are_a_frozen_sequence_of_two_texts():
    three = pairs(n=3)
    assert len(three) == 3
    assert list(three) == [("s0", "t0"), ("s1", "t1"), ("s2", "t2")]
    assert repr(three) == "Pairs(mine train, en-de, 3 pairs)"
    assert Pairs("m", "train", "en", "de", ["a"], ["x"]).references == [["x"]]
    with pytest.raises(AttributeError):
        three.sources = []


def test_two_corpora_are_joined():
    first, second = pairs("one", n=2), pairs("two", n=3)
    both = first + second
    assert list(both) == [*first, *second]
    assert both.references == first.references + second.references
    assert (both.name, both.split) == ("one+two", "train")
    assert (first + pairs("two", "valid")).split == "train+valid"
    with pytest.raises(ValueError, match="same languages.*en-de and en-fr"):
        first + pairs(target_language="fr")
    with pytest.raises(TypeError):
        first + [("a", "b")]


def test_unequal_lists_are_refused():
    with pytest.raises(ValueError, match="received 2, 1 and 1"):
        Pairs("mine", "train", "en", "de", ["a", "b"], ["x"])
