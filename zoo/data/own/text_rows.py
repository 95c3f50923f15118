"""Rows of cells, wherever they are: in files, folders, tables or Python data."""

import csv
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from zoo.checks import one_of
from zoo.data.lines import (
    CorpusError,
    aligned_lines,
    conllu_sentences,
    paragraphs,
    read_lines,
)
from zoo.data.own.kinds import KINDS, as_list
from zoo.data.text_sets import Pairs, columns_of
from zoo.strings import describe

# Other names of a split's files in a folder.
STEMS = {"train": ("training",), "valid": ("validation", "val", "dev"), "test": ()}
TABLES = (".tsv", ".csv", ".jsonl")
UNKNOWN = "und"  # the code of a language that isn't known
_LANGUAGE = re.compile("[a-z]{2}([-_][A-Za-z0-9]{2,8})?")
NumberedRows = Iterator[tuple[int, Sequence[Any]]]


class Source(NamedTuple):
    """Rows from one place."""

    place: str  # for messages
    rows: NumberedRows
    languages: Sequence[str] = ()  # codes, if they are known
    unit: str = "line"  # what the numbers of rows count


class Reader:
    """Finds texts of a kind.

    Args:
        kind: the kind's name.
        columns: the columns of tables that were chosen, if any.
        languages: codes of source and target, if they are given.
    """

    def __init__(
        self, kind: str, columns: Sequence[Any] | None, languages: Sequence[str] | None
    ) -> None:
        self.kind = KINDS[one_of("kind", kind, KINDS)]
        self.columns, self.unused, self.pairs = columns, columns, kind == "pairs"
        languages = languages if self.pairs else None
        if languages is not None and len(languages) != 2:
            raise CorpusError(f"languages should be two codes, received {languages!r}")
        self.languages = languages
        # The names that columns, or suffixes of files, may have.
        self.names = [*filter(None, [languages]), *self.kind.columns]

    def find(self, data: Any, split: str) -> list[Source]:
        """Returns the places of a set: of paths or Python data. No row is read yet."""
        files = as_files(data)
        if files is None:
            return [self._python_source(data)]
        found = []
        for paths in files:
            if len(paths) == 1 and paths[0].is_dir():
                folder = paths[0]
                if not (paths := self._files_of_split(folder, split)):
                    raise CorpusError(f"{folder} has no file named {split}")
            found.append(self._file_source(paths))
        return found

    def beside(self, data: Any, split: str) -> list[tuple[Path, ...]] | None:
        """Returns a split's files in the folders among data, if there are any."""
        folders = [paths[0] for paths in as_files(data) or () if paths[0].is_dir()]
        found = (self._files_of_split(folder, split) for folder in folders)
        return list(filter(None, found)) or None

    def codes(self, sources: Sequence[Source]) -> tuple[str, str]:
        """Returns the codes of source and target: those given, or the first place's.

        All sets must be found by now: columns that no table has are refused.
        """
        if self.unused:
            raise CorpusError(
                f"columns are those of a table, received {_joined(self.unused)} for "
                f"{sources[0].place}"
            )
        codes = self.languages or sources[0].languages
        return (codes[0], codes[1]) if len(codes) == 2 else (UNKNOWN, UNKNOWN)

    def _files_of_split(self, folder, split):
        """A split's files in a folder: `train.tsv`, or `train.en` and `train.de`."""
        for stem in (split, *STEMS[split]):
            paths = sorted(p for p in folder.iterdir() if _unpacked(p).stem == stem)
            if not paths:
                continue
            found = {_unpacked(path).suffix[1:]: path for path in paths}
            for sides in self.names if self.pairs else ():
                if {*sides} <= {*found}:
                    return tuple(found[side] for side in sides)
            single = [p for p in paths if not self.pairs or _suffix(p) in TABLES]
            if len(single) != 1:
                raise CorpusError(
                    f"{folder} should have one file for {split}, or two that end in "
                    f"the languages given, received {', '.join(p.name for p in paths)}"
                )
            return (single[0],)
        return ()

    # === Files ===
    def _file_source(self, paths):
        kind, place, most = self.kind, " and ".join(map(str, paths)), 1 + self.pairs
        if len(paths) > most or len({*paths}) < len(paths):
            raise CorpusError(
                f"{kind.unit}s should be in {most} file{'s or one' * self.pairs}, "
                f"received {len(paths)}: {place}"
            )
        for path in paths:
            if not path.is_file():
                raise CorpusError(f"{path} does not exist, or is no file")
        path, suffix = paths[0], _suffix(paths[0])
        if len(paths) > 1:
            codes = _codes(_unpacked(path).suffix[1:] for path in paths)
            return Source(place, enumerate(aligned_lines(*paths), 1), codes)
        if kind is KINDS["tagged"] and suffix == ".conllu":
            rows = ((number, row) for number, *row in conllu_sentences(path))
            return Source(place, rows)
        if kind is KINDS["tagged"] and suffix != ".jsonl":
            self.unused = None
            return Source(place, _tagged_rows(path, self.columns or (1, 2)))
        if kind is KINDS["sentences"] and not self.columns and suffix not in TABLES:
            return Source(place, enumerate(([line] for line in read_lines(path)), 1))
        if suffix == ".jsonl":
            rows = _records(f"{place}, line", _json(path))
            return self._table(place, rows, named=True)
        return self._table(place, _csv(path) if suffix == ".csv" else _tsv(path))

    def _table(self, place, rows, named=False):
        """The source of a table whose first row has names, unless columns are numbers.

        `named`: whether it has names in any case.
        """
        first, columns = next(rows, None), self.columns
        if first is None:
            raise CorpusError(f"{place} is empty")
        names = first[1]
        if not named and columns and all(str(c).isdecimal() for c in columns):
            rows = itertools.chain([first], rows)
            names, columns = list(range(1, len(names) + 1)), list(map(int, columns))
        chosen = self._choose(place, names, columns)
        places = [names.index(column) for column in chosen]

        def cells():
            for number, row in rows:
                if len(row) != len(names):
                    raise CorpusError(
                        f"{place}, line {number:,} should have {len(names)} columns "
                        f"like the first, received {len(row)}: {str(row)[:60]}"
                    )
                yield number, [row[place] for place in places]

        return Source(place, cells(), _codes(chosen))

    def _choose(self, place, names, columns):
        """The columns of a table: those given, or those with a kind's names."""
        self.unused = None
        wanted, count = [columns] if columns else self.names, len(self.kind.columns[0])
        for chosen in wanted:
            fits = len({*chosen}) == count
            if fits and all(names.count(name) == 1 for name in chosen):
                return list(chosen)
        raise CorpusError(
            f"{place} should have the columns {' or '.join(map(_joined, wanted))}; it "
            f"has {_joined(names)[:200]}. Choose {count} (--columns, columns=): names, "
            "or numbers if the first line is a row"
        )

    # === Python data ===
    def _python_source(self, data):
        codes, width = (), len(self.kind.columns[0])
        if isinstance(data, Pairs):
            codes = data.source_language, data.target_language
        data = columns_of(data)
        if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
            rows = _records("row", enumerate(data))
            return self._table("the data", rows, named=True)._replace(unit="row")
        names = data if isinstance(data, Mapping) else getattr(data, "columns", None)
        names = getattr(data, "column_names", names)  # Hugging Face's
        if names is not None:
            chosen = self._choose("the table", list(names), self.columns)
            rows = enumerate(_zipped([data[name] for name in chosen]))
            return Source("the data", rows, _codes(chosen), "row")
        if width == 1:
            rows = _zipped([data])
        elif isinstance(data, tuple) and len(data) == width:
            rows = _zipped(data)
        else:
            rows = self._checked(data, width)
        return Source("the data", enumerate(rows), codes, "row")

    def _checked(self, data, width):
        for row in data if isinstance(data, (list, tuple)) and data else [data]:
            if not isinstance(row, (list, tuple)) or len(row) != width:
                raise TypeError(
                    f"{self.kind.unit}s must be paths, a tuple of {width} lists, a "
                    "list of tuples, or a table with the columns "
                    f"{_joined(self.kind.columns[0])}. Received: {describe(row)}"
                )
            yield row


