"""The kinds of text that a task is trained on: their items, and the sets of them."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Integral, Number, Real
from typing import Any

from zoo.data.lines import CorpusError
from zoo.data.text_sets import Labelled, Pairs, Tagged
from zoo.strings import composed, counted, describe


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of text. An item is a tuple of texts, of `nested` cells one of tuples.

    Attributes:
        unit: what an item is called.
        columns: names that a table's columns may have, the first ones by preference.
        build: function of items, those of the training set, the split's name and the
            languages that makes a set.
        texts: number of an item's first cells that make it unique, none of which an
            item held out may share with the training set.
        nested: whether a cell is a list of texts.
    """

    unit: str
    columns: Sequence[Sequence[str]]
    build: Callable[[list[Any], list[Any], str, tuple[str, str]], Any]
    texts: int = 1
    nested: bool = False

    def item(self, cells: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the texts of a row's cells."""
        if not self.nested:
            return tuple(map(as_text, cells))
        words, tags = (tuple(map(as_text, as_list(cell))) for cell in cells)
        if len(words) != len(tags):
            raise CorpusError(
                "a sentence should have a tag for each word, received "
                f"{counted(len(words), 'word')} and {counted(len(tags), 'tag')}"
            )
        return words, tags


def _columns(items):
    return [list(column) for column in zip(*items, strict=True)]


def _pairs(items, train, split, languages):
    return Pairs(split, split, *languages, *_columns(items))


def _sentences(items, *_):
    return _columns(items)[0]


def _tagged(items, *_):
    return Tagged(*([list(row) for row in column] for column in _columns(items)))


def _labelled(items, train, *_):
    labels = {label for _, label in train}
    whole = all(re.fullmatch(r"-?\d{1,18}", label) for label in labels)
    names = sorted(labels, key=lambda name: (int(name) if whole else 0, name))
    known = ", ".join(names)[:200]
    numbers = {name: number for number, name in enumerate(names)}
    for text, label in items:
        if label not in numbers:
            raise CorpusError(
                f"a label should be one of the training texts' ({known}), "
                f"received {label!r} for {text[:40]!r}"
            )
    texts, labels = _columns(items)
    return Labelled(texts, [numbers[label] for label in labels], tuple(names))


KINDS = {
    "pairs": Kind("pair", (("source", "target"), ("src", "tgt")), _pairs, texts=2),
    "sentences": Kind("sentence", (("text",), ("sentence",)), _sentences),
    "labelled": Kind("text", (("text", "label"), ("sentence", "label")), _labelled),
    "tagged": Kind(
        "sentence", (("words", "tags"), ("tokens", "tags")), _tagged, nested=True
    ),
}


# === Cells ===
def as_text(value: Any) -> str:
    """Returns a str, or a number's, in Unicode's composed form.

    A missing one is "": None, NaN, or pandas's NA and NaT. Whole floats are spelled as
    integers, since a column of integers becomes one of floats if a cell is missing.
    """
    if isinstance(value, str):
        return composed(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if not isinstance(value, Number):
        raise TypeError(f"a text must be a str or number. Received: {describe(value)}")
    if value != value:  # NaN
        return ""
    if isinstance(value, Real) and not isinstance(value, Integral) and value % 1 == 0:
        value = round(value)
    return str(value)


def as_list(values: Any) -> list[Any]:
    """Returns a column, or another ordered iterable, as a list, its cells unchanged."""
    if isinstance(values, list):
        return values
    unordered = isinstance(values, (str, bytes, Mapping, Set))
    if unordered or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise TypeError(f"a column must be a list. Received: {describe(values)}")
    return values.tolist() if hasattr(values, "tolist") else list(values)
