"""One's own text for training, validation and a test."""

import dataclasses
import functools
import hashlib
import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from zoo.data.lines import CorpusError, tidy
from zoo.data.own.kinds import KINDS, Kind
from zoo.data.own.text_rows import Reader, Source
from zoo.strings import counted
from zoo.text.word_splitting import UNSPACED

HELD_OUT, SHARE = 1000, 0.05  # texts that are held out: at most, and of the unique ones
LONGEST = 10_000  # characters of a text that is trained on


@dataclasses.dataclass(frozen=True)
class OwnText:
    """Text that `read` has read, in memory.

    Attributes:
        train: `Pairs`, `Tagged`, `Labelled` or a list of sentences.
        valid: the same for validation.
        test: the same for a test; None if there is none.
        languages: the codes of source and target, as ("en", "de"); "und" if unknown.
        identity: 64 hexadecimal digits that depend on the texts for training and
            validation and their order, but not on the files that hold them.
        report: what was read, left out and held out, as lines for a log.
    """

    train: Any
    valid: Any
    test: Any
    languages: tuple[str, str]
    identity: str
    report: list[str]

    @functools.cached_property
    def words(self) -> int:
        """Words of both sides of the training pairs.

        In a script without spaces, half as many as characters.
        """
        return sum(map(_count_words, (self.train.sources, self.train.targets)))

    @functools.cached_property
    def characters(self) -> str:
        """The distinct characters of all pairs for training and validation."""
        sets = self.train, self.valid
        texts = (text for pairs in sets for text in pairs.sources + pairs.targets)
        return "".join(sorted(set[str]().union(*texts)))

    def sample(self, count: int) -> list[str]:
        """Returns at most `count` sentences, sources and targets of training pairs.

        A hash chooses unique pairs, so that equal texts in any order give an equal
        sample.
        """
        chosen = _by_hash({*self.train}, 0)[: max(1, count // 2)]
        return [source for source, _ in chosen] + [target for _, target in chosen]


def _count_words(texts):
    sample = "".join(texts[:: max(1, len(texts) // 1000)])
    if len(UNSPACED.findall(sample)) > 0.3 * len(sample):
        return sum(map(len, texts)) // 2
    return sum(text.count(" ") + 1 for text in texts)


def read(
    kind: str,
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    languages: Sequence[str] | None = None,
    seed: int = 1,
) -> OwnText:
    """Reads one's own text, from files or from a program's data.

    - "pairs": two files, aligned by line, or a table with the columns source and target
      (or src and tgt);
    - "labelled": a table with text (or sentence) and label;
    - "sentences": a sentence a line, or a table with text (or sentence);
    - "tagged": CoNLL-U; a word and its tag a line, between tabs or spaces, with an
      empty line after a sentence; or JSON lines with words (or tokens) and tags.

    Each of `train`, `valid` and `test` may be

    - a path or, of aligned files, a tuple of two. Tables are `.csv`, `.jsonl`, or TSV;
      any file may be gzip (`.gz`). UTF-8, or UTF-16 with a byte order mark;
    - a folder with such files for each split, as `train.en`, `train.de`, `valid.en`
      (or `dev.en`), …, which `languages` name;
    - several of these, in a list of `pathlib.Path`s and tuples of them. What is listed
      twice counts twice;
    - Python data: a tuple of columns; a list of rows or of dicts; a dict of columns, a
      pandas DataFrame or a Hugging Face `Dataset`; or `zoo.data`'s `Pairs`, `Labelled`
      or `Tagged`. A missing cell is an empty text.

    Texts are brought into Unicode's composed form (NFC), stripped, and control
    characters become spaces. Items with an empty part are left out, of the training set
    also those of more than 10,000 characters.

    Without `valid`, and without one in the folder of `train`, a part of the training
    set is held out: of the unique items a twentieth, at least one and at most 1,000,
    which `seed` and their content choose, in proportion to their labels. Others that
    share a text with them, or a side of a pair, are left out.

    Args:
        kind: "pairs", "labelled", "sentences" or "tagged".
        train: the training set.
        valid: a set for validation.
        test: a set for a test.
        columns: a table's columns: names, or numbers from 1 for a table whose first
            line is a row. Default: those named above, or `languages`; of a file with a
            word a line, 1 and 2.
        languages: codes of the source and target of pairs. Default: the files' suffixes
            or columns' names of two letters, as "de" or "pt_BR".
        seed: seed of what is held out.

    Returns:
        The sets. Names of labels are sorted, numbers by their size.

    Raises:
        CorpusError: for files that can't be read or hold nothing. The message names
            file, line and cause.
        TypeError: for Python data that are no such items.

    Example:
        >>> from zoo.data.own import read
        >>> own = read("pairs", (["one", "two", "two"], ["eins", "zwei", "zwei"]))
        >>> list(own.train), list(own.valid), own.test
        ([('one', 'eins')], [('two', 'zwei')], None)
    """
    reader = Reader(kind, columns, languages)
    sources = {"train": reader.find(train, "train")}
    for split, data in (("valid", valid), ("test", test)):
        if data is None:
            data = reader.beside(train, split)
        if data is not None:
            sources[split] = reader.find(data, split)
    found, codes, report = reader.kind, reader.codes(sources["train"]), list[str]()
    items = {s: _read_items(found, x, s, report) for s, x in sources.items()}
    if "valid" not in items:
        items["train"], items["valid"] = _hold_out(found, items["train"], seed, report)
    report += _overlaps(found, items)
    built = {s: found.build(i, items["train"], s, codes) for s, i in items.items()}
    sets = built["train"], built["valid"], built.get("test")
    identity = _identity(kind, items["train"], items["valid"])
    return OwnText(*sets, codes, identity, report)


def read_test(
    kind: str,
    data: Any,
    *,
    columns: Sequence[Any] | None = None,
    languages: Sequence[str] | None = None,
    report: list[str] | None = None,
) -> Any:
    """Reads a test alone; see `read`.

    Args:
        kind: as for `read`.
        data: as `test` of `read`.
        columns: a table's columns.
        languages: codes of source and target.
        report: list to which lines on what was read and left out are added.

    Returns:
        `Pairs`, `Tagged`, `Labelled` or a list of sentences.

    Raises:
        CorpusError, TypeError: as `read`.
    """
    reader = Reader(kind, columns, languages)
    sources, report = reader.find(data, "test"), [] if report is None else report
    codes = reader.codes(sources)
    items = _read_items(reader.kind, sources, "test", report)
    return reader.kind.build(items, items, "test", codes)


def _identity(kind, *sets):
    digest = hashlib.sha256(kind.encode())
    for items in sets:
        digest.update(f"{len(items)}".encode())
        for item in items:
            digest.update(repr(item).encode())
    return digest.hexdigest()


# === Reading ===
def _read_items(
    kind: Kind, sources: Iterable[Source], split: str, report: list[str]
) -> list[tuple[Any, ...]]:
    """Returns the items of a set, cleaned; adds to a report."""
    found = list[tuple[Any, ...]]()
    for source in sources:
        before, count, left_out = len(found), 0, dict[str, list[Any]]()
        for item, remark, number in _clean(kind, source, split):
            count += 1
            if item is not None:
                found.append(item)
            if remark:
                first = f"{source.unit} {number:,} of {source.place}"
                left_out.setdefault(remark, [0, first])[0] += 1
        purpose = "" if split == "train" else f" for {split}"
        lines = [f"read {counted(count, kind.unit)}{purpose} from {source.place}"]
        for remark, (times, first) in left_out.items():
            lines.append(f"{remark.format(times)} (the first: {first})")
        if len(found) == before:
            raise CorpusError(
                f"there are no {kind.unit}s left in {source.place}. {'; '.join(lines)}"
            )
        report += lines
    return found


def _clean(kind: Kind, source: Source, split: str) -> Iterator[tuple[Any, str, int]]:
    """Yields items, or None for those to leave out; a remark for the report; a line."""
    for number, cells in source.rows:
        try:
            raw = kind.item(cells)
        except (TypeError, CorpusError) as error:
            raise type(error)(
                f"{source.place}, {source.unit} {number:,}: {error}"
            ) from error
        item = _each(tidy, raw)
        texts = map("".join, raw) if kind.nested else raw
        if not all(item) or kind.nested and not all(map(all, item)):
            yield None, "left out {:,} with an empty part", number
        elif split == "train" and max(map(len, texts)) > LONGEST:
            yield None, f"left out {{:,}} of more than {LONGEST:,} characters", number
        elif item != raw and item != _each(str.strip, raw):
            yield item, "replaced control characters by spaces in {:,}", number
        else:
            yield item, "", number


def _each(change, item):
    """Changes the texts of an item, which may be nested."""
    if isinstance(item, str):
        return change(item)
    return tuple(_each(change, part) for part in item)


# === Held-out items ===
def _by_hash(keys, seed):
    """Keys in the order of 8 bytes that depend on their texts and the seed alone."""
    salt = seed.to_bytes(16, "little", signed=True)

    def hashed(key):
        text = "\t".join(p if isinstance(p, str) else " ".join(p) for p in key)
        return hashlib.blake2b(text.encode(), digest_size=8, salt=salt).digest()

    return sorted(keys, key=hashed)


def _hold_out(kind, items, seed, report):
    """Splits items into training and validation, equal texts to the same side."""
    unique = {item[: kind.texts]: item for item in items}
    labels = dict[Any, set[str]]()
    if kind is KINDS["labelled"]:
        for text, label in items:
            labels.setdefault((text,), set()).add(label)
    groups = dict[frozenset[str], list[tuple[int, Any]]]()
    for place, key in enumerate(_by_hash(unique, seed)):
        groups.setdefault(frozenset(labels.get(key, ())), []).append((place, key))
    # Each label in proportion; at least one text of it stays.
    ranked = (
        ((rank + 0.5) / len(group), place, key)
        for group in groups.values()
        for rank, (place, key) in enumerate(group[:-1])
    )
    count = min(HELD_OUT, max(1, round(len(unique) * SHARE)))
    valid = [unique[key] for *_, key in heapq.nsmallest(count, ranked)]
    train = list(itertools.filterfalse(_sharing(kind, valid), items))
    if not (train and valid):
        raise CorpusError(
            f"nothing can be held out of {counted(len(unique), 'unique ' + kind.unit)} "
            "for validation: give a validation set"
        )
    report.append(
        f"held out {counted(len(valid), kind.unit)} for validation, chosen by a hash "
        f"of the text and the seed {seed}"
    )
    if lost := len(items) - len(train) - len(valid):
        report.append(f"left out {counted(lost, kind.unit)} like those held out")
    return train, valid


def _sharing(kind, items):
    """A function that tells whether an item has a text of these."""
    apart = [{item[place] for item in items} for place in range(kind.texts)]
    return lambda item: any(
        text in held for text, held in zip(item, apart, strict=False)
    )


def _overlaps(kind, items):
    """Lines on training items that share a text with another set."""
    for split in [s for s in items if s != "train"]:
        if shared := sum(map(_sharing(kind, items[split]), items["train"])):
            yield (
                f"the training set shares texts with the {split} set, in "
                f"{counted(shared, kind.unit)}"
            )
