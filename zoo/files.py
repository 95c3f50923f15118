"""Files: written whole or not at all, locked, told apart. Nothing here needs Keras."""

import contextlib
import errno
import hashlib
import os
import re
from pathlib import Path


def cache_folder():
    """Returns the folder for downloads: `$ZOO_CACHE_DIR`, or `~/.cache/zoo`."""
    return Path(os.environ.get("ZOO_CACHE_DIR") or "~/.cache/zoo").expanduser()


def bundled_folder(inside, beside):
    """Returns a folder that comes with zoo.

    Args:
        inside: its name inside the package, as in a wheel.
        beside: its name beside the package, as in a checkout.
    """
    package = Path(__file__).resolve().parent
    folder = package / inside
    return folder if folder.is_dir() else package.parent / beside


def write_aside(path, write, aside=None):
    """Writes a file beside its place and renames it: it appears whole or not at all.

    Args:
        path: the file; what stands there stays if the writing fails.
        write: function of the path to write to.
        aside: that path. Default: `part_of(path)`.

    Raises:
        OSError: with the file's name, if the disk is full, the folder can't be written,
            or `write` meets another one. Nothing is left aside then.
    """
    aside = aside or part_of(path)
    try:
        with naming(path):
            write(aside)
            with open(aside, "rb") as file:
                os.fsync(file.fileno())
            os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(aside)
        raise


@contextlib.contextmanager
def naming(path):
    """Gives a failed write the name of the file, which the system's own words lack."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno or errno.EIO, reason, str(path)) from error
    except RuntimeError as error:
        # What h5py makes of a disk that fills up while it writes.
        number = re.search(r"errno = (\d+)", str(error))
        if not number:
            raise
        number = int(number[1])
        raise OSError(number, os.strerror(number), str(path)) from error


def sha256(path):
    """Returns the sha256 of a file as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path, content, aside=None):
    """Writes a file's whole content by `write_aside`."""

    def write(aside):
        with open(aside, "wb") as file:
            file.write(content)

    write_aside(path, write, aside)


def part_of(path):
    """Where a file is written before it is renamed: `a.b.h5` to `a.part.b.h5`."""
    folder, name = os.path.split(path)
    stem, dot, endings = name.partition(".")
    return os.path.join(folder, f"{stem}.part{dot}{endings}")


def lock(path, flags=os.O_RDONLY):
    """Opens a file or a folder for this process alone.

    Args:
        path: of the file or folder.
        flags: of `os.open`.

    Returns:
        int. A descriptor; others are kept out until it is closed, or this process has
        ended, however it ends. Where files can't be locked (some network file systems,
        Windows) nobody is kept out.

    Raises:
        BlockingIOError: if another process has it.
    """
    descriptor = os.open(path, flags, 0o666)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except (ImportError, OSError):
        pass
    return descriptor
