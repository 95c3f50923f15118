"""Sentence pairs, read from two files that are aligned by line."""

import dataclasses
import warnings
from collections.abc import Iterator
from pathlib import Path

from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines


@dataclasses.dataclass(frozen=True, repr=False)
class Pairs:
    """Aligned sentences of two languages. Iterating yields (source, target).

    `+` joins two corpora of the same languages.

    Args:
        name: the corpus, as "multi30k".
        split: the part of the corpus, as "train".
        source_language: as "en".
        target_language: as "de".
        sources: N source sentences.
        targets: N target sentences, the first reference of each source.
        references: all translations of each source. Default: just the target.

    Raises:
        ValueError: if the three lists differ in length.

    Example:
        ```python
        pairs = zoo.data.Pairs("mine", "train", "en", "de", ["Hi."], ["Hallo."])
        assert list(pairs + pairs) == [("Hi.", "Hallo.")] * 2
        ```
    """

    name: str
    split: str
    source_language: str
    target_language: str
    sources: list[str]
    targets: list[str]
    references: list[list[str]] = None  # type: ignore[assignment]  # set below

    def __post_init__(self) -> None:
        if self.references is None:
            references = [[target] for target in self.targets]
            object.__setattr__(self, "references", references)
        lengths = [len(self.sources), len(self.targets), len(self.references)]
        if len(set(lengths)) > 1:
            raise ValueError(
                "sources, targets and references should be equally many, received "
                f"{lengths[0]}, {lengths[1]} and {lengths[2]}"
            )

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.sources, self.targets, strict=True)

    def __add__(self, other: "Pairs") -> "Pairs":
        if not isinstance(other, Pairs):
            return NotImplemented
        ours = (self.source_language, self.target_language)
        theirs = (other.source_language, other.target_language)
        if ours != theirs:
            raise ValueError(
                "only corpora of the same languages can be joined, received "
                f"{'-'.join(ours)} and {'-'.join(theirs)}"
            )
        same = self.split == other.split
        return Pairs(
            f"{self.name}+{other.name}",
            self.split if same else f"{self.split}+{other.split}",
            *ours,
            self.sources + other.sources,
            self.targets + other.targets,
            self.references + other.references,
        )

    def __repr__(self) -> str:
        return (
            f"Pairs({self.name} {self.split}, "
            f"{self.source_language}-{self.target_language}, {len(self)} pairs)"
        )


def read_aligned(
    source_path: Path, target_path: Path, tabs_separate: bool
) -> tuple[list[str], list[list[str]]]:
    """Reads two files that are aligned by line.

    Lines end with LF or CRLF; a byte order mark at the start is dropped; all other
    white space is kept. A pair with a blank side is left out, and a warning says how
    many there were.

    Args:
        source_path: the source side.
        target_path: the target side.
        tabs_separate: whether a tab separates several translations of a sentence. On
            the target side all of them become references; on the source side only the
            first is used, so that both directions have the same number of pairs.

    Returns:
        The sources, and the references of each.

    Raises:
        CorpusError: if a side is not UTF-8, the sides differ in their number of lines,
            or they hold no pair.
    """
    sides = [list(read_lines(path)) for path in (source_path, target_path)]
    counts = [len(side) for side in sides]
    if counts[0] != counts[1]:
        raise CorpusError(
            "the two sides should have equally many lines, received "
            f"{counts[0]} lines in {source_path} and {counts[1]} in {target_path}"
        )
    sources, references, blank = [], [], []
    for number, (source, target) in enumerate(zip(*sides, strict=True), start=1):
        source = source.split("\t") if tabs_separate else [source]
        target = target.split("\t") if tabs_separate else [target]
        source = [text for text in source if text.strip()]
        target = [text for text in target if text.strip()]
        if source and target:
            sources.append(source[0])
            references.append(target)
        else:
            blank.append(number)
    if not sources:
        raise CorpusError(
            f"there is no sentence pair in {source_path} and {target_path}, received "
            f"{counts[0]} lines, {len(blank)} of them blank on one side or both"
        )
    if blank:
        warnings.warn(
            f"{len(blank)} of {counts[0]} pairs left out, blank on one side or both, "
            f"the first at line {blank[0]} of {source_path} and {target_path}",
            # read_aligned <- load <- the user's line
            stacklevel=3,
        )
    return sources, references
