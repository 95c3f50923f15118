"""A source of sentence pairs that can be read again and again."""

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
class Part:
    """Sentence pairs from one place: two files, a table, or Python data.

    Attributes:
        name: the place, for messages.
        read: function without arguments that yields (source, target) from the start.
        languages: the codes of source and target, as far as the place tells.
        paths: the files that `read` reads, if any.
        columns: what it reads of a table.
        weight: how often an epoch has each pair.
        unit: what a pair is in this place, "line" or "row".
        first: number of the first pair.
        note: what a log should say of the columns.
    """

    name: str
    read: Callable[[], Iterator[tuple[str, str]]]
    languages: tuple[str, str] = (UNKNOWN, UNKNOWN)
    paths: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()
    weight: int = 1
    unit: str = "line"
    first: int = 1
    note: str = ""

    def place(self, index: int) -> str:
        """Names the place of a pair, counted from 0."""
        return f"{self.unit} {self.first + index:,} of {self.name}"


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
