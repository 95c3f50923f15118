"""One's own text for other tasks: tagged, labelled, or plain sentences."""

import re
from collections.abc import Sequence
from typing import Any

from zoo.checks import one_of
from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines, tidy
from zoo.data.own.part import Kind
from zoo.data.own.python import as_list, as_text
from zoo.data.own.sets import OwnTexts, read_sets
from zoo.data.own.tables import JSON, TABLES, kind_of
from zoo.data.tagged import Tagged, conllu_sentences
from zoo.data.word_corpora import Labelled
from zoo.strings import counted

LONGEST_SENTENCE = 1000  # words of a tagged sentence
LONGEST_TEXT = 10_000  # characters of another text
LABEL_COLUMNS = (("text", "label"), ("sentence", "label"))
TEXT_COLUMNS = (("text",), ("sentence",))
EMPTY, NO_LABEL, NO_WORD = "that are empty", "without a label", "without a word or tag"
LONG = f"of more than {LONGEST_TEXT:,} characters"
LONG_SENTENCE = f"of more than {LONGEST_SENTENCE:,} words"


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

    Each set is a path, or Python data: a `zoo.data.tagged.Tagged`, a tuple of words and
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
    return read_sets(tagged_kind(column), (train, valid, test), keep_all, seed)


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
    return read_sets(labelled_kind(columns), (train, valid, test), keep_all, seed)


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
    return read_sets(sentences_kind(columns), (train, valid, test), keep_all, seed)


# === Sentences ===
def sentences_kind(columns: Sequence[Any] | None = None) -> Kind:
    """Returns how a text of sentences is read; see `read_sentences`."""
    return Kind(
        "sentence",
        "sentences must be a path, a list of str, or a table with a column of them",
        ("texts",),
        TEXT_COLUMNS,
        item=lambda row, at: as_text(row[0], f"texts{at}"),
        tidy=tidy,
        fault=lambda text: None if text else EMPTY,
        flaw=lambda text: LONG if len(text) > LONGEST_TEXT else None,
        chosen=columns,
        tables=TABLES,
        lines=lambda path: enumerate(read_lines(path, normalize=True), start=1),
    )


# === Tags ===
def tagged_kind(column: str | int | None = None) -> Kind:
    """Returns how sentences with tags are read; see `read_tagged`."""
    named = isinstance(column, str) and not column.isdecimal()

    def lines(path):
        if kind_of(path) == ".conllu":
            name = one_of("column", column or "upos", ("upos", "xpos"))
            for line, *item in conllu_sentences(path, name, normalize=True):
                yield line, tuple(item)
        else:
            yield from _column_sentences(path, column)

    return Kind(
        "sentence",
        "tagged sentences must be a path, a zoo.data.tagged.Tagged, a tuple of words "
        "and tags, a list of such pairs, or a table with columns words and tags",
        ("sentences", "tags"),
        [(words, str(column) if named else "tags") for words in ("words", "tokens")],
        item=_tagged_item,
        tidy=lambda item: tuple([*map(tidy, side)] for side in item),
        fault=lambda item: None if item[0] and all(item[0] + item[1]) else NO_WORD,
        flaw=lambda item: LONG_SENTENCE if len(item[0]) > LONGEST_SENTENCE else None,
        tables=JSON,
        lines=lines,
        text=lambda item: " ".join(item[0]),
        build=lambda items, _: Tagged([w for w, _ in items], [t for _, t in items]),
    )


def _column_sentences(path, column):
    """Yields the first line and the words and tags of each sentence."""
    words, tags = list[str](), list[str]()
    number, place, count, separator = 0, 0, 0, " +"
    for number, line in enumerate(read_lines(path, normalize=True), start=1):
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
    if words:
        yield number + 1 - len(words), (words, tags)


def _tag_place(path, cells, column):
    if column is None and len(cells) == 2:
        return 1
    if not str(column).isdecimal() or not 2 <= int(column) <= len(cells):
        raise CorpusError(
            f"{path} has {counted(len(cells), 'column')}: say by its number, from 2, "
            f"which one holds the tags, received {column!r}"
        )
    return int(column) - 1


def _tagged_item(row, at):
    names = f"sentences{at}", f"tags{at}"
    words, tags = map(as_list, row, names)
    if len(words) != len(tags):
        raise CorpusError(
            f"{names[0]} should have a tag for each word, received "
            f"{counted(len(words), 'word')} and {counted(len(tags), 'tag')}"
        )
    return (
        [as_text(word, f"{names[0]}[{i}]") for i, word in enumerate(words)],
        [as_text(tag, f"{names[1]}[{i}]") for i, tag in enumerate(tags)],
    )


# === Labels ===
def labelled_kind(columns: Sequence[Any] | None = None) -> Kind:
    """Returns how texts with labels are read; see `read_labelled`."""
    return Kind(
        "text",
        "labelled texts must be a path, a tuple of texts and labels, a list of such "
        "pairs, or a table of them",
        ("texts", "labels"),
        LABEL_COLUMNS,
        item=lambda row, at: (
            as_text(row[0], f"texts{at}"),
            as_text(row[1], f"labels{at}"),
        ),
        tidy=lambda item: (tidy(item[0]), tidy(item[1])),
        fault=lambda item: EMPTY if not item[0] else None if item[1] else NO_LABEL,
        flaw=lambda item: LONG if len(item[0]) > LONGEST_TEXT else None,
        chosen=columns,
        tables=TABLES,
        lines=_labelled_lines,
        text=lambda item: item[0],
        label=lambda item: item[1],
        build=_as_labelled,
    )


def _labelled_lines(path):
    for number, line in enumerate(read_lines(path, normalize=True), start=1):
        label, _, text = line.partition("\t" if "\t" in line else " ")
        # An empty cell is counted, as in a table; a line without cells is refused.
        if "\t" not in line and tidy(line) and not (tidy(label) and tidy(text)):
            raise CorpusError(
                f"{path}, line {number:,} should have a label, a tab or space, and a "
                f"text, received {line[:40]!r}"
            )
        yield number, (text, label)


def _as_labelled(items, train):
    labels = {label for _, label in train}
    if len(labels) > max(20, len(train) // 2):
        raise CorpusError(
            f"labels should be few, received {len(labels):,} for {len(train):,} texts: "
            "are text and label the other way round?"
        )
    whole = all(re.fullmatch(r"-?\d{1,18}", label) for label in labels)
    names = sorted(labels, key=lambda name: (int(name) if whole else 0, name))
    numbers = {name: number for number, name in enumerate(names)}
    for text, label in items:
        if label not in numbers:
            raise CorpusError(
                f"a label should be one of the training texts' ({', '.join(names)}), "
                f"received {label!r} for {text[:40]!r}"
            )
    texts = [text for text, _ in items]
    return Labelled(texts, [numbers[label] for _, label in items], tuple(names))
