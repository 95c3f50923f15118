"""One's own text for other tasks: tagged, labelled, or plain sentences."""

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from zoo.checks import one_of
from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines, tidy
from zoo.data.own.held_out import choose_of_each
from zoo.data.own.python import as_list
from zoo.data.own.reading import Kind, as_text, read_clean
from zoo.data.own.tables import JSON, kind_of
from zoo.data.own.text_files import find_parts, find_sets
from zoo.data.word_corpora import Labelled, Tagged, conllu_sentences
from zoo.strings import counted

LONGEST_SENTENCE = 1000  # words of a tagged sentence
LONGEST_TEXT = 10_000  # characters of another text
EMPTY, NO_LABEL, NO_WORD = "that are empty", "without a label", "without a word or tag"
LONG = f"of more than {LONGEST_TEXT:,} characters"
LONG_SENTENCE = f"of more than {LONGEST_SENTENCE:,} words"


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


def read_tagged(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    column: str | int | None = None,
    keep_all: bool = False,
    seed: int = 1,
) -> OwnTexts:
    """Reads sentences with a tag for each word.

    Each set is a path, or Python data: a `zoo.data.Tagged`, a tuple of words and
    tags with a list for each sentence, a list of such pairs, or a table with columns
    "words" (or "tokens") and "tags": a dict, a pandas DataFrame or a Hugging Face
    `Dataset`. Tags may be numbers.

    A file whose name ends in `.conllu` is CoNLL-U. Another has a line for each word,
    its columns separated by tabs or spaces, the first of which is the word, and an
    empty line behind each sentence. `train` may be a folder with `train.*`, `valid.*`
    (or `dev.*`) and `test.*`. Without `valid`, a part is held out; see `read_pairs`.

    Args:
        train: the training set.
        valid: a set for validation.
        test: a set for a test.
        column: the tags' column: "upos" (default) or "xpos" of CoNLL-U; a number from
            2, which may be left out if there are only two columns; or its name in a
            table of Python.
        keep_all: whether to keep sentences of more than 1,000 words.
        seed: seed of what is held out.

    Returns:
        The sets, as `Tagged`.

    Raises:
        CorpusError: for files that can't be read, with file and line.
        ValueError: for a column that can't be.
    """
    return _read_sets(tagged_kind(column), train, valid, test, keep_all, seed)


def read_labelled(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    keep_all: bool = False,
    seed: int = 1,
) -> OwnTexts:
    """Reads texts with a label each.

    Each set is a path, or Python data: a tuple of texts and labels, a list of such
    pairs, or a table: a dict of columns, a pandas DataFrame or a Hugging Face
    `Dataset`. Labels may be numbers.

    A file that is a table (TSV, CSV, JSON lines) has named columns, too; another has a
    line for each text, with its label and a tab or a space before it. `train` may be a
    folder, as for `read_tagged`. Without `valid`, a part is held out; see `read_pairs`.

    Args:
        train: the training set.
        valid: a set for validation.
        test: a set for a test.
        columns: a table's columns of text and label: names, or numbers from 1 for a
            table whose first line is a row. Default: "text" or "sentence", and "label".
        keep_all: whether to keep texts of more than 10,000 characters.
        seed: seed of what is held out.

    Returns:
        The sets, as `Labelled`. The labels' names are those of the training texts,
        sorted, numbers by their size.

    Raises:
        CorpusError: for files that can't be read, with file and line, or a label that
            no training text has.
    """
    return _read_sets(labelled_kind(columns), train, valid, test, keep_all, seed)


def read_sentences(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    keep_all: bool = False,
    seed: int = 1,
) -> OwnTexts:
    """Reads a text for a language model, a sentence a line.

    Each set is a path, a list of str, or a table with a column "text" (or "sentence"):
    a file (TSV, CSV, JSON lines), a dict, a pandas DataFrame or a Hugging Face
    `Dataset`. `train` may be a folder, as for `read_tagged`. Without `valid`, a part is
    held out, sentence by sentence; see `read_pairs`.

    Args:
        train: the training set.
        valid: a set for validation.
        test: a set for a test.
        columns: a table's one column: its name, or its number from 1.
        keep_all: whether to keep sentences of more than 10,000 characters.
        seed: seed of what is held out.

    Returns:
        The sets, as lists of str in the order of the file.

    Raises:
        CorpusError: for files that can't be read, with file and line.
    """
    return _read_sets(sentences_kind(columns), train, valid, test, keep_all, seed)


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
    parts = find_parts(kind, data, "test")
    items = read_clean(parts, "test", [] if report is None else report)
    return kind.build(items, items)


