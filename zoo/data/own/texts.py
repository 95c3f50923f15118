"""One's own text for other tasks: tagged, labelled, or plain sentences."""

from collections.abc import Sequence
from numbers import Number
from typing import Any

from zoo.checks import one_of
from zoo.data.errors import CorpusError
from zoo.data.lines import composed, read_lines
from zoo.data.own.python import (
    as_columns,
    as_list,
    column_names,
    is_missing,
    text_or_empty,
)
from zoo.data.own.sets import Kind, OwnTexts, read_sets
from zoo.data.own.tables import TABLES, Table, choose_columns, kind_of
from zoo.data.tagged import Tagged, conllu_sentences
from zoo.data.texts import Labelled
from zoo.strings import check_texts, counted, describe

LONGEST_SENTENCE = 1000  # words of a tagged sentence
LONGEST_TEXT = 10_000  # characters of another text
LABEL_COLUMNS = (("text", "label"), ("sentence", "label"))
TEXT_COLUMNS = (("text",), ("sentence",))


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
    keep_all: bool = False,
    seed: int = 1,
) -> OwnTexts:
    """Reads a text for a language model, a sentence a line.

    Each set is a path, a list of str, or a table with a column "text" (or "sentence"):
    a dict, a pandas DataFrame or a Hugging Face `Dataset`. `train` may be a folder, as
    for `read_tagged`. Without `valid`, a part is held out, sentence by sentence; see
    `read_pairs`.

    Args:
        train: the training set.
        valid: a set for validation.
        test: a set for a test.
        keep_all: whether to keep sentences of more than 10,000 characters.
        seed: seed of what is held out.

    Returns:
        The sets, as lists of str in the order of the file.

    Raises:
        CorpusError: for files that can't be read, with file and line.
    """
    return read_sets(sentences_kind(), (train, valid, test), keep_all, seed)


# === Sentences ===
def sentences_kind() -> Kind:
    """Returns how a text of sentences is read; see `read_sentences`."""

    def read(path, report):
        for number, line in enumerate(read_lines(path, normalize=True), start=1):
            yield number, line.strip()

    return Kind(
        "sentence",
        read,
        _plain,
        lambda item: item,
        len,
        LONGEST_TEXT,
        "characters",
        lambda items, _: items,
    )


def _plain(data):
    """The texts of Python data as those of a file."""
    names = column_names(data)
    if names:
        (name,) = choose_columns(names, None, TEXT_COLUMNS, "the table")
        data = as_list(data[name], name)
        return [text.strip() for text in _texts(data)]
    return [composed(text).strip() for text in check_texts(data)]


def _texts(values):
    rule = "text {} must be a str"
    return [text_or_empty(value, n, rule) for n, value in enumerate(values)]


# === Tags ===
def tagged_kind(column: str | int | None = None) -> Kind:
    """Returns how sentences with tags are read; see `read_tagged`."""

    def read(path, report):
        if kind_of(path) == ".conllu":
            name = one_of("column", column or "upos", ("upos", "xpos"))
            for line, words, tags in conllu_sentences(path, name, normalize=True):
                yield line, (words, tags)
        else:
            yield from _column_sentences(path, column)

    return Kind(
        "sentence",
        read,
        lambda data: _tagged_items(data, column),
        lambda item: " ".join(item[0]),
        lambda item: len(item[0]),
        LONGEST_SENTENCE,
        "words",
        _as_tagged,
    )


def _column_sentences(path, column):
    """Yields the first line and the words and tags of each sentence."""
    rows = list[list[str]]()
    number, place = 0, None
    for number, line in enumerate(read_lines(path, normalize=True), start=1):
        if not line.strip():
            if rows:
                yield number - len(rows), _tags_of(rows, place)
            rows = []
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        if place is None:
            place = _tag_place(path, cells, column)
        if len(cells) <= place or not (cells[0].strip() and cells[place].strip()):
            raise CorpusError(
                f"{path}, line {number:,} should have a word and, in column "
                f"{place + 1}, its tag, received {line[:40]!r}"
            )
        rows.append(cells)
    if rows:
        yield number + 1 - len(rows), _tags_of(rows, place)