def as_files(data: Any) -> list[tuple[Path, ...]] | None:
    """Returns the paths that data name, if they do.

    They are a path; a tuple of two; or, as `Path`s, a list of either.
    """
    if isinstance(data, (str, os.PathLike)):
        data = (data,)
    if isinstance(data, tuple):
        named = all(isinstance(item, (str, os.PathLike)) for item in data)
        return [tuple(map(Path, data))] if data and named else None
    if not (isinstance(data, list) and data):
        return None
    items = [item if isinstance(item, tuple) else (item,) for item in data]
    named = all(isinstance(path, Path) for item in items for path in item)
    return items if named else None


def _unpacked(path):
    return path.with_suffix("") if path.suffix == ".gz" else path


def _suffix(path):
    suffix = _unpacked(path).suffix.lower()
    return ".jsonl" if suffix in (".json", ".ndjson") else suffix


def _codes(names):
    """The names, such as columns', that are languages' codes; "und" for others."""
    return [n if _LANGUAGE.fullmatch(n) else UNKNOWN for n in map(str, names)]


def _joined(names):
    return ", ".join(map(str, names))


# === Rows ===
def _tagged_rows(path, columns):
    """The words and tags of a file with a word a line, and empty ones between them."""
    if not all(str(column).isdecimal() and int(column) > 0 for column in columns):
        raise CorpusError(f"columns of {path} should be numbers, received {columns}")
    # The word is in the first column if only that of tags is given.
    places, count = [int(column) - 1 for column in (1, *columns)[-2:]], 0
    separator = ""
    for lines in paragraphs(path):
        rows = []
        for number, line in lines:
            # Not split(), which takes no-break spaces, too.
            separator = separator or ("\t" if "\t" in line else " +")
            cells = re.split(separator, line.strip(" "))
            count = count or len(cells)
            if len(cells) != count or count <= max(places):
                raise CorpusError(
                    f"{path}, line {number:,} should have as many columns as the first "
                    f"and {max(places) + 1} or more, between tabs or spaces, received "
                    f"{line[:40]!r}"
                )
            rows.append([cells[place] for place in places])
        yield lines[0][0], list(zip(*rows, strict=True))


