"""Kinds of text, and sources of it that can be read again and again."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from zoo.data.languages import is_language

UNKNOWN = "und"  # the code of a language that isn't known
# Of two or three letters, but no languages.
_OTHER_SUFFIXES = set("bpe csv raw ref src tgt tok trg tsv txt hyp out sys".split())


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the items of a task are read and checked, from whatever source.

    Attributes:
        name: what one of them is called.
        wanted: the data that may hold them, for errors.
        columns: what a row's cells are, for errors: ("texts", "labels").
        defaults: names of a table's columns to look for.
        item: function of a row's cells and its place, such as "[3]", that returns an
            item: a str, or a tuple of str or lists. A missing cell is an empty str.
        tidy: function of an item that applies `zoo.data.lines.tidy` to its texts.
        fault: function of an item that returns why it can't be used, or None.
        flaw: the same for what `keep_all` keeps.
        chosen: names or numbers of columns that the user wants; None for the defaults.
        tables: suffixes of files that are tables; None for all files.
        lines: function of a path that yields (line, item) of a file that is no table.
        aligned: whether two files, aligned by line, hold the items.
        languages: codes of source and target, if the user says.
        text: function of an item to what decides whether two are the same.
        label: function of an item to its class; None for one without classes.
        build: function of the items of a set, and of those of the training set, that
            makes the set of them.
    """

    name: str
    wanted: str
    columns: tuple[str, ...]
    defaults: Sequence[Sequence[str]]
    item: Callable[[Sequence[Any], str], Any]
    tidy: Callable[[Any], Any]
    fault: Callable[[Any], str | None]
    flaw: Callable[[Any], str | None]
    chosen: Sequence[Any] | None = None
    tables: Sequence[str] | None = None
    lines: Callable[[Path], Iterator[tuple[int, Any]]] | None = None
    aligned: bool = False
    languages: Sequence[str] | None = None
    text: Callable[[Any], str] = str
    label: Callable[[Any], str | None] = lambda _: None
    build: Callable[[list[Any], list[Any]], Any] = lambda items, _: items


@dataclasses.dataclass(frozen=True)
class Part:
    """Items from one place: two files, a table, another file, or Python data.

    Attributes:
        kind: how they are read.
        name: the place, for messages.
        rows: function without arguments that yields (number, item) from the start.
        languages: the codes of source and target, as far as the place tells.
        paths: the files that `rows` reads, if any.
        columns: what it reads of a table.
        weight: how often an epoch has each item.
        unit: what the numbers count.
        note: what a log should say of the columns.
    """

    kind: Kind
    name: str
    rows: Callable[[], Iterator[tuple[int, Any]]]
    languages: tuple[str, str] = (UNKNOWN, UNKNOWN)
    paths: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()
    weight: int = 1
    unit: str = "line"
    note: str = ""

    def read(self) -> Iterator[Any]:
        """Yields the items from the start."""
        return (item for _, item in self.rows())


def language_codes(names: Sequence[str]) -> tuple[str, str]:
    """Returns the `language_code` of two files' suffixes."""
    source, target = map(language_code, names)
    return source, target


def column_codes(names: Sequence[Any]) -> tuple[str, str]:
    """Returns the `language_code` of two columns' names that are known languages."""
    source, target = (
        code if is_language(code) else UNKNOWN
        for code in map(language_code, map(str, names))
    )
    return source, target


def language_code(name: str) -> str:
    """Returns a name if it may be a language's code.

    Example:
        >>> language_code("de"), language_code("pt_BR"), language_code("txt")
        ('de', 'pt_BR', 'und')
    """
    known = re.fullmatch(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*", name)
    return name if known and name not in _OTHER_SUFFIXES else UNKNOWN
