"""Sentence pairs, read from two files that are aligned by line."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines
from zoo.warn import warn_caller


@dataclasses.dataclass(frozen=True, repr=False)
class Pairs:
    """Aligned sentences of two languages. Iterating yields (source, target).

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
        assert list(pairs) == [("Hi.", "Hallo.")]
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

    def __repr__(self) -> str:
        return (
            f"Pairs({self.name} {self.split}, "
            f"{self.source_language}-{self.target_language}, {len(self)} pairs)"
        )


def read_aligned(
    source_path: Path, target_path: Path, tabs_separate: bool
) -> tuple[list[str], list[list[str]]]:
    """Reads two files that are aligned by line; see `aligned_lines`.

    All white space is kept. Pairs with a blank side are left out, with a warning.

    Args:
        source_path: the source side.
        target_path: the target side.
        tabs_separate: whether a tab separates several translations of a sentence. On
            the target side all of them become references; on the source side only the
            first is used, so that both directions have the same number of pairs.

    Returns:
        The sources, and the references of each.
    """
    sources, references, blank, number = [], [], list[int](), 0
    lines = aligned_lines(source_path, target_path)
    for number, sides in enumerate(lines, start=1):
        source, target = (
            [text for text in texts if text.strip()]
            for texts in (s.split("\t") if tabs_separate else [s] for s in sides)
        )
        if source and target:
            sources.append(source[0])
            references.append(target)
        else:
            blank.append(number)
    if not sources:
        raise CorpusError(
            f"there is no sentence pair in {source_path} and {target_path}, received "
            f"{number} lines, {len(blank)} of them blank on one side or both"
        )
    if blank:
        warn_caller(
            f"{len(blank)} of {number} pairs left out, blank on one side or both, "
            f"the first at line {blank[0]} of {source_path} and {target_path}"
        )
    return sources, references


def aligned_lines(
    source: Path, target: Path, normalize: bool = False
) -> Iterator[tuple[str, str]]:
    """Yields the lines of two files in pairs; see `read_lines`.

    If one has more, the error has both counts.
    """
    sides = [read_lines(path, normalize) for path in (source, target)]
    try:
        yield from zip(*sides, strict=True)
    except CorpusError:
        raise
    except ValueError:  # of zip
        counts = [sum(1 for _ in read_lines(path)) for path in (source, target)]
        raise CorpusError(
            "the two files must have the same number of lines, received "
            f"{counts[0]:,} lines in {source} and {counts[1]:,} in {target}"
        ) from None