def _read_sets(kind, train, valid, test, keep_all, seed):
    report = list[str]()
    items = {
        split: read_clean(parts, split, report, keep_all or split != "train")
        for split, parts in find_sets(kind, train, valid, test).items()
        if parts
    }
    if "valid" not in items:
        items["train"], items["valid"] = _hold_out(kind, items["train"], seed, report)
    about = repr((f"{kind.name}s", items["train"])).encode("utf-8", "replace")
    built = {split: kind.build(found, items["train"]) for split, found in items.items()}
    digest = hashlib.sha256(about).hexdigest()
    return OwnTexts(built["train"], built["valid"], built.get("test"), digest, report)


def _hold_out(kind, items, seed, report):
    """Splits items into training and validation, equal texts to the same side."""
    texts, labels = zip(*map(_text_and_label, items), strict=True)
    classes = dict[str, set[Any]]()
    for text, label in zip(texts, labels, strict=True):
        classes.setdefault(text, set()).add(label)
    held = choose_of_each(classes, seed)
    if not held:
        each = " of each label" * (labels[0] is not None)
        raise CorpusError(
            f"no text can be held out for validation, since one{each} stays for "
            f"training, received {counted(len(classes), 'different text')}: give a "
            "validation set"
        )
    # One of each: what comes again is left out.
    pairs = list(zip(texts, items, strict=True))
    valid = list({text: item for text, item in pairs if text in held}.values())
    train = [item for text, item in pairs if text not in held]
    report.append(
        f"no validation set is given: held out {counted(len(valid), kind.name)} for "
        f"it, chosen by a hash of the text and the seed {seed}"
    )
    if again := len(items) - len(train) - len(valid):
        report.append(f"left out {counted(again, kind.name)} equal to a held-out one")
    return train, valid


def _text_and_label(item):
    """Returns the text by which items are compared, and the item's class, if any."""
    if isinstance(item, str):
        return item, None
    text, label = item
    return (text, label) if isinstance(text, str) else (" ".join(text), None)


# === Sentences ===
def sentences_kind(columns: Sequence[Any] | None = None) -> Kind:
    """Returns how a text of sentences is read; see `read_sentences`."""
    return _SentencesKind(columns)


class _SentencesKind(Kind):
    name = "sentence"
    wanted = "sentences must be a path, a list of str, or a table with a column of them"
    columns = ("texts",)
    defaults = (("text",), ("sentence",))

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        return enumerate(read_lines(path, normalize=True), start=1)

    def problem(self, item: str, keep_all: bool) -> str | None:
        if not item:
            return EMPTY
        return None if keep_all or len(item) <= LONGEST_TEXT else LONG


# === Tags ===
def tagged_kind(column: str | int | None = None) -> Kind:
    """Returns how sentences with tags are read; see `read_tagged`."""
    return _TaggedKind(column)


class _TaggedKind(Kind):
    name = "sentence"
    wanted = (
        "tagged sentences must be a path, a zoo.data.Tagged, a tuple of words and "
        "tags, a list of such pairs, or a table with columns words and tags"
    )
    columns = ("sentences", "tags")
    tables = JSON

    def __init__(self, column: str | int | None = None) -> None:
        super().__init__()
        self._column = column
        named = isinstance(column, str) and not column.isdecimal()
        tags = str(column) if named else "tags"
        self.defaults = [(words, tags) for words in ("words", "tokens")]

    def item(self, cells: Sequence[Any], place: str = "") -> Any:
        names = [f"{name}{place}" for name in self.columns]
        words, tags = (
            [as_text(t, f"{name}[{i}]") for i, t in enumerate(as_list(side, name))]
            for side, name in zip(cells, names, strict=True)
        )
        if len(words) != len(tags):
            raise CorpusError(
                f"{names[0]} should have a tag for each word, received "
                f"{counted(len(words), 'word')} and {counted(len(tags), 'tag')}"
            )
        return words, tags

    def lines(self, path: Path) -> Iterator[tuple[int, Any]]:
        if kind_of(path) == ".conllu":
            column = one_of("column", self._column or "upos", ("upos", "xpos"))
            for line, *item in conllu_sentences(path, str(column), normalize=True):
                yield line, tuple(item)
        else:
            yield from _column_sentences(path, self._column)

    def problem(self, item: Any, keep_all: bool) -> str | None:
        words, tags = item
        if not words or not all(words + tags):
            return NO_WORD
        return None if keep_all or len(words) <= LONGEST_SENTENCE else LONG_SENTENCE

    def build(self, items: list[Any], train: list[Any]) -> Tagged:
        return Tagged([words for words, _ in items], [tags for _, tags in items])


