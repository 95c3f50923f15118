"""A corpus, and its files: found, or downloaded, verified and kept."""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import filelock

from zoo.data.download import DownloadError, download
from zoo.data.errors import HINT, CorpusError
from zoo.data.parallel_text import Pairs
from zoo.files import StrPath, cache_folder, sha256, unpacked, write_bytes
from zoo.strings import did_you_mean
from zoo.warn import warn_caller


class MissingFileError(CorpusError, FileNotFoundError):
    """A file of a corpus is missing."""


class CorpusFile(NamedTuple):
    """A file of a corpus: the address of the download that provides it, and itself."""

    url: str
    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus: its parts, its terms, and where its files come from.

    Args:
        name: the corpus's name, also that of its folder.
        languages: languages, any two of which make a pair.
        splits: names of the splits. A side's file is `{split}.{language}`.
        terms: the terms under which its authors publish it.
        weights: the licence that it leaves for the weights of a model trained on it, as
            model hubs spell it.
        generate: function of (source, target, split) that returns the `Pairs` of a
            corpus without files; None for one with files.
        parts: languages that the source language "mul" joins.
        exact: whether a source has one right answer, so that translations are scored by
            the share of exact ones.
        files: file name -> its `url`, its `size` in bytes and its `sha256`.
        unpack: function of (path of the download, file name, maximum bytes to unpack)
            that returns (dict of file name -> bytes, description of the download) or
            raises CorpusError. Default: `read_packed`.
        aliases: other name of a split -> split.
        reference_splits: splits in which tabs separate several translations of a
            sentence.
        snapshot: the date of the expected version; "" if the source does not change.
        download_limit: maximum bytes of a download, if not given by `files`.
        unpack_limit: maximum bytes to unpack, if not given by `files`.
    """

    name: str
    languages: Sequence[str]
    splits: Sequence[str]
    terms: str
    weights: str
    generate: Callable[[str, str, str], Pairs] | None = None
    parts: Sequence[str] = ()
    exact: bool = False
    files: Mapping[str, CorpusFile] = dataclasses.field(default_factory=dict)
    unpack: Callable[[Path, str, int], tuple[dict[str, bytes], str]] | None = None
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reference_splits: Sequence[str] = ()
    snapshot: str = ""
    download_limit: int | None = None
    unpack_limit: int | None = None

    @property
    def test_split(self) -> str:
        """The split on which models are compared."""
        return self.aliases.get("test", "test")


def choose(what: str, value: str, allowed: Iterable[str]) -> str:
    """Returns an allowed name, or raises a `ValueError` that suggests the nearest."""
    names = [*allowed]
    if value in names:
        return value
    raise ValueError(
        f"unknown {what}{did_you_mean(value, names)}; allowed are {', '.join(names)}; "
        f"received {value!r}"
    )


# === Finding ===
def locate(
    corpus: Corpus,
    names: Sequence[str],
    cache_dir: StrPath | None = None,
    allow_newer: bool = False,
) -> Path:
    """Returns the folder with files of a corpus, found or downloaded as in `load`."""
    if root := os.environ.get("ZOO_DATA_DIR"):
        return _given(Path(root).expanduser(), corpus, names)
    cache = Path(cache_dir).expanduser() if cache_dir else cache_folder()
    folder, newer = cache / corpus.name, cache / f"{corpus.name}-newer"
    allow_newer = allow_newer and bool(corpus.snapshot)
    for name in names:
        here = (folder / name).is_file()
        if not here and not (allow_newer and (newer / name).is_file()):
            _obtain(corpus, name, folder, newer, allow_newer)
    if not all((folder / name).is_file() for name in names):
        warn_caller(
            f"{newer} is made from a newer snapshot of {corpus.name} than that of "
            f"{corpus.snapshot}: scores on it are not comparable with zoo's"
        )
        return newer
    for name in names:
        digest, expected = sha256(folder / name), corpus.files[name].sha256
        if digest != expected:
            raise CorpusError(
                f"{folder / name} is altered: sha256 {expected} is expected, received "
                f"{digest}. Remove the file to download it again"
            )
    return folder


def _given(root, corpus, names):
    """Returns the folder of the user's own files."""
    folder = root / corpus.name
    for name in names:
        if not (folder / name).is_file():
            there = ", ".join(sorted(path.name for path in folder.glob("*")))
            raise MissingFileError(
                f"{folder / name} is missing: ZOO_DATA_DIR is {root}, which should "
                f"hold {corpus.name}/{name}, received {folder} with "
                f"{there or 'nothing'}. Without ZOO_DATA_DIR the corpus is downloaded"
            )
    return folder


def _obtain(corpus, name, folder, newer, allow_newer):
    """Downloads what has a file and unpacks it, unless another process just has."""
    wanted = corpus.files[name]
    archive = folder / f"{wanted.url.rsplit('/', 1)[-1]}.part"
    # Packing never makes a file larger than this.
    limit = corpus.download_limit or wanted.size * 101 // 100 + 1024
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock"):
            if (folder / name).is_file():
                return
            try:
                download(wanted.url, archive, limit)
                unpack = corpus.unpack or read_packed
                files = unpack(archive, name, corpus.unpack_limit or wanted.size)
            finally:
                archive.unlink(missing_ok=True)
            expected = _verify(corpus, name, allow_newer, *files)
            for file_name, data in files[0].items():
                path = (folder if expected else newer) / file_name
                path.parent.mkdir(exist_ok=True)
                write_bytes(path, data)
    except DownloadError as error:
        raise DownloadError(f"{error}. {HINT}") from error
    except OSError as error:
        raise DownloadError(
            f"cannot write to {folder}: {error.strerror or error}. Set ZOO_CACHE_DIR "
            "to a writable folder with enough space"
        ) from error


def _verify(corpus, name, allow_newer, files, description):
    """Returns whether files are those that are meant; False for a newer snapshot."""
    digests = {n: hashlib.sha256(data).hexdigest() for n, data in files.items()}
    altered = [n for n, found in digests.items() if found != corpus.files[n].sha256]
    if not altered or allow_newer:
        return not altered
    wanted = corpus.files[name]
    if corpus.snapshot:
        raise CorpusError(
            f"{wanted.url} has moved on: zoo's {corpus.name} is its snapshot of "
            f"{corpus.snapshot}, received {description}, which yields other "
            f"{', '.join(altered)}. Set ZOO_DATA_DIR to a folder that holds a copy of "
            f"{corpus.name}, or accept the newer snapshot: allow_newer=True in Python, "
            "`--set allow_newer=true` of a recipe, --allow-newer of `zoo evaluate`"
        )
    raise CorpusError(
        f"{wanted.url} is not the expected {name}: sha256 {wanted.sha256} is "
        f"expected, received {description} with {digests[name]}"
    )


def read_packed(
    archive: StrPath, name: str, limit: int
) -> tuple[dict[str, bytes], str]:
    """Reads a file that is plain or gzip, up to a limit; a `Corpus.unpack`."""
    try:
        with Path(archive).open("rb") as file:
            with unpacked(file, Path(archive).name.removesuffix(".part")) as content:
                data = content.read(limit + 1)
    except ValueError as error:
        raise CorpusError(f"{error}. {HINT}") from None
    if len(data) > limit:
        raise CorpusError(
            f"{name} should have at most {limit} bytes, received more. {HINT}"
        )
    return {name: data}, f"{len(data)} bytes"
