import bz2
import gzip
import lzma
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import CorpusError, lines
from zoo.data.lines import check_file, read_lines

pytestmark = pytest.mark.backend_free

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture
def write(tmp_path):
    def write_file(data, name="a.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write_file


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("\ufeffa\r\n\r\nb", ["a", "", "b"]),
        ("a\u2028b\x85c\x0bd\re\n", ["a\u2028b\x85c\x0bd\re"]),
        ("\n\n", ["", ""]),
        ("", []),
        ("a\ufeff", ["a\ufeff"]),
    ],
)
def test_only_lf_and_crlf_end_lines(write, content, expected):
    assert list(read_lines(write(content))) == expected


@given(st.text(alphabet="ab\u00e9e\u0301\u0308\n\r \u1100\u1161", max_size=40))
def test_blocks_make_no_difference(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(text.encode())
    whole = [list(read_lines(path, normalize)) for normalize in (False, True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", 1)
        assert [list(read_lines(path, n)) for n in (False, True)] == whole


def test_text_is_composed_if_asked_for(write):
    path = write("cafe\u0301\n\u0301x\n")
    assert list(read_lines(path)) == ["cafe\u0301", "\u0301x"]
    assert list(read_lines(path, normalize=True)) == ["caf\xe9", "\u0301x"]


# === Packed files ===


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("named", [True, False])
def test_packed_files_are_unpacked_whatever_their_name(write, suffix, named):
    path = write(PACK[suffix]("\ufeffa\nü\n".encode()), "a" + suffix * named)
    assert list(read_lines(path)) == ["a", "ü"]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("end", [-9, 20, 9])
def test_damaged_packed_files_are_refused_by_name(write, suffix, end):
    packed = PACK[suffix](os.urandom(999).hex().encode())
    path = write(packed[:end], f"a{suffix}")
    with pytest.raises(CorpusError, match=f"a{suffix} is damaged, or not"):
        list(read_lines(path))
    middle = len(packed) // 2
    path = write(packed[:middle] + bytes(9) + packed[middle + 9 :], f"a{suffix}")
    with pytest.raises(CorpusError, match=f"a{suffix} is damaged, or not"):
        list(read_lines(path))


def test_a_name_that_promises_what_is_not_there(write):
    with pytest.raises(CorpusError, match="a.xz is damaged, or not xz after all"):
        list(read_lines(write("a\n", "a.xz")))


# === What is no text ===


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_invalid_utf8_is_told_with_file_line_and_byte(write, monkeypatch, block):
    monkeypatch.setattr(lines, "_BLOCK", block)
    path = write(b"a\n\xc3\xbc\nf\xc3\xbcr \xfc b\nc\n")
    with pytest.raises(CorpusError, match="a.txt .*0xfc in line 3, byte 6 of the line"):
        list(read_lines(path))
    with pytest.raises(CorpusError, match="0xff in line 1, byte 3 of the line"):
        list(read_lines(write(b"ab\xff")))


def test_utf16_is_recognised(write):
    with pytest.raises(CorpusError, match="looks like UTF-16: save it as UTF-8"):
        list(read_lines(write("a\nb\n".encode("utf-16"))))


def test_a_line_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK", 4)
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    path = write(b"a\nb\n" + b"x" * ((1 << 20) + 9))
    with pytest.raises(CorpusError, match="more than 1 MiB, line 3"):
        list(read_lines(path))


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