def _tag_place(path, cells, column):
    if column is None and len(cells) == 2:
        return 1
    if (
        column is None
        or not str(column).isdigit()
        or not 2 <= int(column) <= len(cells)
    ):
        raise CorpusError(
            f"{path} has {len(cells)} columns: say by its number, from 2, which one "
            f"holds the tags, received {column!r}"
        )
    return int(column) - 1


def _tags_of(rows, place):
    return [row[0].strip() for row in rows], [row[place].strip() for row in rows]


def _tagged_items(data, column):
    if isinstance(data, Tagged):
        data = data.sentences, data.tags
    named = isinstance(column, str) and not column.isdigit()
    defaults = [(words, column if named else "tags") for words in ("words", "tokens")]
    sides = as_columns(data, ("sentences", "tags"), None, defaults)
    if sides is None:
        raise TypeError(
            "tagged sentences must be a path, a zoo.data.tagged.Tagged, a tuple of "
            "words and tags, a list of such pairs, or a table with columns words and "
            f"tags. Received: {describe(data)}"
        )
    for number, row in enumerate(zip(*sides, strict=True)):
        words = as_list(row[0], f"sentences[{number}]")
        tags = as_list(row[1], f"tags[{number}]")
        if len(words) != len(tags):
            raise CorpusError(
                f"sentence {number} should have a tag for each word, received "
                f"{counted(len(words), 'word')} and {counted(len(tags), 'tag')}"
            )
        words = check_texts(words, f"sentences[{number}]")
        yield (
            [*map(composed, words)],
            [_label(tag, f"tags[{number}]") for tag in tags],
        )


def _as_tagged(items, _):
    return Tagged([words for words, _ in items], [tags for _, tags in items])


# === Labels ===
def labelled_kind(columns: Sequence[Any] | None = None) -> Kind:
    """Returns how texts with labels are read; see `read_labelled`."""

    def read(path, report):
        if kind_of(path) in TABLES:
            table = Table(path)
            chosen, headless = table.choose(columns, LABEL_COLUMNS)
            report += [table.note] if table.note else []
            rows = table.reader(chosen, headless)()
            for number, (text, label) in enumerate(rows, start=1 if headless else 2):
                yield number, (text.strip(), label.strip())
            return
        for number, line in enumerate(read_lines(path, normalize=True), start=1):
            label, _, text = line.partition("\t" if "\t" in line else " ")
            if line.strip() and not (label.strip() and text.strip()):
                raise CorpusError(
                    f"{path}, line {number:,} should have a label, a tab or space, and "
                    f"a text, received {line[:40]!r}"
                )
            yield number, (text.strip(), label.strip())

    return Kind(
        "text",
        read,
        lambda data: _labelled_items(data, columns),
        lambda item: item[0],
        lambda item: len(item[0]),
        LONGEST_TEXT,
        "characters",
        _as_labelled,
    )


def _labelled_items(data, columns):
    if isinstance(data, Labelled):
        data = data.texts, [data.names[label] for label in data.labels]
    sides = as_columns(data, ("texts", "labels"), columns, LABEL_COLUMNS)
    if sides is None:
        raise TypeError(
            "labelled texts must be a path, a tuple of texts and labels, a list of "
            f"such pairs, or a table of them. Received: {describe(data)}"
        )
    for number, (text, label) in enumerate(
        zip(_texts(sides[0]), sides[1], strict=True)
    ):
        yield text.strip(), _label(label, f"labels[{number}]")


def _label(value, place):
    """A label or tag as str: those of Python may be numbers."""
    if isinstance(value, (str, Number)) and not is_missing(value):
        return composed(str(value)).strip()
    raise TypeError(f"{place} must be a str or number. Received: {describe(value)}")


def _as_labelled(items, train):
    labels = {label for _, label in train}
    if len(labels) > max(20, len(train) // 2):
        raise CorpusError(
            f"labels should be few, received {len(labels):,} for {len(train):,} texts: "
            "are text and label the other way round?"
        )
    whole = all(label.lstrip("-").isdigit() for label in labels)
    names = sorted(labels, key=int) if whole else sorted(labels)
    numbers = {name: number for number, name in enumerate(names)}
    for text, label in items:
        if label not in numbers:
            raise CorpusError(
                f"a label should be one of the training texts' ({', '.join(names)}), "
                f"received {label!r} for {text[:40]!r}"
            )
    texts = [text for text, _ in items]
    return Labelled(texts, [numbers[label] for _, label in items], tuple(names))