def _column_sentences(path, column):
    """Yields the first line and the words and tags of each sentence."""
    words, tags = list[str](), list[str]()
    place, count, separator = 0, 0, " +"
    lines = itertools.chain(read_lines(path, normalize=True), [""])
    for number, line in enumerate(lines, start=1):
        if not tidy(line):
            if words:
                yield number - len(words), (words, tags)
            words, tags = [], []
            continue
        if not count:
            separator = "\t" if "\t" in line else separator
        # Not split(), which takes no-break spaces, too.
        cells = re.split(separator, line.strip(" "))
        if not count:
            place, count = _tag_place(path, cells, column), len(cells)
        if len(cells) != count or not (tidy(cells[0]) and tidy(cells[place])):
            raise CorpusError(
                f"{path}, line {number:,} should have {count} columns as the first, a "
                f"word and in column {place + 1} its tag, received {line[:40]!r} (a "
                "word with a space needs tabs between the columns)"
            )
        words.append(cells[0])
        tags.append(cells[place])


def _tag_place(path, cells, column):
    if column is None and len(cells) == 2:
        return 1
    if not str(column).isdecimal() or not 2 <= int(column) <= len(cells):
        raise CorpusError(
            f"{path} has {counted(len(cells), 'column')}: say by its number, from 2, "
            f"which one holds the tags, received {column!r}"
        )
    return int(column) - 1


# === Labels ===
def labelled_kind(columns: Sequence[Any] | None = None) -> Kind:
    """Returns how texts with labels are read; see `read_labelled`."""
    return _LabelledKind(columns)


class _LabelledKind(Kind):
    name = "text"
    wanted = (
        "labelled texts must be a path, a tuple of texts and labels, a list of such "
        "pairs, or a table of them"
    )
    columns = ("texts", "labels")
    defaults = (("text", "label"), ("sentence", "label"))

    def lines(self, path: Path) -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(read_lines(path, normalize=True), start=1):
            label, _, text = line.partition("\t" if "\t" in line else " ")
            # An empty cell is counted, as in a table; a line without cells is refused.
            if "\t" not in line and tidy(line) and not (tidy(label) and tidy(text)):
                raise CorpusError(
                    f"{path}, line {number:,} should have a label, a tab or space, and "
                    f"a text, received {line[:40]!r}"
                )
            yield number, (text, label)

    def problem(self, item: Any, keep_all: bool) -> str | None:
        text, label = item
        if not (text and label):
            return NO_LABEL if text else EMPTY
        return None if keep_all or len(text) <= LONGEST_TEXT else LONG

    def build(self, items: list[Any], train: list[Any]) -> Labelled:
        labels = {label for _, label in train}
        if len(labels) > max(20, len(train) // 2):
            raise CorpusError(
                f"labels should be few, received {len(labels):,} for {len(train):,} "
                "texts: are text and label the other way round?"
            )
        whole = all(re.fullmatch(r"-?\d{1,18}", label) for label in labels)
        names = sorted(labels, key=lambda name: (int(name) if whole else 0, name))
        for text, label in items:
            if label not in labels:
                raise CorpusError(
                    "a label should be one of the training texts' "
                    f"({', '.join(names)}), received {label!r} for {text[:40]!r}"
                )
        texts = [text for text, _ in items]
        numbers = {name: number for number, name in enumerate(names)}
        return Labelled(texts, [numbers[label] for _, label in items], tuple(names))
