"""Text that a Python program has: lists, dicts and tables."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from zoo.data.errors import CorpusError
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
    names = column_names(data)
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


def as_columns(
    data: Any,
    names: tuple[str, str],
    columns: Sequence[str] | None,
    defaults: Sequence[Sequence[str]],
) -> list[list[Any]] | None:
    """Returns two columns of Python data as lists of equal lengths, their cells as is.

    Args:
        data: a tuple of two sequences; a list of pairs or of dicts; a dict of columns,
            a pandas DataFrame or a Hugging Face `Dataset`.
        names: what an error calls the columns.
        columns: names of the columns in a dict or table. Default: see `defaults`.
        defaults: names to look for; see `choose_columns`.

    Returns:
        The columns; None for anything else.

    Raises:
        TypeError: for a column or row that is none, with its place.
        CorpusError: if the columns differ in length, or aren't there.
    """
    table = column_names(data)
    if table:
        chosen = choose_columns(table, columns, defaults, "the table")
        return _equal([data[name] for name in chosen], names)
    if isinstance(data, tuple) and len(data) == 2:
        return _equal(data, names)
    if not isinstance(data, (list, tuple)) or not data:
        return None
    rows: Iterable[Any] = data
    if isinstance(data[0], Mapping):
        chosen = choose_columns(list(data[0]), columns, defaults, "data[0]")
        rows = _record_rows(data, chosen)
    what = f"a pair of {names[0]} and {names[1]}"
    pairs = [_pair(row, number, what) for number, row in enumerate(rows)]
    return [list(side) for side in zip(*pairs, strict=True)]


def _part(read, languages):
    return Part("the data", read, tuple(languages), unit="pair", first=0)


def _sides(sources: Any, targets: Any, languages: Any = (UNKNOWN, UNKNOWN)) -> Part:
    sides = _equal([sources, targets], ("sources", "targets"))
    return _part(lambda: _rows(zip(*sides, strict=True)), languages)


def _equal(values, names):
    """Two columns as lists, which have to be equally long."""
    sides = [as_list(side, name) for side, name in zip(values, names, strict=True)]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(
            f"{names[0]} and {names[1]} should be equally many, received "
            f"{len(sides[0]):,} and {len(sides[1]):,}"
        )
    return sides


def column_names(data: Any) -> list[Any] | None:
    """Returns the columns of a dict, DataFrame or Dataset; None if it is none of them.

    Raises:
        TypeError: for a Hugging Face `DatasetDict`.
    """
    names = getattr(data, "column_names", None)  # Hugging Face's
    if isinstance(names, Mapping):  # a DatasetDict's
        raise TypeError(
            "data must be one split of the dataset, such as "
            f"data[{next(iter(names))!r}]. Received: splits {', '.join(names)}"
        )
    if names is None:
        names = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    return None if names is None else list(names)


def as_list(values: Any, name: str) -> list[Any]:
    """Returns a column, or another ordered iterable, as a list; its cells as they are.

    Raises:
        TypeError: if it is none; the message calls it by the name.
    """
    if isinstance(values, list):
        return values
    unordered = isinstance(values, (str, bytes, Mapping, Set))
    if unordered or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise TypeError(f"{name} must be a list. Received: {describe(values)}")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _records(data, columns, defaults):
    chosen = choose_columns(list(data[0]), columns, defaults, "data[0]")
    return _part(lambda: _rows(_record_rows(data, chosen)), column_codes(chosen))


def _record_rows(records, names):
    for number, record in enumerate(records):
        try:
            yield tuple(record[name] for name in names)
        except (KeyError, TypeError):
            raise TypeError(
                f"data[{number}] must be a dict with the keys "
                f"{' and '.join(map(repr, names))}. Received: {describe(record)}"
            ) from None


def _rows(rows: Any) -> Iterator[tuple[str, str]]:
    """Checks and composes each pair."""
    for number, row in enumerate(rows):
        source, target = _pair(row, number, "a pair of str")
        yield text_or_empty(source, number), text_or_empty(target, number)


def _pair(row, number, what):
    try:
        first, second = row
        if isinstance(row, (str, bytes)):
            raise TypeError
    except (TypeError, ValueError):
        hint = "; for files, a tuple of two paths" if isinstance(row, str) else ""
        raise TypeError(
            f"data[{number}] must be {what}{hint}. Received: {describe(row)}"
        ) from None
    return first, second


def text_or_empty(
    value: Any, number: int, rule: str = "pair {} must be two str"
) -> str:
    """Returns a str in Unicode's composed form; "" for None or NaN.

    Raises:
        TypeError: for anything else: the rule with the number, and what it is.
    """
    if isinstance(value, str):
        return composed(value)
    if is_missing(value):
        return ""
    raise TypeError(f"{rule.format(number)}. Received: {describe(value)}")


def is_missing(value: Any) -> bool:
    """Returns whether a cell is None, or NaN as in a column of pandas."""
    return value is None or (isinstance(value, float) and math.isnan(value))
