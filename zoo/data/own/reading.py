"""Kinds of text, the places that hold it, and its cleaning while it is read."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Number, Real
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import has_control, tidy
from zoo.data.own.tables import TABLES
from zoo.strings import composed, counted, describe

UNKNOWN = "und"  # the code of a language that isn't known
# Of two or three letters, but no languages.
_OTHER_SUFFIXES = set("bpe csv raw ref src tgt tok trg tsv txt hyp out sys".split())
_CONTROL = (
    "replaced control characters by spaces in {:,}, often a sign of Windows-1252 that "
    "was read as Latin-1"
)
Findings = dict[str, list[Any]]  # what was found -> how often, and where first


class Kind:
    """How the items of a task are read and checked, from whatever source.

    An item is a str, or a tuple of str or of lists of str.
    """

    name: str  # of one item
    wanted: str  # the data that may hold them, for errors
    columns: tuple[str, ...]  # a row's cells, for errors: ("texts", "labels")
    defaults: Sequence[Sequence[str]]  # names of a table's columns to look for
    tables: Sequence[str] = TABLES  # suffixes of files that are tables
    aligned = False  # whether two files, aligned by line, hold the items
    languages: Sequence[str] | None = None  # codes of source and target, if given

    def __init__(self, chosen: Sequence[Any] | None = None) -> None:
        self.chosen = chosen  # names or numbers of a table's columns

    def item(self, cells: Sequence[Any], place: str = "") -> Any:
        """Returns the item of a row's cells; a missing cell is an empty str."""
        names = [f"{name}{place}" for name in self.columns]
        texts = tuple(map(as_text, cells, names))
        return texts if len(texts) > 1 else texts[0]

    def lines(self, path: Path) -> Iterator[tuple[int, Any]]:
        """Yields the line and the item of each in a file that is no table."""
        raise NotImplementedError

    def problem(self, item: Any, keep_all: bool) -> str | None:
        """Returns why an item is left out, if so; see `clean`."""
        raise NotImplementedError

    def build(self, items: list[Any], train: list[Any]) -> Any:
        """Makes a set of its items and those of the training set."""
        return items


@dataclasses.dataclass(frozen=True)
class Part:
    """Items from one place: two files, a table, another file, or Python data."""

    kind: Kind
    name: str  # the place, for messages
    rows: Callable[[], Iterator[tuple[int, Any]]]  # yields (number, item) anew
    languages: tuple[str, str] = (UNKNOWN, UNKNOWN)
    weight: int = 1  # how often an epoch has each item
    unit: str = "line"  # what the numbers count
    table: bool = False  # whether it has columns to choose
    note: str = ""  # what a log should say of the columns

    def read(self) -> Iterator[Any]:
        """Yields the items from the start."""
        return (item for _, item in self.rows())


def language_codes(names: Sequence[Any], columns: bool = False) -> tuple[str, str]:
    """Returns the two names that may be languages' codes; "und" for others.

    Of a table's columns, only those of two letters may, as "de" or "pt_BR".
    """
    letters = "[a-z]{2}" if columns else "[a-z]{2,3}"
    code = re.compile(f"{letters}([-_][A-Za-z0-9]{{2,8}})*")
    source, target = (
        name if code.fullmatch(name) and name not in _OTHER_SUFFIXES else UNKNOWN
        for name in map(str, names)
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
def clean(
    part: Part, keep_all: bool = False, findings: Findings | None = None
) -> Iterator[Any]:
    """Yields the items of a part, their texts tidied, without those to leave out.

    With `keep_all`, only those that can't be used are left out.
    """
    for number, item in part.rows():
        kept = _tidy(item)
        reason = part.kind.problem(kept, keep_all)
        if findings is not None and (reason or kept != item):
            found = f"left out {{:,}} {reason}" if reason else None
            texts = [item] if isinstance(item, str) else map("".join, item)
            if found or any(map(has_control, texts)):
                place = f"{part.unit} {number:,} of {part.name}"
                findings.setdefault(found or _CONTROL, [0, place])[0] += 1
        if not reason:
            yield kept


def _tidy(item):
    """Tidies the texts of an item, which may be nested."""
    return tidy(item) if isinstance(item, str) else type(item)(map(_tidy, item))


def describe_part(
    part: Part, count: int, findings: Findings, split: str = "train"
) -> list[str]:
    """Returns a log's lines on a part of a split, of which `count` items are kept."""
    weight = f", {part.weight} times an epoch" if part.weight > 1 else ""
    purpose = "" if split == "train" else f" for {split}"
    count += sum(lost for what, (lost, _) in findings.items() if what != _CONTROL)
    return [
        f"read {counted(count, part.kind.name)}{purpose} from {part.name}{weight}",
        *filter(None, [part.note]),
        *(
            f"{what.format(count)} (the first: {first})"
            for what, (count, first) in findings.items()
        ),
    ]


def read_clean(
    parts: Sequence[Part], split: str, report: list[str], keep_all: bool = True
) -> list[Any]:
    """Returns the items of a set, each as often as its weight; adds to a report."""
    read = []
    for part in parts:
        findings: Findings = {}
        items = list(clean(part, keep_all, findings))
        lines = describe_part(part, len(items), findings, split)
        if not items:
            raise CorpusError(
                f"there are no {part.kind.name}s left in {part.name}. "
                f"{'; '.join(lines)}"
            )
        report += lines
        read += items * part.weight
    return read
