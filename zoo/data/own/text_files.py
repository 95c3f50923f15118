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
    if isinstance(data, (str, os.PathLike)):
        return [TextFiles((Path(data),))]
    several = [data] if isinstance(data, TextFiles) else data
    if not isinstance(several, (list, tuple)) or not several:
        return None
    if all(isinstance(item, TextFiles) for item in several):
        return list(several)
    paths = all(isinstance(item, (str, os.PathLike)) for item in several)
    if isinstance(data, tuple) and len(data) == 2 and paths:
        return [TextFiles(tuple(map(Path, data)))]
    return None


# === Sets ===
def find_sets(kind: Kind, train: Any, *others: Any) -> dict[str, list[Part]]:
    """Returns the parts of training, validation and test set, before reading any.

    A set that is None is that of the folders of training text, if they have it.
    """
    sets = {"train": find_parts(kind, train, "train")}
    for split, data in zip(("valid", "test"), others, strict=True):
        missing = data is None
        sets[split] = find_parts(kind, train if missing else data, split, missing)
    return sets


def find_parts(kind: Kind, data: Any, split: str, optional: bool = False) -> list[Part]:
    """Returns the parts of one set: of paths, `TextFiles` or Python data.

    If `optional`, the data are those of training, in which only a folder has other
    splits, and need not.
    """
    several = as_files(data)
    if several is None:
        return [] if optional else [python_part(kind, data)]
    parts = []
    for files in several:
        found: TextFiles | None = None if optional else files
        if len(files.paths) == 1 and files.paths[0].is_dir():
            found = find_split(files.paths[0], split, kind, optional)
            weight = 1 if optional else files.weight
            found = found and dataclasses.replace(found, weight=weight)
        if found and found.weight != 1 and split != "train":
            raise CorpusError(
                f"only training text has a weight, received {found.paths[-1]}:"
                f"{found.weight} for {split}"
            )
        if found:
            parts.append(file_part(kind, found))
    return parts


def file_part(kind: Kind, files: TextFiles) -> Part:
    """Returns the items of two aligned files, of a table, or of another file."""
    name = " and ".join(map(str, files.paths))
    if len(files.paths) > 1 and not kind.aligned:
        raise CorpusError(f"a text should be one file, received {name}")
    for path in files.paths:
        check_file(path)
    path = files.paths[0]
    about: dict[str, Any] = {"paths": files.paths, "weight": files.weight}
    if len(files.paths) == 2:
        if path.resolve() == files.paths[1].resolve():
            raise CorpusError(f"source and target should be two files, received {name}")
        about["languages"] = language_codes([_suffix(path) for path in files.paths])
        return Part(kind, name, partial(_aligned_items, *files.paths), **about)
    if kind.lines and not kind.chosen and kind_of(path) not in (kind.tables or ()):
        return Part(kind, name, partial(kind.lines, path), **about)
    table = Table(path, kind.chosen, kind.defaults)
    about |= {"columns": (*table.columns, str(table.headless)), "note": table.note}
    if kind.aligned and not table.headless:
        about["languages"] = language_codes(table.columns, known=True)
    return Part(kind, name, partial(_table_items, kind, table), **about)


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
def find_split(
    folder: Path, split: str, kind: Kind, optional: bool = True
) -> TextFiles | None:
    """Finds a split's files in a folder: `train.txt`, or `train.en` and `train.de`.

    Several pairs of files are told apart by the kind's languages.
    """
    stems = (_of_stem(folder, stem, split, kind) for stem in SPLITS[split])
    files = next(filter(None, stems), None)
    if files is None and not optional:
        names = ".en and {0}.de, or {0}.tsv" if kind.aligned else ".*"
        raise CorpusError(
            f"{folder} has no file for {split}, named {split}{names.format(split)}"
        )
    return files


def _of_stem(folder, stem, split, kind):
    paths = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and unpacked_name(path).stem == stem
    ]
    names = ", ".join(path.name for path in paths)
    tables = [path for path in paths if kind_of(path) in TABLES]
    single = tables if kind.aligned else paths
    if len(single) == 1:
        return TextFiles((single[0],))
    if single and not kind.aligned:
        raise CorpusError(
            f"{folder} should have one file for {split}, received {names}"
        )
    found, languages = {_suffix(path): path for path in paths}, kind.languages
    for sides in [*([languages] if languages else []), *PAIR_COLUMNS, ("src", "trg")]:
        if {*sides} <= {*found}:
            if sides[0] == sides[1]:
                raise CorpusError(
                    f"the files in {folder} are told apart by the languages, which "
                    f"should differ, received {'-'.join(sides)}"
                )
            return TextFiles(tuple(found[side] for side in sides))
    if found:
        raise CorpusError(
            f"{folder} has {names}: say by the languages which is the source and "
            "which the target"
            + (f", received {'-'.join(languages)}" if languages else "")
        )
    return None


def _suffix(path):
    return unpacked_name(path).suffix[1:]
