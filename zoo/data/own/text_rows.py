"""Rows of cells, wherever they are: in files, folders, tables or Python data."""

import csv
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from zoo.data.lines import (
    CorpusError,
    aligned_lines,
    conllu_sentences,
    paragraphs,
    read_lines,
)
from zoo.data.own.kinds import KINDS, Kind, as_list
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


def find(
    kind: Kind,
    data: Any,
    split: str,
    columns: Sequence[Any] | None,
    languages: Sequence[str] | None,
) -> list[Source]:
    """Returns the places of one set: of paths or Python data. No row is read yet."""
    files = as_files(data)
    if files is None:
        return [_python_source(kind, data, columns, languages)]
    found = []
    for paths in files:
        if len(paths) == 1 and paths[0].is_dir():
            folder = paths[0]
            paths = find_split(folder, split, kind, languages) or ()
            if not paths:
                raise CorpusError(f"{folder} has no file named {split}")
        found.append(_file_source(kind, paths, columns, languages))
    return found


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


def find_split(
    folder: Path, split: str, kind: Kind, languages: Sequence[str] | None
) -> tuple[Path, ...] | None:
    """Finds a split's files in a folder: `train.tsv`, or `train.en` and `train.de`."""
    for stem in (split, *STEMS[split]):
        paths = sorted(p for p in folder.iterdir() if _unpacked(p).stem == stem)
        if not paths:
            continue
        found = {_unpacked(path).suffix[1:]: path for path in paths}
        pairs = kind is KINDS["pairs"]
        for sides in _known(kind, languages) if pairs else ():
            if {*sides} <= {*found}:
                return tuple(found[side] for side in sides)
        single = [p for p in paths if _suffix(p) in TABLES] if pairs else paths
        if len(single) != 1:
            raise CorpusError(
                f"{folder} should have one file for {split}, or two that end in the "
                f"languages given, received {', '.join(p.name for p in paths)}"
            )
        return (single[0],)
    return None


def _unpacked(path):
    return path.with_suffix("") if path.suffix == ".gz" else path


def _suffix(path):
    suffix = _unpacked(path).suffix.lower()
    return ".jsonl" if suffix in (".json", ".ndjson") else suffix


def _codes(names):
    """The names, such as columns', that are languages' codes; "und" for others."""
    return [n if _LANGUAGE.fullmatch(n) else UNKNOWN for n in map(str, names)]


# === Files ===
def _file_source(kind, paths, columns, languages):
    place, most = " and ".join(map(str, paths)), 1 + (kind is KINDS["pairs"])
    if len(paths) > most or len({*paths}) < len(paths):
        raise CorpusError(
            f"{kind.unit}s should be in {most} file{'s or one' * (most > 1)}, received "
            f"{len(paths)}: {place}"
        )
    for path in paths:
        if not path.is_file():
            raise CorpusError(f"{path} does not exist, or is no file")
    path, suffix = paths[0], _suffix(paths[0])
    if len(paths) > 1:
        codes = _codes(_unpacked(path).suffix[1:] for path in paths)
        return _plain(place, columns, enumerate(aligned_lines(*paths), 1), codes)
    if kind is KINDS["tagged"] and suffix == ".conllu":
        return _plain(place, columns, ((n, row) for n, *row in conllu_sentences(path)))
    if kind is KINDS["tagged"] and suffix != ".jsonl":
        return Source(place, _tagged_rows(path, columns or (1, 2)))
    if kind is KINDS["sentences"] and not columns and suffix not in TABLES:
        return Source(place, ((n, [row]) for n, row in enumerate(read_lines(path), 1)))
    if suffix == ".jsonl":
        rows = _records(f"{place}, line", _json(path))
        return _table(kind, rows, columns, languages, place, named=True)
    rows = _csv(path) if suffix == ".csv" else _tsv(path)
    return _table(kind, rows, columns, languages, place)


def _plain(place, columns, rows, codes=(), unit="line"):
    """The source of rows which are not those of a table, so that none can be chosen."""
    if columns:
        raise CorpusError(
            f"columns are those of a table, received {_joined(columns)} for {place}"
        )
    return Source(place, rows, codes, unit)


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


# === Tables ===
def _table(kind, rows, columns, languages, place, named=False):
    """The source of a table whose first row has names, unless columns are numbers."""
    first = next(rows, None)
    if first is None:
        raise CorpusError(f"{place} is empty")
    names = first[1]
    if not named and columns and all(str(c).isdecimal() for c in columns):
        rows = itertools.chain([first], rows)
        names, columns = list(range(1, len(names) + 1)), list(map(int, columns))
    chosen = choose_columns(kind, names, columns, languages, place)
    places = [names.index(column) for column in chosen]

    def cells():
        for number, row in rows:
            if len(row) != len(names):
                raise CorpusError(
                    f"{place}, line {number:,} should have {len(names)} columns like "
                    f"the first, received {len(row)}: {str(row)[:60]}"
                )
            yield number, [row[place] for place in places]

    return Source(place, cells(), _codes(chosen))


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


def choose_columns(
    kind: Kind,
    names: Sequence[Any],
    columns: Sequence[Any] | None,
    languages: Sequence[str] | None,
    place: Any,
) -> list[Any]:
    """Chooses the columns of a table: those given, or those with a kind's names."""
    wanted = [columns] if columns else _known(kind, languages)
    for chosen in wanted:
        fits = len({*chosen}) == len(kind.columns[0])
        if fits and all(names.count(name) == 1 for name in chosen):
            return list(chosen)
    raise CorpusError(
        f"{place} should have the columns {' or '.join(map(_joined, wanted))}; it has "
        f"{_joined(names)[:200]}. Choose {len(kind.columns[0])} (--columns, columns=): "
        "names, or numbers if the first line is a row"
    )


def _known(kind, languages):
    """The names that columns, or suffixes of files, may have."""
    return [languages, *kind.columns] if languages else kind.columns


def _joined(names):
    return ", ".join(map(str, names))


# === Python data ===
def _python_source(kind, data, columns, languages):
    codes = ()
    if isinstance(data, Pairs):
        codes = data.source_language, data.target_language
    data, width = columns_of(data), len(kind.columns[0])
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        rows = _records("row", enumerate(data))
        table = _table(kind, rows, columns, languages, "the data", named=True)
        return table._replace(unit="row")
    names = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    names = getattr(data, "column_names", names)  # Hugging Face's
    if names is not None:
        chosen = choose_columns(kind, list(names), columns, languages, "the table")
        rows = _columns_rows([data[name] for name in chosen])
        return Source("the data", enumerate(rows), _codes(chosen), "row")
    if width == 1:
        rows = _columns_rows([data])
    elif isinstance(data, tuple) and len(data) == width:
        rows = _columns_rows(data)
    else:
        rows = _checked_rows(kind, data, width)
    return _plain("the data", columns, enumerate(rows), codes, "row")


def _columns_rows(columns):
    sides = list(map(as_list, columns))
    if len({*map(len, sides)}) > 1:
        raise CorpusError(
            f"columns should be equally long, received {_joined(map(len, sides))}"
        )
    return zip(*sides, strict=True)


def _checked_rows(kind, data, width):
    for row in data if isinstance(data, (list, tuple)) and data else [data]:
        if not isinstance(row, (list, tuple)) or len(row) != width:
            raise TypeError(
                f"{kind.unit}s must be paths, a tuple of {width} lists, a list of "
                f"tuples, or a table with the columns {_joined(kind.columns[0])}. "
                f"Received: {describe(row)}"
            )
        yield row
