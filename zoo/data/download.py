"""Downloads a file with progress, resuming what an earlier attempt left."""

import contextlib
import http.client
import os
import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

# Requests for one file before giving up, and the seconds before the second one
# (twice as many before the third, and so on).
ATTEMPTS = 3
PAUSE = 1.0
TIMEOUT = 30.0
_CHUNK = 1 << 16
_HEADERS = {
    # manythings.org answers 406 to urllib's own name.
    "User-Agent": "Mozilla/5.0 (compatible; attention-zoo)",
    # A byte range counts in the encoded file; this keeps it the file itself.
    "Accept-Encoding": "identity",
}


class CorpusError(ValueError):
    """A corpus's files are missing, broken, altered or do not fit each other."""


class DownloadError(CorpusError, OSError):
    """A file could not be downloaded or stored."""


def fetch(url, folder, unpack):
    """Downloads a file, hands it to `unpack`, and removes it.

    It is written to a file whose name ends in `.part`. A transfer that breaks off
    leaves it, and the next call goes on where it ended. What is complete but refused
    by `unpack` is removed; if it had been pieced together from two calls, between
    which the source may have changed, it is fetched once more from the start.

    Args:
        url: str, http or https.
        folder: `pathlib.Path`, made if missing.
        unpack: function of the file's path; it raises CorpusError to refuse it.

    Returns:
        What `unpack` returns.

    Raises:
        DownloadError: if the server refuses, breaks off again and again, or if the
            folder cannot be written.
        CorpusError: from `unpack`.
    """
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{url.rsplit('/', 1)[-1]}.part"
    while True:
        resumed = _size(part) > 0
        _download(url, part)
        try:
            unpacked = unpack(part)
        except CorpusError:
            part.unlink()
            if not resumed:
                raise
        else:
            part.unlink()
            return unpacked


def store(path, data):
    """Writes a file so that it is there as a whole or not at all.

    Args:
        path: `pathlib.Path`; its folder is made if missing.
        data: bytes.

    Raises:
        DownloadError: if it cannot be written.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with _writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _download(url, part):
    """Completes `part`, in a few attempts that each go on from the one before."""
    problem = None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * attempt)
        try:
            problem = _transfer(url, part)
        except DownloadError:  # from writing, which no further attempt mends
            raise
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"HTTP status {error.code} ({error.reason})"
            if error.code < 500 and error.code not in (408, 429):
                break
        except urllib.error.URLError as error:
            problem = str(error.reason)
        except (http.client.HTTPException, OSError) as error:
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            return
    kept = f"; {_size(part)} bytes are kept in {part}" if _size(part) else ""
    raise DownloadError(
        f"cannot download {url}, received {problem}{kept}. Try again later, or set "
        "ZOO_DATA_DIR to a folder that holds the corpus"
    )


def _transfer(url, part):
    """Makes one request; returns what is wrong with the answer, or None."""
    offset = _size(part)
    request = urllib.request.Request(url, headers=_HEADERS)
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not offset:
            raise
        # Nothing is left from `offset` on: the file is complete, or not this one.
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{offset}":
            return None
        part.unlink()
        return f"a file that is shorter than the {offset} bytes in {part}"
    with response:
        if response.status != 206:
            offset = 0
        elif _range_start(response) != offset:
            part.unlink()
            return f"the range {response.headers.get('Content-Range')!r}"
        length = response.headers.get("Content-Length")
        total = None if length is None else offset + int(length)
        size = _copy(response, part, offset, total)
    if total is not None and size != total:
        return f"{size} of {total} bytes"
    return None


def _range_start(response):
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else None


def _copy(response, part, offset, total):
    progress = _Progress(part.name.removesuffix(".part"), total)
    with _writing(part.parent):
        file = part.open("ab" if offset else "wb")
    with file:
        try:
            while chunk := response.read(_CHUNK):
                with _writing(part.parent):
                    file.write(chunk)
                    # Without it a full disk would only be seen when closing.
                    file.flush()
                offset += len(chunk)
                progress.show(offset)
        finally:
            progress.finish(offset)
    return offset


class _Progress:
    """Bytes and percent on stderr: a bar on a terminal, one line elsewhere."""

    def __init__(self, label, total):
        self.label = label
        self.total = total
        self.shown = 0.0

    def show(self, size):
        if sys.stderr.isatty() and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            print(f"\r{self._line(size)}", end="", file=sys.stderr, flush=True)

    def finish(self, size):
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{self._line(size)}", file=sys.stderr, flush=True)

    def _line(self, size):
        if not self.total:
            return f"{self.label} {size} bytes"
        share = size / self.total
        bar = ("=" * round(30 * share)).ljust(30)
        return f"{self.label} [{bar}] {share:4.0%} {size} of {self.total} bytes"


@contextlib.contextmanager
def _writing(folder):
    try:
        yield
    except OSError as error:
        raise DownloadError(
            f"cannot write to {folder}: {error.strerror or error}. Set ZOO_CACHE_DIR "
            "to a folder that can be written and has room"
        ) from error


def _size(path):
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0
