import bz2
import gzip
import lzma
import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import CorpusError, lines
from zoo.data.lines import check_file, has_control, read_lines, tidy

pytestmark = pytest.mark.backend_free

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("\ufeffa\r\n\r\nb", ["a", "", "b"]),
        ("a\u2028b\x85c\x0bd\re\n", ["a\u2028b\x85c\x0bd\re"]),
        ("a\u2028b\r\rc", ["a\u2028b", "", "c"]),
        ("\n\n", ["", ""]),
        ("", []),
        ("a\ufeff", ["a\ufeff"]),
        ("ab\x00cd", ["ab\x00cd"]),
    ],
)
def test_only_lf_and_crlf_end_lines(write, content, expected):
    assert list(read_lines(write(content))) == expected


@given(st.text(alphabet="ab\u00e9e\u0301\u0308\n\r \u1100\u1161", max_size=40))
def test_lines_are_composed_one_by_one(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(text.encode())
    lines = [unicodedata.normalize("NFC", line) for line in read_lines(path)]
    assert list(read_lines(path, normalize=True)) == lines


# === Packed files ===


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("named", [True, False])
def test_packed_files_are_unpacked_whatever_their_name(write, suffix, named):
    path = write(PACK[suffix]("\ufeffa\nü\n".encode()), "a" + suffix * named)
    assert list(read_lines(path)) == ["a", "ü"]


@pytest.mark.parametrize("suffix", PACK)
def test_damaged_packed_files_are_refused_by_name(write, suffix):
    packed = PACK[suffix](os.urandom(999).hex().encode())
    middle = packed[:600] + bytes(9) + packed[609:]
    for damaged in (packed[:-9], packed[:20], packed[:9], middle, b"a\n"):
        path = write(damaged, f"a{suffix}")
        with pytest.raises(CorpusError, match=f"a{suffix} is damaged, or not"):
            list(read_lines(path))


# === What is no text ===


def test_invalid_utf8_is_told_with_file_line_and_byte(write):
    path = write(b"a\n\xc3\xbc\nf\xc3\xbcr \xfc b\nc\n")
    with pytest.raises(CorpusError, match="a.txt .*0xfc in line 3, byte 6 of the line"):
        list(read_lines(path))
    with pytest.raises(CorpusError, match="0xff in line 1, byte 3 of the line"):
        list(read_lines(write(b"ab\xff")))


@pytest.mark.parametrize(
    "encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_an_encoding_is_told_by_its_mark_or_its_nulls(write, encoding):
    text = "a\U0001f600\r\n\nü"
    marked = write(f"\ufeff{text}".encode(encoding))
    assert list(read_lines(marked)) == ["a\U0001f600", "", "ü"]
    with pytest.raises(CorpusError, match=f"like {encoding.upper()} without a byte o"):
        list(read_lines(write("ab\ncd".encode(encoding))))
    with pytest.raises(CorpusError, match="like UTF-.* without a byte order mark"):
        list(read_lines(write("да нет".encode(encoding))))
    with pytest.raises(CorpusError, match=r"a.txt: 'utf.*truncated data"):
        list(read_lines(write(f"\ufeff{text}".encode(encoding)[:-1])))


def test_a_line_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 99)
    path = write(b"a\nb\n" + b"x" * 109)
    with pytest.raises(CorpusError, match="more than 99 characters, line 3"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("text", "tidied", "control"),
    [
        (" a b\t", "a b", False),
        ("a\tb\nc\u2028d\xa0e\u200bf", "a\tb\nc\u2028d\xa0e\u200bf", False),
        ("\x00it\x92s\x0b\x7f", "it s", True),
        ("\x85a\x0c", "a", True),
        ("a\r\n", "a", False),
        (" \u200b\ufeff\u2060\xad\u200e ", "", False),
    ],
)
def test_tidy(text, tidied, control):
    assert tidy(text) == tidied and has_control(text) == control


def test_files_that_cannot_be_read_are_named(write, tmp_path):
    check_file(write("a"))
    with pytest.raises(CorpusError, match="gone does not exist"):
        check_file(tmp_path / "gone")
    with pytest.raises(CorpusError, match="should be a file, received a folder"):
        check_file(tmp_path)
    with pytest.raises(CorpusError, match="empty.txt is empty"):
        check_file(write("", "empty.txt"))
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(CorpusError, match="link can't be read: No such file"):
        check_file(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match="received a pipe or device"):
        check_file(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(write):
    path = write("a")
    path.chmod(0)
    with pytest.raises(CorpusError, match="a.txt can't be read: Permission denied"):
        check_file(path)
