"""Tables with named columns: TSV, CSV and JSON lines."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import composed, read_lines
from zoo.files import PACKED_SUFFIXES
from zoo.strings import did_you_mean, replace_surrogates

PAIR_COLUMNS = (("source", "target"), ("src", "tgt"))
_JSON = (".jsonl", ".ndjson", ".json")
TABLES = (".tsv", ".tab", ".csv", *_JSON)


def unpacked_name(path: Path) -> Path:
    """Returns a path without the suffix of its compression: a.csv of a.csv.gz."""
    return path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path


def kind_of(path: Path) -> str:
    """Returns a file's suffix in lower case: ".csv" of a.csv.gz."""
    return unpacked_name(path).suffix.lower()


class Table:
    """A table in a file, read line by line.

    Its first line names the columns; in JSON lines, each object does. A TSV's cells are
    taken as they are; a CSV's may be quoted, and its commas be semicolons or tabs.

    Args:
        path: the file; a suffix that isn't known means TSV.

    Attributes:
        names: the columns' names.
        note: after `choose`, what a log should say of it: that the first line was taken
            as names that nobody has named.

    Raises:
        CorpusError: if the file has no first line, or not that of a table.
    """

    def __init__(self, path: Path) -> None:
        self.path, kind = path, kind_of(path)
        self.note = ""
        self._json, self._delimiter = kind in _JSON, "\t"
        first = next(read_lines(path, normalize=True), "")
        if self._json:
            self.names = list(self._object(first, 1))
            return
        if kind == ".csv":
            self._delimiter = max(",;\t", key=first.count)
        self._quoted = kind == ".csv"
        names = next(self._cells(), None)
        if names is None:  # of a CSV, empty lines are no rows
            raise CorpusError(f"there is no row in {path}")
        self.names = names

    def choose(
        self, columns: Sequence[Any] | None, defaults: Sequence[Sequence[str]]
    ) -> tuple[list[str], bool]:
        """Chooses columns by name, or by number in a table whose first line is no head.

        Args:
            columns: names, or numbers from 1; None takes the defaults.
            defaults: names to look for.

        Returns:
            The columns, and whether the first line is a row like the others.

        Raises:
            CorpusError: if there are no such columns; it names those there are.
        """
        numbers = columns and all(re.fullmatch(r"\d+", str(c)) for c in columns)
        if columns and numbers and not self._json and not {*columns} <= {*self.names}:
            if max(map(int, columns)) > len(self.names) or min(map(int, columns)) < 1:
                raise CorpusError(
                    f"{self.path} has {len(self.names)} columns, received columns "
                    f"{', '.join(map(str, columns))}"
                )
            return _distinct([str(column) for column in columns], str(self.path)), True
        chosen = choose_columns(self.names, columns, defaults, str(self.path))
        known = columns or self._json or chosen in map(list, defaults)
        self.note = (
            ""
            if known
            else f"columns {' and '.join(chosen)} of {self.path}, its first line taken "
            "as their names"
        )
        return chosen, False

    def reader(
        self, columns: Sequence[str], headless: bool = False
    ) -> Callable[[], Iterator[Any]]:
        """Returns a function that yields the cells of the chosen columns, row by row.

        Args:
            columns: names, as `choose` returns them.
            headless: whether they are numbers, as `choose` returns it.

        Raises:
            CorpusError: while reading, for a row that lacks a column or has others.
        """
        if self._json:
            return lambda: self._objects(columns)
        numbers = columns if headless else [self.names.index(c) + 1 for c in columns]
        places = [int(number) - 1 for number in numbers]
        return lambda: self._rows(places, headless)

    def _rows(self, places, headless):
        count = len(self.names)
        for number, row in enumerate(self._cells(), start=1):
            if len(row) != count:
                raise CorpusError(
                    f"{self.path}, row {number:,} (the first is 1) should have {count} "
                    f"columns, received {len(row)}: {str(row)[:60]}"
                )
            if number > 1 or headless:
                yield [row[place] for place in places]

    def _cells(self):
        """Yields the rows as lists of str, the first one included."""
        lines = read_lines(self.path, normalize=True)
        if not self._quoted:
            for line in lines:
                yield line.split("\t")
            return
        rows = csv.reader((f"{line}\n" for line in lines), delimiter=self._delimiter)
        try:
            for row in rows:
                if row:  # an empty line gives an empty row
                    yield [" ".join(c.split("\n")) if "\n" in c else c for c in row]
        except csv.Error as error:
            raise CorpusError(
                f"{self.path}, line {rows.line_num:,} is no CSV (is a quotation mark "
                f"never closed?): {error}"
            ) from error

    # === JSON lines ===
    def _objects(self, columns):
        for number, line in enumerate(read_lines(self.path, True), start=1):
            if not line.strip():
                continue
            record = self._object(line, number)
            try:
                yield [_text(record[column]) for column in columns]
            except (KeyError, TypeError) as error:
                raise CorpusError(
                    f"{self.path}, line {number:,} should have strings for "
                    f"{' and '.join(columns)}, received {line[:60]!r}"
                ) from error

    def _object(self, line, number):
        try:
            record = json.loads(line)
            if isinstance(record, dict):
                return inner_columns(record)
        except (ValueError, RecursionError):
            pass
        raise CorpusError(
            f"{self.path}, line {number:,} should be JSON lines, one object of strings "
            f"a line, received {line[:60]!r}"
        )


