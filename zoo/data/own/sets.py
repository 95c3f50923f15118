"""Sets of texts that fit into memory: read, cleaned, and partly held out."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.own.cleaning import read_clean
from zoo.data.own.held_out import choose_of_each
from zoo.data.own.part import Kind
from zoo.data.own.text_files import SPLITS, find_parts
from zoo.strings import counted


@dataclasses.dataclass(frozen=True)
class OwnTexts:
    """Texts of one kind for training, validation and a test.

    Attributes:
        train: `Tagged`, `Labelled` or a list of sentences, as the reader says.
        valid: the same for validation.
        test: the same for a test; None if there is none.
        digest: 64 hexadecimal digits, the identity of the training texts.
        report: what was read, left out and held out, as lines for a log.
    """

    train: Any
    valid: Any
    test: Any
    digest: str
    report: list[str]

    @property
    def identity(self) -> str:
        """64 hexadecimal digits, the identity of training and validation texts."""
        about = repr((self.digest, self.valid)).encode("utf-8", "surrogatepass")
        return hashlib.sha256(about).hexdigest()


def read_sets(kind: Kind, sets: Sequence[Any], keep_all: bool, seed: int) -> OwnTexts:
    """Reads, cleans and holds out.

    Args:
        kind: how items are read.
        sets: the data for training, validation and test, the latter two or None.
        keep_all: whether long items are kept.
        seed: seed of what is held out.

    Raises:
        CorpusError: for files that can't be read, or hold nothing.
    """
    report = list[str]()
    parts = {
        split: find_parts(kind, sets[0] if data is None else data, split, data is None)
        for split, data in zip(SPLITS, sets, strict=True)
    }
    items = {
        split: _items(several, split, report, keep_all or split != "train")
        for split, several in parts.items()
        if several
    }
    if "valid" not in items:
        items["train"], items["valid"] = _hold_out(kind, items["train"], seed, report)
    digest = hashlib.sha256(
        repr((f"{kind.name}s", items["train"])).encode("utf-8", "replace")
    )
    built = {split: kind.build(found, items["train"]) for split, found in items.items()}
    return OwnTexts(
        built["train"], built["valid"], built.get("test"), digest.hexdigest(), report
    )


def read_one(data: Any, kind: Kind, report: list[str] | None = None) -> Any:
    """Reads the texts of a test alone, of which only empty ones are left out.

    Args:
        data: as `test` of the kind's reader; of a folder, `test.*`.
        kind: what `tagged_kind`, `labelled_kind` or `sentences_kind` returns.
        report: list to which lines on what was read and left out are added.

    Returns:
        `Tagged`, `Labelled` or a list of sentences. Names of labels are those of these
        texts.

    Raises:
        CorpusError, TypeError: as the kind's reader.
    """
    items = _items(
        find_parts(kind, data, "test"), "test", [] if report is None else report
    )
    return kind.build(items, items)


def _items(parts, split, report, keep_all=True):
    """The items of a set, cleaned, each as often as its file's weight says."""
    return [
        item
        for part in parts
        for item in read_clean(part, split, report, keep_all) * part.weight
    ]


def _hold_out(kind, items, seed, report):
    """Splits items into training and validation, equal texts to the same side."""
    texts = [kind.text(item) for item in items]
    classes = dict[str, set[Any]]()
    for text, item in zip(texts, items, strict=True):
        classes.setdefault(text, set()).add(kind.label(item))
    held = choose_of_each(classes, seed)
    if not held:
        each = " of each label" * (kind.label(items[0]) is not None)
        raise CorpusError(
            f"no text can be held out for validation, since one{each} stays for "
            f"training, received {counted(len(classes), 'different text')}: give a "
            "validation set"
        )
    # One of each: what comes again is left out.
    valid = list(
        {t: i for t, i in zip(texts, items, strict=True) if t in held}.values()
    )
    train = [i for t, i in zip(texts, items, strict=True) if t not in held]
    report.append(
        f"no validation set is given: held out {counted(len(valid), kind.name)} for "
        f"it, chosen by a hash of the text and the seed {seed}"
    )
    if again := len(items) - len(train) - len(valid):
        report.append(f"left out {counted(again, kind.name)} equal to a held-out one")
    return train, valid
