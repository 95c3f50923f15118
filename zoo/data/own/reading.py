"""Kinds of text, the places that hold it, and its cleaning while it is read."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Number, Real
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.languages import is_language
from zoo.data.lines import has_control, tidy
from zoo.strings import composed, counted, describe

UNKNOWN = "und"  # the code of a language that isn't known
# Of two or three letters, but no languages.
_OTHER_SUFFIXES = set("bpe csv raw ref src tgt tok trg tsv txt hyp out sys".split())
_CONTROL = (
    "replaced control characters by spaces in {:,}, often a sign of Windows-1252 that "
    "was read as Latin-1"
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the items of a task are read and checked, from whatever source.

    An item is a str, or a tuple of str or of lists of str. Most functions take one.
    """

    name: str  # of one item
    wanted: str  # the data that may hold them, for errors
    columns: tuple[str, ...]  # a row's cells, for errors: ("texts", "labels")
    defaults: Sequence[Sequence[str]]  # names of a table's columns to look for
    fault: Callable[[Any], str | None]  # why it can't be used, if so
    flaw: Callable[[Any], str | None]  # the same for what `keep_all` keeps
    chosen: Sequence[Any] | None = None  # names or numbers of columns, if given
    tables: Sequence[str] | None = None  # suffixes of files that are; None for all
    # Yields (line, item) of a path that is no table.
    lines: Callable[[Path], Iterator[tuple[int, Any]]] | None = None
    aligned: bool = False  # whether two files, aligned by line, hold the items
    languages: Sequence[str] | None = None  # codes of source and target, if given
    text: Callable[[Any], str] = str  # what decides whether two are the same
    label: Callable[[Any], str | None] = lambda _: None  # its class, if there are any
    # Makes a set of its items and those of the training set.
    build: Callable[[list[Any], list[Any]], Any] = lambda items, _: items

    def item(self, cells: Sequence[Any], place: str = "") -> Any:
        """Returns the item of a row's cells; a missing cell is an empty str."""
        names = [f"{name}{place}" for name in self.columns]
        texts = tuple(map(as_text, cells, names))
        return texts if len(texts) > 1 else texts[0]


@dataclasses.dataclass(frozen=True)
class Part:
    """Items from one place: two files, a table, another file, or Python data."""

    kind: Kind
    name: str  # the place, for messages
    rows: Callable[[], Iterator[tuple[int, Any]]]  # yields (number, item) anew
    languages: tuple[str, str] = (UNKNOWN, UNKNOWN)
    paths: tuple[Path, ...] = ()  # that `rows` reads
    columns: tuple[str, ...] = ()  # that it reads of a table
    weight: int = 1  # how often an epoch has each item
    unit: str = "line"  # what the numbers count
    note: str = ""  # what a log should say of the columns

    def read(self) -> Iterator[Any]:
        """Yields the items from the start."""
        return (item for _, item in self.rows())


def language_codes(names: Sequence[Any], known: bool = False) -> tuple[str, str]:
    """Returns the two names that may be languages' codes; "und" for others."""
    source, target = (
        code
        if re.fullmatch(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*", code)
        and code not in _OTHER_SUFFIXES
        and (not known or is_language(code))
        else UNKNOWN
        for code in map(str, names)
    )
    return source, target


# === Cells ===
def as_text(value: Any, place: str) -> str:
    """Returns a str, or a number's, in Unicode's composed form.

    A missing one is "": None, NaN, or pandas's NA and NaT. Whole floats are spelled as
    integers, since a column of integers becomes one of floats if a cell is missing.
    """
    if isinstance(value, str):
        return composed(value)
    if _missing(value):
        return ""
    if not isinstance(value, Number):
        raise TypeError(f"{place} must be a str or number. Received: {describe(value)}")
    if isinstance(value, Real) and not isinstance(value, Integral) and value % 1 == 0:
        value = round(value)
    return str(value)


def _missing(value):
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas's NA: a comparison with it has no truth value
        return True
    except ValueError:  # an array
        return False


# === Cleaning ===
class Findings:
    """Counts what was left out or changed, with the first place of each reason."""

    def __init__(self) -> None:
        self.lost = 0  # items that are left out
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, what: str, place: str) -> None:
        """Counts an item; `what` has a place for the count."""
        count, first = self._found.get(what, (0, place))
        self._found[what] = count + 1, first

    def __iter__(self) -> Iterator[str]:
        for what, (count, first) in self._found.items():
            yield f"{what.format(count)} (the first: {first})"


def clean(
    part: Part, keep_all: bool = False, findings: Findings | None = None
) -> Iterator[Any]:
    """Yields the items of a part, their texts tidied, without those to leave out.

    With `keep_all`, only those with a `fault` are left out; see `Kind`.
    """
    fault = part.kind.fault
    flaw = None if keep_all else part.kind.flaw
    for number, item in part.rows():
        kept = _tidy(item)
        reason = fault(kept) or (flaw and flaw(kept))
        if findings is not None and (reason or kept != item):
            place = f"{part.unit} {number:,} of {part.name}"
            texts = [item] if isinstance(item, str) else map("".join, item)
            if reason:
                findings.lost += 1
                findings.add(f"left out {{:,}} {reason}", place)
            elif any(map(has_control, texts)):
                findings.add(_CONTROL, place)
        if not reason:
            yield kept


def _tidy(item):
    """Tidies the texts of an item, which may be nested."""
    return tidy(item) if isinstance(item, str) else type(item)(map(_tidy, item))


def describe_part(
    part: Part, count: int, findings: Findings, split: str = "train"
) -> Iterator[str]:
    """Yields a log's lines on a part of a split, of which `count` items are kept."""
    weight = f", {part.weight} times an epoch" if part.weight > 1 else ""
    purpose = "" if split == "train" else f" for {split}"
    total = counted(count + findings.lost, part.kind.name)
    yield f"read {total}{purpose} from {part.name}{weight}"
    if part.note:
        yield part.note
    yield from findings


def read_clean(
    parts: Sequence[Part], split: str, report: list[str], keep_all: bool = True
) -> list[Any]:
    """Returns the items of a set, each as often as its weight; adds to a report."""
    read = []
    for part in parts:
        findings = Findings()
        items = list(clean(part, keep_all, findings))
        lines = list(describe_part(part, len(items), findings, split))
        if not items:
            raise CorpusError(
                f"there are no {part.kind.name}s left in {part.name}. "
                f"{'; '.join(lines)}"
            )
        report += lines
        read += items * part.weight
    return read
