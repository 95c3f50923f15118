"""Text that a Python program has: lists, dicts and tables."""

from collections.abc import Iterable, Mapping, Set
from functools import partial
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.own.reading import UNKNOWN, Kind, Part, language_codes
from zoo.data.own.tables import choose_columns, inner_columns
from zoo.data.parallel_text import Pairs
from zoo.data.word_corpora import Labelled, Tagged
from zoo.strings import describe


def python_part(kind: Kind, data: Any) -> Part:
    """Returns the items of Python data, which is kept, not copied.

    They are a tuple of columns, or zoo's `Pairs`, `Labelled` or `Tagged`; a list of
    rows or dicts; a dict of columns, a pandas DataFrame or a Hugging Face `Dataset`;
    for a kind of one column, a list.
    """
    codes = None
    if isinstance(data, Pairs):
        codes = data.source_language, data.target_language
        data = data.sources, data.targets
    elif isinstance(data, Labelled):
        data = data.texts, [data.names[label] for label in data.labels]
    elif isinstance(data, Tagged):
        data = data.sentences, data.tags
    rows, chosen = _rows(kind, data)

    def items():
        for number, cells in enumerate(rows()):
            yield number, kind.item(cells, f"[{number}]")

    if codes is None:
        named = kind.aligned and chosen
        codes = language_codes(chosen, True) if named else (UNKNOWN, UNKNOWN)
    return Part(kind, "the data", items, codes, unit=kind.name, table=bool(chosen))


def _rows(kind, data):
    """A function that yields the cells of each row, and a table's chosen columns."""
    count, names = len(kind.columns), _column_names(data)
    if names and "translation" in names and not kind.chosen:
        cells = as_list(data["translation"], "translation")
        if cells and isinstance(cells[0], Mapping):
            data, names = cells, None
    if names:
        chosen = choose_columns(names, kind.chosen, kind.defaults, "the table")
        return _joined([data[name] for name in chosen], kind), chosen
    several = isinstance(data, (list, tuple)) and data
    if isinstance(data, tuple) and len(data) == count > 1:
        return _joined(data, kind), []
    if several and isinstance(data[0], Mapping):
        first = list(inner_columns(data[0]))
        chosen = choose_columns(first, kind.chosen, kind.defaults, "data[0]")
        return partial(_records, data, chosen), chosen
    if count == 1:
        return _joined([[data] if isinstance(data, str) else data], kind), []
    if several:
        return partial(_pairs, data, kind), []
    raise TypeError(f"{kind.wanted}. Received: {describe(data)}")


def _column_names(data):
    """The columns of a dict, DataFrame or Dataset; None if it is none of them."""
    names = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    names = getattr(data, "column_names", names)  # Hugging Face's
    return None if names is None else list(names)


def _joined(columns, kind):
    """Columns as rows, which have to be equally many."""
    sides = [as_list(c, name) for c, name in zip(columns, kind.columns, strict=True)]
    if len({*map(len, sides)}) > 1:
        raise CorpusError(
            f"{' and '.join(kind.columns)} should be equally many, received "
            f"{' and '.join(f'{len(side):,}' for side in sides)}"
        )
    return partial(zip, *sides, strict=True)


def as_list(values: Any, name: str) -> list[Any]:
    """Returns a column, or another ordered iterable, as a list, its cells unchanged."""
    if isinstance(values, list):
        return values
    unordered = isinstance(values, (str, bytes, Mapping, Set))
    if unordered or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise TypeError(f"{name} must be a list. Received: {describe(values)}")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _records(records, names):
    for number, record in enumerate(records):
        try:
            inner = inner_columns(record)
            yield tuple(inner[name] for name in names)
        except (AttributeError, KeyError, TypeError):
            raise TypeError(
                f"data[{number}] must be a dict with the keys "
                f"{' and '.join(map(repr, names))}. Received: {describe(record)}"
            ) from None


def _pairs(rows, kind):
    for number, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            raise TypeError(
                f"data[{number}] must be a pair of {' and '.join(kind.columns)}. "
                f"Received: {describe(row)}"
            )
        yield row
