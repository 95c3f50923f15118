"""Files: written atomically, locked, hashed. Imports no Keras."""

import bz2
import contextlib
import errno
import gzip
import hashlib
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

StrPath = str | os.PathLike[str]
# Formats of packed files: what they begin with, and what opens them.
_PACKED: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "gzip": (b"\x1f\x8b", gzip.open),
    "bzip2": (b"BZh", bz2.open),
    "xz": (b"\xfd7zXZ\x00", lzma.open),
}
PACKED_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}


def cache_folder() -> Path:
    """Returns the folder for downloads: `$ZOO_CACHE_DIR`, or `~/.cache/zoo`."""
    return Path(os.environ.get("ZOO_CACHE_DIR") or "~/.cache/zoo").expanduser()


def bundled_folder(inside: str, beside: str) -> Path:
    """Returns a folder of the package: `inside` a wheel, `beside` it in a checkout."""
    package = Path(__file__).resolve().parent
    folder = package / inside
    return folder if folder.is_dir() else package.parent / beside


def atomic_write(path: StrPath, write: Callable[[str], object]) -> None:
    """Writes a file atomically: `write` to a path beside its place, then renamed.

    An existing file is kept if writing fails: if the disk is full, for example, an
    OSError names the file, and what was written is removed.
    """
    aside = part_of(path)
    try:
        with name_file_in_errors(path):
            write(aside)
            with Path(aside).open("rb") as file:
                os.fsync(file.fileno())
            Path(aside).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
        raise


@contextlib.contextmanager
def name_file_in_errors(path: StrPath) -> Iterator[None]:
    """Adds the file's name to an error of the system raised while writing it."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno or errno.EIO, reason, str(path)) from error


def sha256(path: StrPath) -> str:
    """Returns the sha256 of a file as 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path: StrPath, content: bytes) -> None:
    """Writes a file's whole content with `atomic_write`."""
    atomic_write(path, lambda aside: Path(aside).write_bytes(content))


def part_of(path: StrPath) -> str:
    """Returns the temporary path for writing a file: `a.part.b.h5` for `a.b.h5`."""
    path = Path(path)
    stem, dot, endings = path.name.partition(".")
    return str(path.with_name(f"{stem}.part{dot}{endings}"))


@contextlib.contextmanager
def unpacked(file: Any, name: StrPath) -> Iterator[Any]:
    """Yields a binary file's content as a file, unpacked if it is gzip, bzip2 or xz.

    The first bytes of the buffered file decide, so that it needs no suffix.

    Raises:
        ValueError: if the file is damaged, or its name promises another format.
    """
    start = file.peek(8)[:8]
    found = (kind for kind, (magic, _) in _PACKED.items() if start.startswith(magic))
    kind = next(found, None)
    expected = kind or PACKED_SUFFIXES.get(Path(name).suffix)
    damaged = f"{name} is damaged, or not {expected} after all"
    if not kind:
        if start and expected:
            raise ValueError(damaged)
        yield file
        return
    try:
        with _PACKED[kind][1](file) as content:
            yield content
    except (zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        # Only errors of the operating system have a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{damaged}: {error}") from error


def lock(path: StrPath) -> int:
    """Opens a file or folder and locks it for this process; returns its descriptor.

    The lock lasts until that is closed or the process ends. Where files cannot be
    locked (Windows, some network file systems) there is no lock.

    Raises:
        BlockingIOError: if another process holds the lock.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except (ImportError, OSError):
        pass
    return descriptor
