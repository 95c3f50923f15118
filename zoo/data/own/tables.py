"""Tables with named columns: TSV, CSV and JSON lines."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines
from zoo.files import PACKED_SUFFIXES
from zoo.strings import counted, did_you_mean

PAIR_COLUMNS = (("source", "target"), ("src", "tgt"))
JSON = (".jsonl", ".ndjson", ".json")
TABLES = (".tsv", ".tab", ".csv", *JSON)


def unpacked_name(path: Path) -> Path:
    """Returns a path without the suffix of its compression: a.csv of a.csv.gz."""
    return path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path


def kind_of(path: Path) -> str:
    """Returns a file's suffix in lower case: ".csv" of a.csv.gz."""
    return unpacked_name(path).suffix.lower()


class Table:
    """Columns of a table in a file, read line by line.

    Its first line names the columns; in JSON lines, each object does, and null stands
    for a key it lacks. A TSV's cells are taken as they are; a CSV's may be quoted, its
    commas be semicolons or tabs, and a line such as "sep=;" before its names. Blank
    lines are skipped.

    Raises:
        CorpusError: if the file is no table, or has no such columns; it names those
            there are.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[Any] | None,
        defaults: Sequence[Sequence[str]],
    ) -> None:
        """Chooses the columns; a suffix that isn't known means TSV."""
        self.path, kind = path, kind_of(path)
        self._json, self._quoted = kind in JSON, kind == ".csv"
        self._delimiter, self._skipped = "\t", 0  # lines before the names
        if self._quoted:
            self._find_delimiter()
        first = next(self._lines(), None)
        if first is None:
            raise CorpusError(f"there is no row in {path}")
        names = list(first[1])
        wanted = [columns] if columns else defaults
        if self._json and not any({*some} <= {*names} for some in wanted):
            names = [*dict.fromkeys(name for _, row in self._lines() for name in row)]
        numbers = columns and all(re.fullmatch(r"\d+", str(c)) for c in columns)
        # Whether the first line is a row like the others.
        self.headless = bool(
            columns and numbers and not self._json and not {*columns} <= {*names}
        )
        if self.headless:
            names = [str(number + 1) for number in range(len(names))]
            columns = [str(int(column)) for column in columns or ()]
        self.columns = choose_columns(names, columns, defaults, str(path))
        self._places = [names.index(column) for column in self.columns]
        self._names = names
        known = columns or self._json or self.columns in map(list, defaults)
        # For a log, if nobody has named the columns.
        named = f"columns {' and '.join(self.columns)} of {path}"
        self.note = "" if known else f"{named}, its first line taken as their names"

    def rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Yields the line and the cells of the chosen columns, row by row."""
        for index, (number, row) in enumerate(self._lines()):
            if self._json:
                yield number, [row.get(column) for column in self.columns]
            elif len(row) != len(self._names):
                raise CorpusError(
                    f"{self.path}, line {number:,} should have the columns "
                    f"{', '.join(self._names)}, received {str(row)[:60]}"
                )
            elif index or self.headless:
                yield number, [row[place] for place in self._places]

    def _find_delimiter(self):
        """Finds a CSV's delimiter by its first line, or what Excel says there."""
        lines = enumerate(read_lines(self.path, normalize=True), start=1)
        number, line = next((n for n in lines if n[1].strip()), (0, ""))
        unquoted = re.sub(r'"[^"]*("|$)', "", line)
        self._delimiter = max(",;\t", key=unquoted.count)
        if excel := re.fullmatch(r'"?sep=(.)"?', line):
            self._delimiter, self._skipped = excel[1], number

    def _lines(self):
        """Yields the number and the cells or object of each line that is not blank."""
        lines = read_lines(self.path, normalize=True)
        if self._quoted:
            yield from self._quoted_lines(lines)
            return
        for number, line in enumerate(lines, start=1):
            if line.strip(" "):
                row = self._object(line, number) if self._json else line.split("\t")
                yield number, row

    def _quoted_lines(self, lines):
        rows = csv.reader((f"{line}\n" for line in lines), delimiter=self._delimiter)
        try:
            for row in rows:
                blank = not row or (len(row) == 1 and not row[0].strip())
                if rows.line_num > self._skipped and not blank:
                    yield rows.line_num, [" ".join(c.split("\n")) for c in row]
        except csv.Error as error:
            raise CorpusError(
                f"{self.path}, line {rows.line_num:,} is no CSV (is a quotation mark "
                f"never closed?): {error}"
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


def inner_columns(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the languages of Hugging Face's `{"translation": {"en": …, "de": …}}`."""
    inner = record.get("translation")
    return inner if isinstance(inner, Mapping) else record


def choose_columns(
    names: Sequence[str],
    columns: Sequence[Any] | None,
    defaults: Sequence[Sequence[str]],
    place: str,
) -> list[str]:
    """Chooses the columns that are wanted from a table's names.

    None takes the first of `defaults` there is, or all columns if they are as many.
    Errors name those there are, and call the table by its place.
    """
    count, there = len(defaults[0]), ", ".join(map(str, names))[:200]
    if columns is None:
        columns = next((d for d in defaults if {*d} <= {*names}), None)
    if columns is None:
        columns = _all_columns(names, count, place, there)
    for column in columns:
        if column not in names:
            raise CorpusError(
                f"{place} has no column {column!r}{did_you_mean(column, names)}; it "
                f"has {there}"
            )
    if len(columns) != count:
        raise CorpusError(
            f"{place} should be given {counted(count, 'column')}, received {columns!r}"
        )
    if len({*columns}) < count:
        raise CorpusError(
            f"the columns of {place} should be different ones, received "
            f"{' and '.join(map(str, columns))}"
        )
    return list(columns)


def _all_columns(names, count, place, there):
    """The names, if they are as many as wanted and may be names."""
    if len(names) != count:
        advice = (
            "pairs are two text files with equally many lines, or a table: TSV, CSV or "
            "JSON lines"
            if len(names) < count
            else f"say which {count} to read, as --columns {','.join(names[:count])} "
            f"(columns={names[:count]} in Python)"
        )
        raise CorpusError(
            f"{place} should have {counted(count, 'column')}, received {len(names)}: "
            f"{there}; {advice}"
        )
    # No sentences.
    name = re.compile(r"[\w.()-]+( [\w()-]+)?(?<![.?!])")
    if not all(map(name.fullmatch, names)):
        raise CorpusError(
            f"{place} should begin with its columns' names, received {there}; of "
            "a table without them, say by number which to read, as "
            + " and ".join(map(str, range(1, count + 1)))
        )
    return names
