"""Files: written atomically, locked, hashed. Imports no Keras."""

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

StrPath = str | os.PathLike[str]


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
