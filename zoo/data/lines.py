"""The lines of text files, and the error of files that can't be read."""

import codecs
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import regex

from zoo.files import StrPath

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_KEEP = "surrogateescape"  # keeps wrong bytes for `_check`
_VISIBLE = regex.compile(r"[^\s\p{Cc}\p{Cf}]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but tab and line feed
UPOS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
).split()


class CorpusError(ValueError):
    """A corpus's files are missing, broken, altered or inconsistent."""


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


def read_lines(source: Any, name: StrPath | None = None) -> Iterator[str]:
    r"""Yields the lines of a file, without their ends, in constant memory.

    A path that ends in `.gz` is unpacked. The text is UTF-8, or UTF-16 with a byte
    order mark. Only "\n" or "\r\n" ends a line, so that characters such as U+2028 may
    be within sentences.

    Args:
        source: the path, or a buffered binary file.
        name: a file's name for errors.

    Raises:
        CorpusError: if the file is damaged, in another encoding, or has a NUL
            character. It names the line.
    """
    name, number = name or source, 0
    try:
        with _opened(source) as file:
            wide = file.peek(2)[:2] in _UTF16
            encoding = ("utf-16", "strict") if wide else ("utf-8-sig", _KEEP)
            text = io.TextIOWrapper(file, *encoding, newline="\n")
            try:
                for line in text:
                    number += 1
                    _check(name, line, number)
                    yield line.removesuffix("\n").removesuffix("\r")
            finally:
                text.detach()  # so that standard input stays open
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeError) as error:
        raise CorpusError(
            f"{name} is damaged after line {number:,}: {error}"
        ) from error


def _opened(source):
    if not isinstance(source, Path):
        return nullcontext(source)
    return gzip.open(source) if source.suffix == ".gz" else source.open("rb")


def _check(name, line, number):
    if "\0" in line:
        raise CorpusError(
            f"{name} should be UTF-8, or UTF-16 with a byte order mark, received a NUL "
            f"character in line {number:,}"
        )
    if line.isascii():
        return
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{name} should be UTF-8, received the byte "
            f"0x{ord(line[error.start]) - 0xDC00:02x} in line {number:,}, byte "
            f"{len(line[: error.start].encode()) + 1} of the line"
        ) from None


def paragraphs(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Yields the numbered lines of each run of lines without a blank one."""
    lines = enumerate(read_lines(path), start=1)
    for blank, run in itertools.groupby(lines, lambda line: not line[1].strip()):
        if not blank:
            yield list(run)


def aligned_lines(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yields the lines of two files in pairs; they must have the same number."""
    for pair in itertools.zip_longest(read_lines(source), read_lines(target)):
        if None in pair:
            counts = [sum(1 for _ in read_lines(path)) for path in (source, target)]
            raise CorpusError(
                "the two files must have the same number of lines, received "
                f"{counts[0]:,} lines in {source} and {counts[1]:,} in {target}"
            )
        yield pair


def conllu_sentences(path: Path) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yields the line, the words and the tags of each sentence of a CoNLL-U file."""
    for lines in paragraphs(path):
        words, tags = list[str](), list[str]()
        for number, line in lines:
            fields = line.split("\t")
            if line.startswith("#"):
                continue
            if len(fields) != 10:
                raise CorpusError(
                    f"{path}, line {number} should have the ten fields of CoNLL-U "
                    f"between tabs, received {line[:40]!r}"
                )
            if not fields[0].isdigit():  # 3-4 is a contraction, 8.1 an empty node
                continue
            word, tag = fields[1], fields[3]
            if not word or tag not in UPOS:
                raise CorpusError(
                    f"{path}, line {number} should have a word and one of the tags "
                    f"{', '.join(UPOS)}, received {word!r} and {tag!r}"
                )
            words.append(word)
            tags.append(tag)
        if words:
            yield lines[0][0], words, tags
