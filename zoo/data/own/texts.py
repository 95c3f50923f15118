"""One's own text for other tasks: tagged, labelled, or plain sentences."""

from collections.abc import Sequence
from typing import Any

from zoo.checks import one_of
from zoo.data.download import CorpusError
from zoo.data.lines import composed, read_lines
from zoo.data.own.sets import Kind, OwnTexts, read_sets
from zoo.data.own.tables import TABLES, Table, kind_of
from zoo.data.tagged import Tagged, conllu_sentences
from zoo.data.texts import Labelled
from zoo.strings import check_texts, describe

LONGEST_SENTENCE = 1000  # words of a tagged sentence
LONGEST_TEXT = 10_000  # characters of another text
LABEL_COLUMNS = (("text", "label"), ("sentence", "label"))


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

    Each set is a path, or a `zoo.data.tagged.Tagged`. A file whose name ends in
    `.conllu` is CoNLL-U. Another has a line for each word, its columns separated by
    tabs or spaces, the first of which is the word, and an empty line behind each
    sentence. `train` may be a folder with `train.*`, `valid.*` (or `dev.*`) and
    `test.*`. Without `valid`, a part is held out; see `read_pairs`.

    Args:
        train: the training set.
        valid: a set for validation.
        test: a set for a test.
        column: the tags' column: "upos" (default) or "xpos" of CoNLL-U, or a number
            from 2, which may be left out if there are only two columns.
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

    Each set is a path, or a tuple of texts and labels. A table (TSV, CSV, JSON lines)
    has named columns; another file has a line for each text, with its label and a tab
    or a space before it. `train` may be a folder, as for `read_tagged`. Without
    `valid`, a part is held out; see `read_pairs`.

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

    Each set is a path, or a list of str. `train` may be a folder, as for `read_tagged`.
    Without `valid`, a part is held out, sentence by sentence; see `read_pairs`.

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

    def read(path):
        for number, line in enumerate(read_lines(path, normalize=True), start=1):
            yield number, line.strip()

    return Kind(
        "sentences",
        read,
        _plain,
        lambda item: item,
        len,
        LONGEST_TEXT,
        "characters",
        lambda items, _: items,
    )


def _plain(texts):
    """The texts of Python data as those of a file."""
    return [composed(text).strip() for text in check_texts(texts)]


# === Tags ===
def tagged_kind(column: str | int | None = None) -> Kind:
    """Returns how sentences with tags are read; see `read_tagged`."""

    def read(path):
        if kind_of(path) == ".conllu":
            name = one_of("column", column or "upos", ("upos", "xpos"))
            for line, words, tags in conllu_sentences(path, name, normalize=True):
                yield line, (words, tags)
        else:
            yield from _column_sentences(path, column)

    return Kind(
        "sentences",
        read,
        _tagged_items,
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


def _tagged_items(data):
    if not isinstance(data, Tagged):
        raise TypeError(
            "tagged sentences must be a path or a zoo.data.tagged.Tagged. "
            f"Received: {describe(data)}"
        )
    return zip(data.sentences, data.tags, strict=True)


def _as_tagged(items, _):
    return Tagged([words for words, _ in items], [tags for _, tags in items])


# === Labels ===
def labelled_kind(columns: Sequence[Any] | None = None) -> Kind:
    """Returns how texts with labels are read; see `read_labelled`."""

    def read(path):
        if kind_of(path) in TABLES:
            table = Table(path)
            chosen, headless = table.choose(columns, LABEL_COLUMNS)
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
        "texts",
        read,
        _labelled_items,
        lambda item: item[0],
        lambda item: len(item[0]),
        LONGEST_TEXT,
        "characters",
        _as_labelled,
    )


def _labelled_items(data):
    if isinstance(data, Labelled):
        data = data.texts, [data.names[label] for label in data.labels]
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(
            "labelled texts must be a path or a tuple of texts and labels. "
            f"Received: {describe(data)}"
        )
    return zip(_plain(data[0]), map(str, data[1]), strict=True)


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
