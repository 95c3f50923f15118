"""Reads downloaded files, plain, gzip or zip, up to a byte limit.

A small archive can expand to gigabytes, so nothing here reads past its limit, whatever
sizes the archive declares.
"""

import contextlib
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from zoo.data.errors import HINT, CorpusError
from zoo.files import StrPath

# Maximum bytes of a zip's table of contents (some 50 a member).
_MAX_CONTENTS = 1 << 20
_PIECE = 1 << 16
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The standard library's errors for archives that are damaged, encrypted or compressed
# in another way. UnicodeDecodeError is a ValueError, NotImplementedError a
# RuntimeError and BadGzipFile an OSError.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def read_plain(archive: StrPath, name: str, limit: int) -> tuple[dict[str, bytes], str]:
    """Reads an uncompressed file; a `Corpus.unpack`."""
    with Path(archive).open("rb") as file:
        data = _read(file, name, limit)
    return {name: data}, f"{len(data)} bytes"


def gunzip(archive: StrPath, name: str, limit: int) -> tuple[dict[str, bytes], str]:
    """Reads a gzip file; a `Corpus.unpack`."""
    with refusing(archive, f"{name}.gz should be a whole gzip file"):
        with gzip.open(archive) as file:
            text = _read(file, name, limit)
    return {name: text}, f"{len(text)} bytes"


def unzip(
    archive: StrPath, limits: Mapping[str, int]
) -> tuple[dict[str, bytes], list[str]]:
    """Reads members of a zip archive up to their limits; also all members' names.

    Errors are several kinds of exceptions if the archive is broken; see `refusing`.
    """
    label = Path(archive).name.removesuffix(".part")
    with _BoundedFile(archive) as file, zipfile.ZipFile(file) as contents:
        names = contents.namelist()
        return {
            member: _unzip_member(contents, member, limit, f"{member} of {label}")
            for member, limit in limits.items()
            if member in names
        }, names


@contextlib.contextmanager
def refusing(archive: StrPath, expected: str) -> Iterator[None]:
    """Turns any error from reading an archive into a CorpusError.

    Its message begins with `expected`, such as "a.zip should be a whole archive".
    """
    try:
        yield
    except CorpusError:
        raise
    except _BROKEN as error:
        with Path(archive).open("rb") as file:
            start = file.read(16)
        size = Path(archive).stat().st_size
        raise CorpusError(
            f"{expected}, received one that starts with {start!r} and has {size} "
            f"bytes: {error}. {HINT}"
        ) from None


def _unzip_member(contents, member, limit, name):
    info = contents.getinfo(member)
    if info.flag_bits & _ENCRYPTED:
        raise CorpusError(
            f"{name} should be readable without a password, received an encrypted "
            f"file. {HINT}"
        )
    if info.compress_type not in _METHODS:
        raise CorpusError(
            f"{name} should be stored or deflated, received compression method "
            f"{info.compress_type}. {HINT}"
        )
    if info.file_size > limit:
        raise _too_large(name, limit, info.file_size)
    with contents.open(info) as file:
        return _read(file, name, limit)


def _read(file, name, limit):
    """Reads a whole file, but never more than `limit` + 1 bytes."""
    data = io.BytesIO()
    # In small pieces, since `zipfile` reads as many packed bytes as are requested.
    while piece := file.read(min(_PIECE, limit + 1 - data.tell())):
        data.write(piece)
        if data.tell() > limit:
            raise _too_large(name, limit, "more")
    return data.getvalue()


def _too_large(name, limit, received):
    return CorpusError(
        f"{name} should have at most {limit} bytes, received {received}. {HINT}"
    )


class _BoundedFile(io.FileIO):
    """A file that rejects reads of one large piece.

    `zipfile` reads the table of contents in one piece, of the size that the archive
    declares, and creates an object for each entry; members are read in small pieces.
    """

    def read(self, size=-1):
        if size > _MAX_CONTENTS:
            raise zipfile.BadZipFile(f"its table of contents has {size} bytes")
        return super().read(size)