def inner_columns(record: dict[str, Any]) -> dict[str, Any]:
    """Returns the languages of Hugging Face's `{"translation": {"en": …, "de": …}}`."""
    inner = record.get("translation")
    return inner if isinstance(inner, dict) else record


def choose_columns(
    names: Sequence[str],
    columns: Sequence[Any] | None,
    defaults: Sequence[Sequence[str]],
    place: str,
) -> list[str]:
    """Chooses columns of a table by name.

    Args:
        names: the columns there are.
        columns: the columns that are wanted; None takes the first of `defaults` there
            is, or all columns if they are as many.
        defaults: names to look for.
        place: what an error calls the table.

    Raises:
        CorpusError: if there are no such columns; it names those there are. Also if
            one would be taken twice.
    """
    count = len(defaults[0])
    there = ", ".join(map(str, names))
    if columns is not None:
        for column in columns:
            if column not in names:
                raise CorpusError(
                    f"{place} has no column {column!r}{did_you_mean(column, names)}; "
                    f"it has {there}"
                )
        if len(columns) != count:
            raise CorpusError(
                f"{place} should be given {count} columns, received {columns!r}"
            )
        return _distinct(columns, place)
    if len(names) < count:
        raise CorpusError(
            f"{place} should have {count} columns, received one: {there[:40]!r}; pairs "
            "are two text files with equally many lines, or a table: TSV, CSV or JSON "
            "lines"
        )
    for default in defaults:
        if {*default} <= {*names}:
            return _distinct(default, place)
    if len(names) == count and all(map(_like_a_name, names)):
        return _distinct(names, place)
    if len(names) == count:
        raise CorpusError(
            f"{place} should begin with the names of its columns, received {there}; "
            "of a table without them, say the columns by number, as 1 and 2"
        )
    example = f"--columns {','.join(names[:count])} (columns={names[:count]} in Python)"
    raise CorpusError(
        f"{place} has {len(names)} columns: {there[:200]}; say which {count} to read, "
        f"as {example}"
    )


def _distinct(columns, place):
    if len({*columns}) < len(columns):
        raise CorpusError(
            f"the columns of {place} should be different ones, received "
            f"{' and '.join(map(str, columns))}"
        )
    return list(columns)


def _like_a_name(cell):
    """Whether a cell of a first line may be a column's name, and no sentence."""
    return bool(re.fullmatch(r"[\w.()-]+( [\w()-]+)?", cell)) and cell[-1] not in ".?!"


def _text(value):
    if value is None:
        return ""
    if isinstance(value, (bool, int, float)):
        return str(value)
    return composed(replace_surrogates(value))  # TypeError for anything but a str
