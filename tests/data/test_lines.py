import gzip
import os

import pytest

from zoo.data import CorpusError
from zoo.data.lines import aligned_lines, read_lines, tidy

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\r\n\r\nb", ["a", "", "b"]),
        ("a\u2028b\x85c\x0bd\re\n", ["a\u2028b\x85c\x0bd\re"]),
        ("\n\n", ["", ""]),
        ("", []),
        ("a\ufeff\U0001f600", ["a\ufeff\U0001f600"]),
    ],
)
def test_only_lf_and_crlf_end_lines(write, content, encoding, expected):
    path = write(content.encode(encoding))
    assert list(read_lines(path)) == expected
    with path.open("rb") as file:  # as standard input, which stays open
        assert list(read_lines(file)) == expected and not file.closed
    packed = write(gzip.compress(path.read_bytes()), "a.gz")
    assert list(read_lines(packed)) == expected


def test_damaged_packed_files_are_refused_by_name(write):
    packed = gzip.compress(os.urandom(999).hex().encode())
    middle = packed[:600] + bytes(9) + packed[609:]
    for damaged in (packed[:-9], packed[:20], packed[:9], middle, b"a\n"):
        with pytest.raises(CorpusError, match="a.gz is damaged after line 0"):
            list(read_lines(write(damaged, "a.gz")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\xc3\xbc\nf\xc3\xbcr \xfc b\n", "0xfc in line 3, byte 6 of the line"),
        (b"ab\xff", "0xff in line 1, byte 3 of the line"),
        ("a\nb".encode("utf-16-le"), "NUL character in line 1"),
        ("да\n".encode("utf-16-be"), "NUL character in line 1"),
        ("a\nb".encode("utf-32"), "NUL character in line 1"),
        (b"a\nb\0\n", "NUL character in line 2"),
        ("a\nb".encode("utf-16")[:-1], "damaged after line 1: .*truncated data"),
    ],
)
def test_what_is_no_text_is_refused_by_line(write, content, message):
    with pytest.raises(CorpusError, match=message):
        list(read_lines(write(content)))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a\nb\nc\n", "x\ny\n", r"3 lines in .*en and 2 in .*de"),
        ("a\nb\n", b"x\nf\xfcr\n", r"valid\.de .*UTF-8.*byte 0xfc in line 2"),
    ],
)
def test_unequal_or_broken_sides_are_refused(write, source, target, message):
    with pytest.raises(CorpusError, match=message):
        list(aligned_lines(write(source, "valid.en"), write(target, "valid.de")))


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        (" a b\t", "a b"),
        ("a\tb\nc\u2028d\xa0e\u200bf", "a\tb\nc\u2028d\xa0e\u200bf"),
        ("\x00it\x92s\x0b\x7f", "it s"),
        ("\x85a\x0c", "a"),
        ("a\r\n", "a"),
        (" \u200b\ufeff\u2060\xad\u200e ", ""),
    ],
)
def test_tidy(text, tidied):
    assert tidy(text) == tidied
