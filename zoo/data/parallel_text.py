"""Sentence pairs and their languages; corpora of two files aligned by line."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from zoo.data.lines import CorpusError, aligned_lines


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
    """Reads two files that are aligned by line. All white space is kept.

    Args:
        source_path: the source side.
        target_path: the target side.
        tabs_separate: whether a tab separates several translations of a sentence. On
            the target side all of them become references; on the source side only the
            first is used, so that both directions have the same number of pairs.

    Returns:
        The sources, and the references of each.
    """
    sources, references = list[str](), list[list[str]]()
    place = f"{source_path} and {target_path}"
    for number, sides in enumerate(aligned_lines(source_path, target_path), start=1):
        source, target = (s.split("\t") if tabs_separate else [s] for s in sides)
        if not all(map(str.strip, source + target)):
            raise CorpusError(f"line {number} of {place} has a blank text")
        sources.append(source[0])
        references.append(target)
    if not sources:
        raise CorpusError(f"{place} have no sentence pair")
    return sources, references


def direction_name(source: str, target: str) -> str:
    """Returns a direction in words, by Babel (extra `train`): "English to German".

    Without Babel, or for a code that it doesn't know, a name is the code. The direction
    is "" if a code is of no single language: "mul", "zxx" (none) or "und".
    """
    if {source, target} & {"mul", "zxx", "und"}:
        return ""
    names: dict[str, str] = {}
    with contextlib.suppress(ImportError):
        from babel import Locale

        names = {**Locale("en").languages}
    source, target = (c.replace("-", "_") for c in (source, target))
    return f"{names.get(source, source)} to {names.get(target, target)}"
