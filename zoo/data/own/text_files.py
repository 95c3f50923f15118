"""Files of text, as a command line names them, and the parts of a set."""

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import check_file
from zoo.data.own.python import python_part
from zoo.data.own.reading import Kind, Part, language_codes
from zoo.data.own.tables import PAIR_COLUMNS, TABLES, Table, kind_of, unpacked_name
from zoo.data.parallel_text import aligned_lines
from zoo.files import StrPath

# The names of each split's files in a folder.
SPLITS = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """Text in two parallel files, one file, or a folder of them.

    Attributes:
        paths: one path, or those of source and target.
        weight: how often an epoch has each pair.
    """

    paths: tuple[Path, ...]
    weight: int = 1

    @classmethod
    def parse(cls, values: Sequence[StrPath]) -> "TextFiles":
        r"""Reads one or two paths, of which the last may end in `:WEIGHT`.

        A file of that very name comes first, and the colon of a drive is no weight's.

        Raises:
            CorpusError: for another number of paths, or a weight of 0.

        Example:
            >>> files = TextFiles.parse(["a.en", "a.de:2"])
            >>> [path.name for path in files.paths], files.weight
            (['a.en', 'a.de'], 2)
        """
        if not 1 <= len(values) <= 2:
            raise CorpusError(
                "pairs should be two files or one table or folder, received "
                f"{len(values)}: {' '.join(map(str, values))}"
            )
        *others, last = map(str, values)
        weighted = re.fullmatch(r"(.{2,}):(\d+)", last)
        weight = 1
        if weighted and not Path(last).exists():
            last, weight = weighted[1], int(weighted[2])
        if weight < 1:
            raise CorpusError(f"a weight should be 1 or more, received {values[-1]}")
        return cls((*map(Path, others), Path(last)), weight)


def as_files(data: Any) -> list[TextFiles] | None:
    """Returns paths as a list of `TextFiles`; None for data that name no files."""

    def paths(values):
        return all(isinstance(value, (str, os.PathLike)) for value in values)

    if paths([data]):
        return [TextFiles((Path(data),))]
    if isinstance(data, TextFiles):
        return [data]
    if isinstance(data, tuple) and len(data) == 2 and paths(data):
        return [TextFiles(tuple(map(Path, data)))]
    several = isinstance(data, (list, tuple)) and data
    files = several and all(isinstance(item, TextFiles) for item in data)
    return list(data) if files else None


# === Sets ===
def find_sets(kind: Kind, train: Any, *others: Any) -> dict[str, list[Part]]:
    """Returns the parts of training, validation and test set, before reading any.

    A set that is None is that of the folders of training text, if they have it.
    """
    sets = {"train": _find_parts(kind, train, "train")}
    for split, data in zip(("valid", "test"), others, strict=True):
        if data is not None:
            sets[split] = _find_parts(kind, data, split)
            continue
        folders = [files.paths[0] for files in as_files(train) or ()]
        found = [find_split(f, split, kind) for f in folders if f.is_dir()]
        sets[split] = [file_part(kind, files) for files in filter(None, found)]
    return _with_columns(kind, sets)


def find_parts(kind: Kind, data: Any, split: str) -> list[Part]:
    """Returns the parts of one set: of paths, `TextFiles` or Python data."""
    return _with_columns(kind, {split: _find_parts(kind, data, split)})[split]


def _with_columns(kind, sets):
    """Returns sets, unless columns are chosen and none is a table."""
    parts = [part for several in sets.values() for part in several]
    if kind.chosen and not any(part.table for part in parts):
        raise CorpusError(
            f"columns are those of a table, received {', '.join(map(str, kind.chosen))}"
            f" for {parts[0].name}"
        )
    return sets


def _find_parts(kind, data, split):
    several = as_files(data)
    if several is None:
        return [python_part(kind, data)]
    parts = []
    for files in several:
        weight = files.weight
        if weight != 1 and split != "train":
            raise CorpusError(
                f"only training text has a weight, received {files.paths[-1]}:{weight} "
                f"for {split}"
            )
        if len(files.paths) == 1 and files.paths[0].is_dir():
            found = find_split(files.paths[0], split, kind)
            if found is None:
                names = ".en and {0}.de, or {0}.tsv" if kind.aligned else ".*"
                raise CorpusError(
                    f"{files.paths[0]} has no file for {split}, named {split}"
                    f"{names.format(split)}"
                )
            files = dataclasses.replace(found, weight=weight)
        parts.append(file_part(kind, files))
    return parts


def file_part(kind: Kind, files: TextFiles) -> Part:
    """Returns the items of two aligned files, of a table, or of another file."""
    path, *rest = files.paths
    name = " and ".join(map(str, files.paths))
    if rest and not kind.aligned:
        raise CorpusError(f"a text should be one file, received {name}")
    for each in files.paths:
        check_file(each)
    if rest:
        if path.resolve() == rest[0].resolve():
            raise CorpusError(f"source and target should be two files, received {name}")
        codes = language_codes([_suffix(path) for path in files.paths])
        rows = partial(_aligned_items, *files.paths)
        return Part(kind, name, rows, codes, files.weight)
    if not (kind.aligned or kind.chosen or kind_of(path) in kind.tables):
        rows = partial(kind.lines, path)
        return Part(kind, name, rows, weight=files.weight)
    table = Table(path, kind.chosen, kind.defaults)
    codes = language_codes(["", ""])
    if kind.aligned and not table.headless:
        codes = language_codes(table.columns, columns=True)
    rows = partial(_table_items, kind, table)
    return Part(kind, name, rows, codes, files.weight, table=True, note=table.note)


def _aligned_items(source: Path, target: Path) -> Iterator[tuple[int, Any]]:
    return enumerate(aligned_lines(source, target, normalize=True), start=1)


def _table_items(kind: Kind, table: Table) -> Iterator[tuple[int, Any]]:
    for number, cells in table.rows():
        try:
            item = kind.item(cells)
        except TypeError as error:
            raise CorpusError(f"{table.path}, line {number:,}: {error}") from error
        yield number, item


# === Folders ===
def find_split(folder: Path, split: str, kind: Kind) -> TextFiles | None:
    """Finds a split's files in a folder: `train.txt`, or `train.en` and `train.de`.

    Several pairs of files are told apart by the kind's languages.
    """
    for stem in SPLITS[split]:
        paths = [
            path
            for path in sorted(folder.iterdir())
            if path.is_file() and unpacked_name(path).stem == stem
        ]
        if paths:
            return _choose(folder, split, paths, kind)
    return None


def _choose(folder, split, paths, kind):
    names = ", ".join(path.name for path in paths)
    tables = [path for path in paths if kind_of(path) in TABLES]
    single = tables if kind.aligned else paths
    if len(single) == 1:
        return TextFiles((single[0],))
    if not kind.aligned:
        raise CorpusError(
            f"{folder} should have one file for {split}, received {names}"
        )
    found, languages = {_suffix(path): path for path in paths}, kind.languages
    for sides in [*([languages] if languages else []), *PAIR_COLUMNS, ("src", "trg")]:
        if {*sides} <= {*found}:
            return TextFiles(tuple(found[side] for side in sides))
    raise CorpusError(
        f"{folder} has {names}: say by the languages which is the source and which "
        "the target" + (f", received {'-'.join(languages)}" if languages else "")
    )


def _suffix(path):
    return unpacked_name(path).suffix[1:]
