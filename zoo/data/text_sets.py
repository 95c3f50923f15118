"""Sets of sentences: pairs of two languages, labelled, tagged."""

import dataclasses
from collections.abc import Iterator
from typing import Any


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


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Sentences with a label each.

    Attributes:
        texts: the sentences.
        labels: the label of each sentence.
        names: the name of each label.
    """

    texts: list[str]
    labels: list[int]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


@dataclasses.dataclass(frozen=True)
class Tagged:
    """Sentences as words, with a tag for each word.

    Attributes:
        sentences: the words of each sentence.
        tags: the tags of each sentence.
    """

    sentences: list[list[str]]
    tags: list[list[str]]

    def __len__(self) -> int:
        return len(self.sentences)


def columns_of(data: Any) -> Any:
    """Returns the columns of one of these sets; other data as they are."""
    if isinstance(data, Pairs):
        return data.sources, data.targets
    if isinstance(data, Labelled):
        return data.texts, [data.names[label] for label in data.labels]
    return (data.sentences, data.tags) if isinstance(data, Tagged) else data


def direction_name(source: str, target: str) -> str:
    """Returns a direction in words, by Babel (extra `train`): "English to German".

    A code that Babel doesn't know is its own name. The direction is "" if a code is of
    no single language: "mul", "zxx" (none) or "und".
    """
    from babel import Locale

    if {source, target} & {"mul", "zxx", "und"}:
        return ""
    names = Locale("en").languages
    codes = [code.replace("-", "_") for code in (source, target)]
    return " to ".join(names.get(code, code) for code in codes)
