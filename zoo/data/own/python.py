"""Sentence pairs that a Python program has: lists, dicts and tables."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from zoo.data.download import CorpusError
from zoo.data.lines import composed
from zoo.data.own.part import UNKNOWN, Part, column_codes
from zoo.data.own.tables import PAIR_COLUMNS, choose_columns
from zoo.data.pairs import Pairs
from zoo.strings import describe


def as_pairs(
    data: Any,
    columns: Sequence[str] | None = None,
    languages: Sequence[str] | None = None,
) -> Part:
    """Returns the sentence pairs of Python data.

    Args:
        data: a tuple of two sequences of str, sources and targets; a list of pairs of
            str, or of dicts; a dict of columns; a pandas DataFrame or a Hugging Face
            `Dataset`, neither of which zoo needs; or a `zoo.data.Pairs`. It is kept,
            not copied, and must not change. None and NaN stand for an empty text.
        columns: names of the columns of source and target in a dict or table. Default:
            the languages, "source" and "target", "src" and "tgt", or the only two.
        languages: codes of source and target.

    Raises:
        TypeError: for anything else, or a text that is no str, with its place.
        CorpusError: if the sides differ in length, or there are no such columns.

    Example:
        >>> from zoo.data.own import as_pairs
        >>> part = as_pairs({"de": ["Hallo."], "en": ["Hi."], "id": [7]}, ("en", "de"))
        >>> list(part.read()), part.languages
        ([('Hi.', 'Hallo.')], ('en', 'de'))
    """
    defaults = [*([languages] if languages else []), *PAIR_COLUMNS]
    if isinstance(data, Pairs):
        own = data.source_language, data.target_language
        return _sides(data.sources, data.targets, own)
    if isinstance(data, tuple) and len(data) == 2:
        return _sides(*data)
    names = _column_names(data)
    if names is not None and "translation" in names and not columns:
        records = data["translation"]  # a dict of languages in each row
        records = records.tolist() if hasattr(records, "tolist") else records
        return _records(records, columns, defaults)
    if names is not None:
        chosen = choose_columns(names, columns, defaults, "the table")
        return _sides(data[chosen[0]], data[chosen[1]], column_codes(chosen))
    if isinstance(data, (list, tuple)) and data:
        if isinstance(data[0], Mapping):
            if isinstance(data[0].get("translation"), Mapping):
                data = [record["translation"] for record in data]
            return _records(data, columns, defaults)
        return _part(lambda: _rows(data), (UNKNOWN, UNKNOWN))
    raise TypeError(
        "pairs must be two lists of str in a tuple, a list of pairs of str, a dict or "
        f"table of columns, or the paths of files. Received: {describe(data)}"
    )


def _part(read, languages):
    return Part("the data", read, tuple(languages), unit="pair", first=0)


def _sides(sources: Any, targets: Any, languages: Any = (UNKNOWN, UNKNOWN)) -> Part:
    sides = [_column(sources, "sources"), _column(targets, "targets")]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(
            "sources and targets should be equally many, received "
            f"{len(sides[0]):,} and {len(sides[1]):,}"
        )
    return _part(lambda: _rows(zip(*sides, strict=True)), languages)


def _column_names(data):
    """The columns of a dict, DataFrame or Dataset; None if it is none of them."""
    names = getattr(data, "column_names", None)  # Hugging Face's
    if isinstance(names, Mapping):  # a DatasetDict's
        raise TypeError(
            "pairs must be one split of the dataset, such as "
            f"data[{next(iter(names))!r}]. Received: splits {', '.join(names)}"
        )
    if names is None:
        names = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    return None if names is None else list(names)


def _column(values, name):
    """A side's texts as a list, which `_rows` checks."""
    if isinstance(values, list):
        return values
    unordered = isinstance(values, (str, bytes, Mapping, Set))
    if unordered or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise TypeError(f"{name} must be a list of str. Received: {describe(values)}")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _records(data, columns, defaults):
    chosen = choose_columns(list(data[0]), columns, defaults, "data[0]")

    def read():
        for number, record in enumerate(data):
            try:
                yield tuple(record[name] for name in chosen)
            except (KeyError, TypeError):
                raise TypeError(
                    f"data[{number}] must be a dict with the keys "
                    f"{' and '.join(map(repr, chosen))}. Received: {describe(record)}"
                ) from None

    return _part(lambda: _rows(read()), column_codes(chosen))


def _rows(rows: Any) -> Iterator[tuple[str, str]]:
    """Checks and composes each pair."""
    for number, row in enumerate(rows):
        try:
            source, target = row
            if isinstance(row, (str, bytes)):
                raise TypeError
        except (TypeError, ValueError):
            hint = "; for files, a tuple of two paths" if isinstance(row, str) else ""
            raise TypeError(
                f"data[{number}] must be a pair of str{hint}. Received: {describe(row)}"
            ) from None
        yield _text(source, number), _text(target, number)


def _text(value: Any, number: int) -> str:
    if isinstance(value, str):
        return composed(value)
    # None, and NaN in a column of pandas
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    raise TypeError(f"pair {number} must be two str. Received: {describe(value)}")
