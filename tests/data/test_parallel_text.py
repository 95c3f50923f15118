import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.parallel_text import read_aligned

pytestmark = pytest.mark.backend_free


@pytest.fixture
def read(tmp_path):
    """Writes two sides and reads them."""

    def write_and_read(source, target, tabs_separate=False):
        paths = tmp_path / "valid.en", tmp_path / "valid.de"
        for path, data in zip(paths, (source, target), strict=True):
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_aligned(*paths, tabs_separate)

    return write_and_read


# === Reading ===


def test_lines_belong_together(read):
    sources, references = read("a b\nc \n", "ä\tö\nü\n")
    assert sources == ["a b", "c "]
    assert references == [["ä\tö"], ["ü"]]


@pytest.mark.parametrize("source", ["a\r\nb\r\n", "a\nb", "\ufeffa\nb\n"])
def test_crlf_byte_order_mark_and_no_final_line_end(read, source):
    assert read(source, "x\ny\n") == (["a", "b"], [["x"], ["y"]])


def test_only_lf_ends_a_line(read):
    text = "a\u2028b\x85c\x0bd\n"
    assert read(text, "x\n")[0] == [text[:-1]]


def test_tabs_separate_references(read):
    target = "Du.\tIhr.\t Sie.\nHallo.\n"
    sources, references = read("You.\nHi.\n", target, tabs_separate=True)
    assert sources == ["You.", "Hi."]
    assert references == [["Du.", "Ihr.", " Sie."], ["Hallo."]]


def test_of_several_sources_the_first_is_read(read):
    source = "Du.\tIhr.\nHallo.\n"
    sources, references = read(source, "You.\nHi.\n", tabs_separate=True)
    assert sources == ["Du.", "Hallo."]
    assert references == [["You."], ["Hi."]]


def test_misaligned_sides_are_refused_with_both_counts(read):
    with pytest.raises(CorpusError, match=r"3 lines in .*en and 2 in .*de"):
        read("a\nb\nc\n", "x\ny\n")


def test_invalid_utf8_is_refused_with_file_byte_and_line(read):
    with pytest.raises(CorpusError, match=r"valid\.de .*UTF-8.*byte 0xfc in line 2"):
        read("a\nb\n", "x\nfür\n".encode("latin-1"))


def test_blank_lines_leave_their_pair_out_with_a_warning(read):
    with pytest.warns(UserWarning, match="3 of 5 pairs left out.*line 2"):
        pairs = read("a\n\nc\n \ne\n", "v\nw\n\t\n\nz\n", tabs_separate=True)
    assert pairs == (["a", "e"], [["v"], ["z"]])


@pytest.mark.parametrize(("source", "lines"), [("", 0), ("\n\n", 2)])
def test_no_sentence_at_all(read, source, lines):
    with pytest.raises(CorpusError, match=f"no sentence pair.*received {lines} lines"):
        read(source, source)


# === Pairs ===


def pairs(name="mine", split="train", target_language="de", n=2):
    sources = [f"s{i}" for i in range(n)]
    references = [[f"t{i}", f"u{i}"] for i in range(n)]
    targets = [several[0] for several in references]
    return Pairs(name, split, "en", target_language, sources, targets, references)


def test_length_iteration_and_a_short_repr():
    three = pairs(n=3)
    assert len(three) == 3
    assert list(three) == [("s0", "t0"), ("s1", "t1"), ("s2", "t2")]
    assert repr(three) == "Pairs(mine train, en-de, 3 pairs)"


def test_references_default_to_the_targets():
    assert Pairs("m", "train", "en", "de", ["a"], ["x"]).references == [["x"]]


def test_pairs_cannot_be_changed_by_accident():
    with pytest.raises(AttributeError):
        pairs().sources = []


def test_two_corpora_are_joined():
    first, second = pairs("one", n=2), pairs("two", n=3)
    both = first + second
    assert list(both) == [*first, *second]
    assert both.references == first.references + second.references
    assert (both.name, both.split) == ("one+two", "train")
    assert (first + pairs("two", "valid")).split == "train+valid"
    assert len(first) == 2


def test_corpora_of_other_languages_are_not_joined():
    with pytest.raises(ValueError, match="same languages.*en-de and en-fr"):
        pairs() + pairs(target_language="fr")
    with pytest.raises(TypeError):
        pairs() + [("a", "b")]


def test_unequal_lists_are_refused():
    with pytest.raises(ValueError, match="received 2, 1 and 1"):
        Pairs("mine", "train", "en", "de", ["a", "b"], ["x"])
