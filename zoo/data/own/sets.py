"""Sets of texts that fit into memory: read, cleaned, and partly held out."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import check_file
from zoo.data.own.cleaning import LeftOut
from zoo.data.own.files import SPLITS, TextFiles, as_files, check_weight, find_file
from zoo.data.own.held_out import Choice, text_hashes
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


@dataclasses.dataclass(frozen=True)
class Kind:
    """How items of a task are read and measured.

    Attributes:
        name: what one of them is called.
        read: function of a path and a report, to which it may add, that yields (line,
            item).
        check: function of Python data that yields items.
        text: function of an item to what decides whether two are the same.
        length: function of an item to its length.
        longest: the length beyond which it is left out.
        unit: what the length counts.
        build: function of the items of a set and those of the training set that makes
            the set of them.
    """

    name: str
    read: Callable[[Path, list[str]], Iterator[tuple[int, Any]]]
    check: Callable[[Any], Iterable[Any]]
    text: Callable[[Any], str]
    length: Callable[[Any], int]
    longest: int
    unit: str
    build: Callable[[list[Any], list[Any]], Any]


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
    train, valid, test = sets
    sources = {
        "train": _sources(train, "train"),
        "valid": _sources(train if valid is None else valid, "valid", valid is None),
        "test": _sources(train if test is None else test, "test", test is None),
    }
    report = list[str]()
    items = {
        split: _items(kind, several, keep_all or split != "train", report)
        for split, several in sources.items()
        if several is not None
    }
    if "valid" not in items:
        items["train"], items["valid"] = _hold_out(kind, items["train"], seed, report)
    digest = hashlib.sha256(
        repr((f"{kind.name}s", items["train"])).encode("utf-8", "replace")
    )
    train_items = items["train"]
    return OwnTexts(
        kind.build(train_items, train_items),
        kind.build(items["valid"], train_items),
        kind.build(items["test"], train_items) if "test" in items else None,
        digest.hexdigest(),
        report,
    )


def read_one(data: Any, kind: Kind) -> Any:
    """Reads the texts of a test alone, of which only empty ones are left out.

    Args:
        data: as `test` of the kind's reader; of a folder, `test.*`.
        kind: what `tagged_kind`, `labelled_kind` or `sentences_kind` returns.

    Returns:
        `Tagged`, `Labelled` or a list of sentences. Names of labels are those of these
        texts.

    Raises:
        CorpusError, TypeError: as the kind's reader.
    """
    items = _items(kind, _sources(data, "test"), True, [])
    return kind.build(items, items)


def _sources(data, split, optional=False):
    """A list of paths with weights, or Python data; None if an optional split is none.

    Only a folder has optional splits.
    """
    several = as_files(data)
    if several is None:
        return None if optional else data
    found = []
    for files in several:
        if len(files.paths) != 1:
            raise CorpusError(
                "a text should be one file, received "
                f"{' and '.join(map(str, files.paths))}"
            )
        path = files.paths[0]
        if path.is_dir():
            inside = find_file(path, split)
            if inside is None and not optional:
                raise CorpusError(
                    f"{path} has no file for {split}, named {SPLITS[split][0]}.*"
                )
            path = inside
        elif optional:
            continue
        if path is not None:
            check_file(path)
            found.append(TextFiles((path,), 1 if optional else files.weight))
            check_weight(found[-1], split)
    return found or None


def _items(kind, sources, keep_all, report):
    """The items of a set, cleaned, each as often as its file's weight says."""
    if isinstance(sources, list) and isinstance(next(iter(sources), None), TextFiles):
        readers = [
            (
                str(files.paths[0]),
                partial(kind.read, files.paths[0], report),
                files.weight,
            )
            for files in sources
        ]
    else:
        readers = [("the data", lambda: enumerate(kind.check(sources)), 1)]
    found = []
    for name, read, weight in readers:
        left_out = dict[str, LeftOut]()
        kept, total = [], 0
        for line, item in read():
            total += 1
            length, reason = kind.length(item), None
            if not length:
                reason = "that are empty"
            elif length > kind.longest and not keep_all:
                reason = f"of more than {kind.longest:,} {kind.unit}"
            if reason is None:
                kept.append(item)
                continue
            place = f"line {line:,} of {name}"
            left_out.setdefault(reason, LeftOut(reason, 0, place)).count += 1
        report.append(f"read {counted(total, kind.name)} from {name}")
        report += [f"left out {entry}" for entry in left_out.values()]
        if not kept:
            raise CorpusError(f"there are no {kind.name}s left in {name}. {report[-1]}")
        found += kept * weight
    return found


def _hold_out(kind, items, seed, report):
    choice: Choice[str] = Choice()
    texts = [kind.text(item) for item in items]
    choice.offer(text_hashes(texts, seed), texts)
    held = set(choice.items())
    rows = list(zip(texts, items, strict=True))
    train = [item for text, item in rows if text not in held]
    if not train:
        raise CorpusError(
            f"no text is left to train on beside the {len(held):,} held out: give a "
            "validation set"
        )
    # One of each: what comes again is left out.
    valid = list({text: item for text, item in rows if text in held}.values())
    report.append(
        f"no validation set is given: held out {counted(len(valid), kind.name)} for "
        f"it, chosen by a hash of the text and the seed {seed}"
    )
    if again := len(items) - len(train) - len(valid):
        report.append(f"left out {counted(again, kind.name)} equal to a held-out one")
    return train, valid
