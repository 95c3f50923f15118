"""Tables with named columns: TSV, CSV and JSON lines."""

import csv
import itertools
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
# A column's name; no sentence.
_NAME = re.compile(r"[\w.()-]+( [\w()-]+)?(?<![.?!])")


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
        self.path, self._suffix = path, kind_of(path)
        objects = self._suffix in JSON
        first = next(self._rows(), None)
        if first is None:
            raise CorpusError(f"there is no row in {path}")
        names = list(first[1])
        wanted = [columns] if columns else defaults
        if objects and not any({*some} <= {*names} for some in wanted):
            names = [*dict.fromkeys(name for _, row in self._rows() for name in row)]
        numbers = columns and all(re.fullmatch(r"\d+", str(c)) for c in columns)
        # Whether the first line is a row like the others.
        there = objects or {*(columns or ())} <= {*names}
        self.headless = bool(numbers) and not there
        if self.headless:
            names = [str(number + 1) for number in range(len(names))]
            columns = [str(int(column)) for column in columns or ()]
        self.columns = choose_columns(names, columns, defaults, str(path))
        self._names = [] if objects else names
        known = columns or objects or self.columns in map(list, defaults)
        # For a log, if nobody has named the columns.
        named = " and ".join(self.columns)
        note = f"columns {named} of {path}, its first line taken as their names"
        self.note = "" if known else note

    def rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Yields the line and the cells of the chosen columns, row by row."""
        names = self._names
        places = [names.index(column) for column in self.columns if names]
        for index, (number, row) in enumerate(self._rows()):
            if not names:
                yield number, [row.get(column) for column in self.columns]
            elif len(row) != len(names):
                raise CorpusError(
                    f"{self.path}, line {number:,} should have the columns "
                    f"{', '.join(names)}, received {str(row)[:60]}"
                )
            elif index or self.headless:
                yield number, [row[place] for place in places]

    def _rows(self):
        """Yields the number and the cells or object of each line that is not blank."""
        lines = read_lines(self.path, normalize=True)
        if self._suffix == ".csv":
            yield from self._quoted(lines)
            return
        for number, line in enumerate(lines, start=1):
            if line.strip(" "):
                is_json = self._suffix in JSON
                row = self._object(line, number) if is_json else line.split("\t")
                yield number, row

    def _quoted(self, lines):
        """The rows of a CSV, whose first line tells the delimiter."""
        blank, first = 0, ""
        for first in lines:
            if first.strip():
                break
            blank += 1
        delimiter = max(",;\t", key=re.sub(r'"[^"]*("|$)', "", first).count)
        given = [f"{first}\n"]
        if excel := re.fullmatch(r'"?sep=(.)"?', first):
            delimiter, blank, given = excel[1], blank + 1, []
        rest = (f"{line}\n" for line in lines)
        rows = csv.reader(itertools.chain(given, rest), delimiter=delimiter)
        try:
            for row in rows:
                if len(row) > 1 or "".join(row).strip():
                    cells = [" ".join(cell.split("\n")) for cell in row]
                    yield blank + rows.line_num, cells
        except csv.Error as error:
            raise CorpusError(
                f"{self.path}, line {blank + rows.line_num:,} is no CSV (is a "
                f"quotation mark never closed?): {error}"
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
        columns = names
        if len(names) != count:
            raise CorpusError(
                f"{place} should have {counted(count, 'column')}, received "
                f"{len(names)}: {there}; say which to read (--columns, columns=...)"
            )
        if not all(map(_NAME.fullmatch, map(str, names))):
            raise CorpusError(
                f"{place} should begin with its columns' names, received {there}; of a "
                "table without them, say by number which to read (--columns)"
            )
    for column in columns:
        if column not in names:
            raise CorpusError(
                f"{place} has no column {column!r}{did_you_mean(column, names)}; it "
                f"has {there}"
            )
    if len(columns) != count or len({*columns}) < count:
        wanted = counted(count, "column") + ", different ones" * (count > 1)
        raise CorpusError(
            f"{place} should be given {wanted}, received {', '.join(map(str, columns))}"
        )
    return list(columns)
