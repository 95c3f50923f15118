"""Files of sentence pairs, as a command line names them."""

import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.lines import check_file
from zoo.data.own.alignment import read_aligned_lines
from zoo.data.own.part import UNKNOWN, Part, column_codes, language_codes
from zoo.data.own.tables import PAIR_COLUMNS, TABLES, Table, kind_of, unpacked_name
from zoo.files import StrPath

# The names of each split's files in a folder.
SPLITS = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}
_SIDES = (*PAIR_COLUMNS, ("src", "trg"))


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """Where pairs are: two parallel text files, one table, or a folder of them.

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
    if isinstance(data, TextFiles):
        return [data]
    if isinstance(data, (str, os.PathLike)):
        return [TextFiles((Path(data),))]
    if not isinstance(data, (list, tuple)) or not data:
        return None
    if all(isinstance(item, TextFiles) for item in data):
        return list(data)
    paths = all(isinstance(item, (str, os.PathLike)) for item in data)
    if isinstance(data, tuple) and len(data) == 2 and paths:
        return [TextFiles(tuple(map(Path, data)))]
    return None


def check_weight(files: TextFiles, split: str) -> None:
    """Raises a `CorpusError` for a weight of files that aren't for training."""
    if split != "train" and files.weight != 1:
        raise CorpusError(
            f"only training text has a weight, received {files.paths[-1]}:"
            f"{files.weight} for {split}"
        )


def file_part(
    files: TextFiles, columns: Sequence[str] | None, languages: Sequence[str] | None
) -> Part:
    """Returns the pairs of two files, or of one table.

    Raises:
        CorpusError: for a file that can't be read, or has no such columns.
    """
    for path in files.paths:
        check_file(path)
    name = " and ".join(map(str, files.paths))
    if len(files.paths) == 2:
        source, target = files.paths
        if source.resolve() == target.resolve():
            raise CorpusError(f"source and target should be two files, received {name}")
        return Part(
            name,
            lambda: read_aligned_lines(source, target),
            languages=language_codes([_suffix(path) for path in files.paths]),
            paths=files.paths,
            weight=files.weight,
        )
    table = Table(files.paths[0])
    chosen, headless = table.choose(columns, _defaults(languages))
    return Part(
        name,
        table.reader(chosen, headless),
        languages=(UNKNOWN, UNKNOWN) if headless else column_codes(chosen),
        paths=files.paths,
        columns=(*chosen, str(headless)),
        weight=files.weight,
        unit="row",
        first=1 if headless else 2,
        note=table.note,
    )


def _defaults(languages):
    return [*([languages] if languages else []), *PAIR_COLUMNS]


def find_split(
    folder: Path, split: str, languages: Sequence[str] | None
) -> TextFiles | None:
    """Finds a split's files in a folder: `train.en` and `train.de`, or `train.tsv`.

    Args:
        folder: the folder.
        split: a key of `SPLITS`.
        languages: the suffixes of source and target, if more than one pair of files
            would do.

    Returns:
        The files; None if there are none of that split.

    Raises:
        CorpusError: if it can't be told which are meant.
    """
    for stem in SPLITS[split]:
        found = {_suffix(path): path for path in _named(folder, stem)}
        tables = [path for path in found.values() if kind_of(path) in TABLES]
        if len(tables) == 1:
            return TextFiles((tables[0],))
        for sides in [*([languages] if languages else []), *_SIDES]:
            if {*sides} <= {*found}:
                if sides[0] == sides[1]:
                    raise CorpusError(
                        f"the files in {folder} are told apart by the languages, which "
                        f"should differ, received {'-'.join(sides)}"
                    )
                return TextFiles(tuple(found[side] for side in sides))
        if found:
            raise CorpusError(
                f"{folder} has {', '.join(path.name for path in found.values())}: say "
                "by the languages which is the source and which the target"
                + (f", received {'-'.join(languages)}" if languages else "")
            )
    return None


def find_file(folder: Path, split: str) -> Path | None:
    """Finds the one file of a split in a folder, such as `train.txt`; None without one.

    Raises:
        CorpusError: if there are several.
    """
    for stem in SPLITS[split]:
        found = _named(folder, stem)
        if len(found) > 1:
            raise CorpusError(
                f"{folder} should have one file for {split}, received "
                f"{', '.join(path.name for path in found)}"
            )
        if found:
            return found[0]
    return None


def _named(folder, stem):
    """The files of a folder that are named so, but for suffixes."""
    paths = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return [path for path in paths if unpacked_name(path).stem == stem]


def _suffix(path):
    return unpacked_name(path).suffix[1:]
