"""A corpus, and its files: found, or downloaded, verified and kept."""

import dataclasses
import gzip
import hashlib
import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import filelock

from zoo.data.lines import CorpusError
from zoo.data.text_sets import Pairs
from zoo.files import StrPath, cache_folder, sha256, write_bytes
from zoo.strings import warn_caller

HINT = "Try again later, or set ZOO_DATA_DIR to a folder that holds the corpus"
DOWNLOAD_LIMIT = 45_000_000  # bytes; the largest file has 18 million
ATTEMPTS = 3  # requests for one file before giving up
PAUSE = 1.0  # seconds before the second one; twice as many before the third
TIMEOUT = 30.0  # seconds without a byte before a request is given up
_HEADERS = {
    # manythings.org answers 406 to a library's own name.
    "User-Agent": "Mozilla/5.0 (compatible; attention-zoo)",
    "Accept-Encoding": "identity",
}


class DownloadError(ValueError, OSError):
    """A file could not be downloaded or stored."""


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
        exact: whether a source has one right answer, so that translations are scored by
            the share of exact ones.
        files: file name -> its `url`, its `size` in bytes and its `sha256`.
        unpack: function of the path of a download that returns the bytes of each file
            by name or raises CorpusError. Default: `read_packed`.
        aliases: other name of a split -> split.
        reference_splits: splits in which tabs separate several translations of a
            sentence.
        snapshot: the date of the expected version; "" if the source does not change.
    """

    name: str
    languages: Sequence[str]
    splits: Sequence[str]
    terms: str
    weights: str
    generate: Callable[[str, str, str], Pairs] | None = None
    exact: bool = False
    files: Mapping[str, CorpusFile] = dataclasses.field(default_factory=dict)
    unpack: Callable[[Path], dict[str, bytes]] | None = None
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reference_splits: Sequence[str] = ()
    snapshot: str = ""

    @property
    def test_split(self) -> str:
        """The split on which models are compared."""
        return self.aliases.get("test", "test")


# === Finding ===
def locate(corpus: Corpus, names: Sequence[str], allow_newer: bool = False) -> Path:
    """Returns the folder with files of a corpus, found or downloaded as in `load`."""
    if root := os.environ.get("ZOO_DATA_DIR"):
        folder = Path(root).expanduser() / corpus.name
        if missing := [name for name in names if not (folder / name).is_file()]:
            raise MissingFileError(
                f"{folder / missing[0]} is missing from ZOO_DATA_DIR, received {root}. "
                "Without ZOO_DATA_DIR the corpus is downloaded"
            )
        return folder
    folder = cache_folder() / corpus.name
    known = all((folder / name).is_file() for name in names)
    newer = allow_newer and bool(corpus.snapshot) and not known
    if newer:
        folder = cache_folder() / f"{corpus.name}-newer"
    for name in names:
        if not (folder / name).is_file():
            _obtain(corpus, name, folder, newer)
    altered = [n for n in names if sha256(folder / n) != corpus.files[n].sha256]
    if altered and not newer:
        raise CorpusError(
            f"{folder / altered[0]} is altered: its sha256 should be "
            f"{corpus.files[altered[0]].sha256}. Remove the file to download it again"
        )
    if altered:
        warn_caller(
            f"{folder} is made from a newer snapshot of {corpus.name} than that of "
            f"{corpus.snapshot}: scores on it are not comparable with zoo's"
        )
    return folder


def _obtain(corpus, name, folder, newer):
    """Downloads what has a file and unpacks it, unless another process just has."""
    wanted = corpus.files[name]
    archive = folder / f"{wanted.url.rsplit('/', 1)[-1]}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock"):
            if (folder / name).is_file():
                return
            try:
                download(wanted.url, archive, DOWNLOAD_LIMIT)
                if corpus.unpack:
                    files = corpus.unpack(archive)
                else:  # a newer snapshot may be larger
                    files = {name: read_packed(archive, name, 3 * wanted.size)}
            finally:
                archive.unlink(missing_ok=True)
            if not newer:
                _check_content(corpus, wanted.url, files)
            for file_name, data in files.items():
                write_bytes(folder / file_name, data)
    except DownloadError as error:
        raise DownloadError(f"{error}. {HINT}") from error
    except OSError as error:
        raise DownloadError(
            f"cannot write to {folder}: {error.strerror or error}. Set ZOO_CACHE_DIR "
            "to a writable folder with enough space"
        ) from error


def _check_content(corpus, url, files):
    """Refuses files other than those that the corpus's figures were made with."""
    hint = HINT
    if corpus.snapshot:
        hint += (
            f". To accept a newer snapshot than that of {corpus.snapshot}: "
            "allow_newer=True in Python, `--set allow_newer=true` of a recipe"
        )
    for name, data in files.items():
        digest, expected = hashlib.sha256(data).hexdigest(), corpus.files[name].sha256
        if digest != expected:
            raise CorpusError(
                f"{url} does not have zoo's {name}: sha256 {expected} is expected, "
                f"received {digest}. {hint}"
            )


def read_packed(archive: StrPath, name: str, limit: int) -> bytes:
    """Reads a file that is plain or, by its suffix, gzip, up to a limit."""
    label = Path(archive).name.removesuffix(".part")
    try:
        with (gzip.open if label.endswith(".gz") else open)(archive, "rb") as file:
            data = file.read(limit + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise CorpusError(f"{label} is damaged: {error}. {HINT}") from error
    if len(data) > limit:
        raise CorpusError(f"{name} should have at most {limit} bytes. {HINT}")
    return data


# === Downloading ===
def download(url: str, path: Path, limit: int) -> None:
    """Downloads a file of at most `limit` bytes to a path.

    Raises:
        DownloadError: if the server can't be reached or refuses, or sends more than
            `limit` or fewer bytes than it declared.
        OSError: if the file can't be written.
    """
    import httpx2

    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _request(url, path, limit)
        except httpx2.HTTPError as error:
            response = getattr(error, "response", None)
            refused = response is not None and response.is_client_error
            if refused or attempt == ATTEMPTS:
                raise DownloadError(
                    f"cannot download {url}, received {type(error).__name__}: {error}"
                ) from error
        time.sleep(PAUSE * attempt)
    return None


def _request(url, path, limit):
    import httpx2
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(30)
    progress = Progress(*columns, DownloadColumn(), console=Console(stderr=True))
    options = {"headers": _HEADERS, "timeout": TIMEOUT, "follow_redirects": True}
    with httpx2.stream("GET", url, **options) as response:
        response.raise_for_status()
        total = int(response.headers.get("Content-Length") or 0) or None
        with path.open("wb") as file, progress:
            task = progress.add_task(path.stem, total=total)
            for chunk in response.iter_raw():
                file.write(chunk)
                progress.advance(task, len(chunk))
                if file.tell() > limit:
                    raise DownloadError(
                        f"{url} should have at most {limit} bytes, received more"
                    )
