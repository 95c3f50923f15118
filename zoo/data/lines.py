"""The lines of a text file, plain or packed, read in constant memory."""

import codecs
import io
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import regex

from zoo.data.errors import CorpusError
from zoo.files import StrPath, unpacked
from zoo.strings import composed

LONGEST_LINE = 1 << 24  # characters; beyond that a file is hardly text
_MARKS = {  # UTF-32's begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_VISIBLE = regex.compile(r"[^\s\p{Cc}\p{Cf}]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but tab and line feed
_LOW = re.compile(rb"[^\n\r -\xff]")  # half of UTF-16's bytes in most alphabets


def check_file(path: Path) -> None:
    """Raises a `CorpusError` if a file can't be read several times, or is empty."""
    if not os.path.lexists(path):
        raise CorpusError(f"{path} does not exist")
    if path.is_dir():
        raise CorpusError(f"{path} should be a file, received a folder")
    if path.exists() and not path.is_file():
        raise CorpusError(
            f"{path} should be a file, received a pipe or device, which can't be read "
            "twice: write it to a file first"
        )
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise CorpusError(f"{path} can't be read: {error.strerror}") from error
    if empty:
        raise CorpusError(f"{path} is empty")


def tidy(text: str) -> str:
    r"""Strips a text and replaces control characters by spaces.

    Returns:
        The text; an empty one if no character is visible, such as of zero-width spaces.

    Example:
        >>> tidy(" it\x92s \n"), tidy("\u200b")
        ('it s', '')
    """
    text = text.strip()
    if text.isprintable():
        return text
    text = _CONTROL.sub(" ", text).strip()
    return text if _VISIBLE.search(text) else ""


def has_control(text: str) -> bool:
    """Returns whether `tidy` removes control characters other than line ends."""
    return _CONTROL.search(text.strip(" \t\r\n")) is not None


def read_lines(
    source: Any, normalize: bool = False, name: StrPath | None = None
) -> Iterator[str]:
    r"""Yields the lines of a file, without their ends.

    A file that is gzip, bzip2 or xz is unpacked. The text is UTF-8, or UTF-16 or UTF-32
    with a byte order mark. Only "\n" or "\r\n" ends a line, so that characters such as
    U+2028 may stand within sentences; "\r" does in a file that begins without "\n".

    Args:
        source: the path, or a buffered binary file.
        normalize: whether to bring the text into Unicode's composed form (NFC).
        name: a file's name for errors.

    Raises:
        CorpusError: if the file is damaged or in another encoding, or has a line of
            more than 16,777,216 characters.
    """
    name = name or source
    opened = source.open("rb") if isinstance(source, Path) else nullcontext(source)
    with opened as file, _corpus_error(name), unpacked(file, name) as content:
        encoding, end = _format(content.peek(1 << 13), name)
        errors = "surrogateescape" if encoding == "utf-8-sig" else "strict"
        text = io.TextIOWrapper(content, encoding, errors, newline=end)
        with ExitStack() as stack:
            stack.callback(text.detach)  # so that standard input stays open
            lines = iter(lambda: text.readline(LONGEST_LINE), "")
            for number, line in enumerate(lines, start=1):
                if not line.isascii() or len(line) == LONGEST_LINE:
                    _check(name, line, number, end)
                line = line.removesuffix(end).removesuffix("\r")
                yield composed(line) if normalize else line


def _format(start, name):
    """Returns the encoding and the line end of a file by its first bytes."""
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            text = start[: len(start) // 4 * 4].decode(encoding, "ignore")
            break
    else:
        encoding, text = "utf-8-sig", start.decode("latin-1")
        nulls = start.count(0)
        if nulls and 4 * len(_LOW.findall(start)) >= len(start):
            size = 32 if nulls > 0.6 * len(start) else 16
            order = "LE" if start[1::2].count(0) > start[::2].count(0) else "BE"
            raise CorpusError(
                f"{name} should be UTF-8, received NUL bytes: it looks like "
                f"UTF-{size}-{order} without a byte order mark; save it as UTF-8"
            )
    return encoding, "\r" if "\r" in text[:-1] and "\n" not in text else "\n"


def _check(name, line, number, end):
    if len(line) == LONGEST_LINE and not line.endswith(end):
        raise CorpusError(
            f"{name} should be text with a sentence a line, received a line of more "
            f"than {LONGEST_LINE:,} characters, line {number}"
        )
    try:
        line.encode()
    except UnicodeEncodeError as error:  # "surrogateescape" has read a wrong byte
        raise CorpusError(
            f"{name} should be UTF-8, received the byte "
            f"0x{ord(line[error.start]) - 0xDC00:02x} in line {number}, byte "
            f"{len(line[: error.start].encode()) + 1} of the line"
        ) from None


@contextmanager
def _corpus_error(name):
    try:
        yield
    except CorpusError:
        raise
    except ValueError as error:
        place = f"{name}: " * isinstance(error, UnicodeError)
        raise CorpusError(f"{place}{error}") from error
