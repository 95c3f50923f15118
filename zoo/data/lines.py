"""The lines of a text file, plain or packed, read in constant memory."""

import contextlib
import itertools
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from zoo.data.errors import CorpusError
from zoo.files import unpacked
from zoo.strings import replace_surrogates

_BLOCK = 1 << 20  # bytes that are read at once, and then to the end of the line
LONGEST_LINE = 1 << 24  # bytes; beyond that a file is hardly text
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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


def composed(text: str) -> str:
    """Returns a text in Unicode's composed form (NFC), without lone surrogates."""
    text = replace_surrogates(text)
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def read_lines(path: Path, normalize: bool = False) -> Iterator[str]:
    r"""Yields the lines of a file, without their ends.

    A file that is gzip, bzip2 or xz is unpacked. Only "\n" or "\r\n" ends a line, so
    that characters such as U+2028 may stand within sentences. A byte order mark at the
    start is dropped.

    Args:
        path: the file.
        normalize: whether to bring the text into Unicode's composed form (NFC).

    Raises:
        CorpusError: if the file is damaged or not UTF-8, or has a line of more than
            16 MiB.
    """
    return itertools.chain.from_iterable(_blocks(path, normalize))


def _blocks(path, normalize):
    """Yields lists of lines: what is done to a whole block costs little for a line."""
    number = 1  # of the block's first line
    with path.open("rb") as file, _corpus_error(), unpacked(file, path) as content:
        while block := content.read(_BLOCK):
            block += content.readline(LONGEST_LINE)
            if len(block) >= LONGEST_LINE and not block.endswith(b"\n"):
                line = number + block.count(b"\n")
                raise CorpusError(
                    f"{path} should be text with a sentence a line, received a line "
                    f"of more than {LONGEST_LINE >> 20} MiB, line {line}"
                )
            text = _decode(path, block, number)
            text = composed(text) if normalize else text
            # Not splitlines(), which also splits at U+2028, U+0085 and others.
            lines = text.split("\n")
            if not lines[-1]:
                lines.pop()
            if "\r" in text:
                lines = [line.removesuffix("\r") for line in lines]
            yield lines
            number += len(lines)


@contextlib.contextmanager
def _corpus_error():
    try:
        yield
    except CorpusError:
        raise
    except ValueError as error:
        raise CorpusError(str(error)) from error


def _decode(path, block, number):
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        before = block[: error.start]
        hint = ""
        if number == 1 and block.startswith(_UTF_16):
            hint = "; it looks like UTF-16: save it as UTF-8"
        raise CorpusError(
            f"{path} should be UTF-8, received the byte 0x{block[error.start]:02x} in "
            f"line {number + before.count(10)}, byte "
            f"{error.start - before.rfind(10)} of the line{hint}"
        ) from None
    return text.removeprefix("\ufeff") if number == 1 else text
