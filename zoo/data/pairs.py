"""Sentence pairs, and reading them from two files that are aligned by line."""

import dataclasses
import warnings

from zoo.data.download import CorpusError


@dataclasses.dataclass(frozen=True, repr=False)
class Pairs:
    """Aligned sentences of two languages. Iterating gives (source, target).

    Two corpora of the same languages are joined with `+`.

    Args:
        name: str. The corpus, as "multi30k".
        split: str. The part of the corpus, as "train".
        source_language: str, as "en".
        target_language: str, as "de".
        sources: list of N str.
        targets: list of N str, the first reference of each source.
        references: list of N lists of str, all translations of each source; one
            each unless the corpus has several.

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
    references: list[list[str]] | None = None

    def __post_init__(self):
        if self.references is None:
            references = [[target] for target in self.targets]
            object.__setattr__(self, "references", references)
        lengths = [len(self.sources), len(self.targets), len(self.references)]
        if len(set(lengths)) > 1:
            raise ValueError(
                "sources, targets and references should be equally many, received "
                f"{lengths[0]}, {lengths[1]} and {lengths[2]}"
            )

    def __len__(self):
        return len(self.sources)

    def __iter__(self):
        return zip(self.sources, self.targets, strict=True)

    def __add__(self, other):
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

    def __repr__(self):
        return (
            f"Pairs({self.name} {self.split}, "
            f"{self.source_language}-{self.target_language}, {len(self)} pairs)"
        )


def read_aligned(source_path, target_path, tabs_separate):
    """Reads two files whose lines belong together.

    Lines end with LF or CRLF, a byte order mark at the start is dropped, and all
    other white space stays. Where a side of a pair is blank there is nothing to
    learn or to score: the pair is left out, with a warning that says how many.

    Args:
        source_path: `pathlib.Path` of the source side.
        target_path: `pathlib.Path` of the target side.
        tabs_separate: bool. Whether a tab separates several translations of the
            same sentence. On the target side all of them become references; on the
            source side the first one is the source, so that a corpus has the same
            pairs, and the same number of them, in both directions.

    Returns:
        Tuple (sources, references): list of N str, list of N lists of str.

    Raises:
        CorpusError: if a side is not UTF-8, if the sides differ in their number of
            lines, or if there is no pair in them.
    """
    sides = [read_lines(source_path), read_lines(target_path)]
    counts = [len(side) for side in sides]
    if counts[0] != counts[1]:
        raise CorpusError(
            "the two sides should have one line for each other's, received "
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


def read_lines(path):
    """The lines of a file without their ends; a CorpusError if it isn't UTF-8."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path} should be UTF-8, received the byte 0x{data[error.start]:02x} in "
            f"line {line}"
        ) from None
    # Not splitlines(): it also splits at characters that stand inside sentences,
    # such as U+2028 and U+0085.
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