def _tsv(path):
    for number, line in enumerate(read_lines(path), 1):
        if line.strip(" "):
            yield number, line.split("\t")


def _csv(path):
    """The rows of a CSV, parted by whatever is commonest in the first line."""
    lines = read_lines(path)
    first = next(lines, "")
    delimiter = max(",;\t", key=first.count)
    ended = (f"{line}\n" for line in itertools.chain([first], lines))
    rows = csv.reader(ended, delimiter=delimiter, strict=True)
    try:
        for row in rows:
            if row:
                yield rows.line_num, [cell.replace("\n", " ") for cell in row]
    except csv.Error as error:
        raise CorpusError(
            f"{path}, line {rows.line_num:,} is no CSV: {error}"
        ) from error


def _json(path):
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = line  # which is refused
        yield number, record


def _records(place, records):
    """The rows of objects, the names of the first one before them."""
    names = list[Any]()
    for number, record in records:
        if not isinstance(record, Mapping):
            raise CorpusError(
                f"{place} {number:,} should be an object (a dict), received "
                f"{describe(record)}"
            )
        if not names:
            names = list(record)
            yield number, names
        yield number, [record.get(name) for name in names]


def _zipped(columns):
    sides = list(map(as_list, columns))
    if len({*map(len, sides)}) > 1:
        raise CorpusError(
            f"columns should be equally long, received {_joined(map(len, sides))}"
        )
    return zip(*sides, strict=True)
