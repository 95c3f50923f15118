"""Cleans items and counts what is left out, with the first place of each reason."""

from collections.abc import Iterator
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import has_control
from zoo.data.own.part import Part
from zoo.strings import counted

_CONTROL = (
    "replaced control characters by spaces in {:,}, often a sign of Windows-1252 that "
    "was read as Latin-1"
)


class Findings:
    """Counts what was done about the items of a part.

    Attributes:
        lost: number of items that are left out.
    """

    def __init__(self) -> None:
        self.lost = 0
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
    """Yields the items of a part, their texts tidied.

    Args:
        part: the items.
        keep_all: whether to leave out only those with a `fault`; see `Kind`.
        findings: counts what is changed or left out.
    """
    tidy, fault = part.kind.tidy, part.kind.fault
    flaw = None if keep_all else part.kind.flaw
    for number, item in part.rows():
        kept = tidy(item)
        reason = fault(kept) or (flaw and flaw(kept))
        if findings is not None and (reason or kept != item):
            texts = [item] if isinstance(item, str) else map("".join, item)
            place = f"{part.unit} {number:,} of {part.name}"
            if reason:
                findings.lost += 1
                findings.add(f"left out {{:,}} {reason}", place)
            elif any(map(has_control, texts)):
                findings.add(_CONTROL, place)
        if not reason:
            yield kept


def describe(
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
    part: Part, split: str, report: list[str], keep_all: bool = True
) -> list[Any]:
    """Returns the items of a part that fits into memory, and adds to a report.

    Raises:
        CorpusError: if none is left.
    """
    findings = Findings()
    items = list(clean(part, keep_all, findings))
    lines = list(describe(part, len(items), findings, split))
    if not items:
        raise CorpusError(
            f"there are no {part.kind.name}s left in {part.name}. {'; '.join(lines)}"
        )
    report += lines
    return items
