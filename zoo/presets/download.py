"""Downloads a file with progress, resuming what an earlier attempt left.

Written on urllib because pooch and `keras.utils.get_file` neither resume a transfer nor
bound its size and its total time.
"""

import contextlib
import http.client
import os
import re
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
)

from zoo.files import lock_in_turn, write_bytes

T = TypeVar("T")
# Requests for one file before giving up, and seconds before the second one (twice as
# many before the third, and so on).
ATTEMPTS = 3
PAUSE = 1.0
# Seconds without a byte before a request is given up, and seconds for a whole file: the
# largest one, of 18 MB, takes 900 at 20 kB/s.
TIMEOUT = 30.0
DEADLINE = 1800.0
SILENT = 1.0  # seconds of waiting for another process before saying so
# Maximum bytes of a file of unknown size.
LIMIT = 1 << 28
_CHUNK = 1 << 16
_HEADERS = {
    # manythings.org answers 406 to urllib's own name.
    "User-Agent": "Mozilla/5.0 (compatible; attention-zoo)",
    # Byte ranges count in the encoded file, so the encoding must be none.
    "Accept-Encoding": "identity",
}


class DownloadError(ValueError, OSError):
    """A file could not be downloaded or stored."""


class _TransferError(DownloadError):
    """A transfer failed; `fetch` adds what the user can do."""


def fetch(
    url: str,
    folder: Path,
    unpack: Callable[[Path], T],
    limit: int = LIMIT,
    resume: bool = True,
    hint: str = "Try again later",
) -> T:
    """Downloads a file, passes it to `unpack`, and removes it.

    The transfer goes to a file whose name ends in `.part`. If it breaks off, the file
    stays and the next call resumes it. A download that is larger than `limit`, takes
    longer than `DEADLINE`, differs from the declared length, or is rejected by `unpack`
    is removed, so that the next call starts clean. If `unpack` rejects a download that
    was resumed, whose source may have changed in between, it is fetched once more from
    the start.

    Concurrent calls for one folder need `exclusive`.

    Args:
        url: http or https address.
        folder: created if missing.
        unpack: function of the file's path; it raises a ValueError to reject the file.
        limit: maximum size in bytes.
        resume: whether to resume an earlier call's partial download.
        hint: what the user can do if the transfer fails, for the error.

    Returns:
        What `unpack` returns.

    Raises:
        DownloadError: if the server refuses, keeps breaking off, or sends too much or
            too slowly, or if the folder cannot be written.
        ValueError: from `unpack`.
    """
    deadline = time.monotonic() + DEADLINE
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{url.rsplit('/', 1)[-1]}.part"
    if not resume or _size(part) > limit:
        part.unlink(missing_ok=True)
    while True:
        resumed = _size(part) > 0
        try:
            _download(url, part, limit, deadline)
        except _TransferError as error:
            raise DownloadError(f"{error}. {hint}") from None
        try:
            return unpack(part)
        except ValueError:
            if not resumed:
                raise
        finally:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Keeps other processes and threads from downloading to a folder.

    The lock is the file `{folder}.lock` beside it, which stays there; the system
    releases it when the process ends. Where files cannot be locked (Windows, some
    network file systems) there is no waiting.

    Args:
        folder: created if missing.

    Raises:
        DownloadError: if others hold the lock for longer than `DEADLINE`, or the folder
            cannot be created.
    """
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f"{folder.name}.lock")

    def announce():
        text = f"waiting for another process that is downloading to {folder}"
        print(text, file=sys.stderr, flush=True)

    try:
        descriptor = lock_in_turn(path, DEADLINE, announce, SILENT)
    except BlockingIOError:
        raise DownloadError(
            f"another process has been downloading to {folder} for "
            f"{DEADLINE:.0f} s: it holds {path}. Wait for it or end it"
        ) from None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def store(path: Path, data: bytes) -> None:
    """Writes a file atomically, creating its folder if missing.

    Raises:
        DownloadError: if it cannot be written.
    """
    owner = f"{os.getpid()}.{threading.get_ident()}"
    with _writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data, path.with_name(f"{path.name}.{owner}.tmp"))


# === Requests ===


def _download(url, part, limit, deadline):
    """Completes `part` in a few attempts, each resuming the previous one."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * attempt)
        final = False
        try:
            problem = _transfer(url, part, limit, deadline)
        except DownloadError:  # further attempts cannot help
            raise
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"HTTP status {error.code} ({error.reason})"
            final = error.code < 500 and error.code not in (408, 429)
        except urllib.error.URLError as error:
            problem = str(error.reason)
        # ValueError: from an invalid address that the server redirects to.
        except (http.client.HTTPException, OSError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            return
        if time.monotonic() >= deadline:
            _refuse(url, part, f"{_size(part)} bytes in {DEADLINE:g} s")
        if final:
            break
    if _size(part):
        problem += f"; {_size(part)} bytes are kept in {part}"
    else:
        part.unlink(missing_ok=True)
    raise _TransferError(f"cannot download {url}, received {problem}")


def _transfer(url, part, limit, deadline):
    """Makes one request; returns the problem with the answer, or None."""
    offset = _size(part)
    request = urllib.request.Request(url, headers=_HEADERS)
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    try:
        with _open(request, deadline) as response:
            return _receive(response, url, part, offset, limit, deadline)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not offset:
            raise
        # There is nothing after `offset`: the file is complete, or a different one.
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{offset}":
            return None
        part.unlink(missing_ok=True)
        return f"a file that is shorter than the {offset} bytes in {part}"


def _receive(response, url, part, offset, limit, deadline):
    """Writes the answer to `part`; returns the problem with it, or None."""
    before = offset
    if response.status != 206:
        offset = 0
    elif _range_start(response) != offset:
        part.unlink(missing_ok=True)
        return f"the range {response.headers.get('Content-Range')!r}"
    length = response.headers.get("Content-Length")
    if length is not None and not re.fullmatch(r"[0-9]{1,18}", length.strip()):
        _refuse(url, part, f"the Content-Length {length[:40]!r}")
    total = None if length is None else offset + int(length)
    if total is not None and total > limit:
        _refuse(url, part, f"{total} bytes, which should be at most {limit}")
    size = _copy(response, part, offset, total, limit, deadline)
    if size > limit:
        _refuse(url, part, f"more than the {limit} bytes that it may have")
    if time.monotonic() >= deadline and size != total:
        # An answer without a length looks complete when it is cut off.
        return f"{size} bytes until the deadline"
    if total is not None and size != total:
        if response.status != 206 and size == before > 0:  # there is no more
            _refuse(url, part, f"{size} of {total} bytes twice")
        return f"{size} of {total} bytes"
    return None


def _refuse(url, part, received):
    part.unlink(missing_ok=True)
    raise _TransferError(f"cannot download {url}, received {received}")


def _range_start(response):
    content_range = response.headers.get("Content-Range", "")
    match = re.match(r"bytes ([0-9]{1,18})-", content_range)
    return int(match[1]) if match else None


def _copy(response, part, offset, total, limit, deadline):
    with _writing(part.parent):
        file = part.open("ab" if offset else "wb")
    with file, _progress(part.name.removesuffix(".part"), total) as show:
        # Not read(), which waits for a whole chunk, however slow.
        while chunk := response.read1(_CHUNK):
            with _writing(part.parent):
                file.write(chunk)
                file.flush()  # otherwise a full disk would only show on closing
            offset += len(chunk)
            show(offset)
            if offset > limit or time.monotonic() >= deadline:
                break
    return offset


@contextlib.contextmanager
def _open(request, deadline):
    """Opens a request whose connections are closed at the deadline.

    A socket's timeout is not enough: it restarts with every byte, even in the headers.
    """
    connected = []

    def cut():
        for connection in connected:
            with contextlib.suppress(OSError):
                # Not SSLSocket.shutdown, which breaks a read in another thread.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    opener = urllib.request.build_opener(
        _CutHTTP(connected, deadline), _CutHTTPS(connected, deadline), _Redirects()
    )
    left = max(0.0, deadline - time.monotonic())
    timer = threading.Timer(left, cut)
    timer.daemon = True
    timer.start()
    try:
        # A timeout of 0 would make the socket non-blocking.
        with opener.open(request, timeout=min(TIMEOUT, left + 0.01)) as response:
            yield response
    finally:
        timer.cancel()


class _CutOff:
    """Collects the sockets of a handler's connections in a list."""

    def __init__(self, connected, deadline):
        super().__init__()
        self.connected = connected
        self.deadline = deadline

    def do_open(self, kind, request, **arguments):
        connected, deadline = self.connected, self.deadline

        class Connection(kind):
            def connect(self):
                super().connect()
                connected.append(self.sock)
                if time.monotonic() >= deadline:  # the timer may have fired already
                    raise TimeoutError("the deadline has passed")

        return super().do_open(Connection, request, **arguments)


class _CutHTTP(_CutOff, urllib.request.HTTPHandler):  # type: ignore[misc]
    pass


class _CutHTTPS(_CutOff, urllib.request.HTTPSHandler):  # type: ignore[misc]
    pass


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request, response, code, message, headers, url):
        # The handler would read the answer to its end, which may never come.
        response.close()
        if not url.startswith(("http://", "https://")):
            return None
        return super().redirect_request(request, response, code, message, headers, url)


# === Progress and files ===


class _Console(Console):
    """A console whose broken pipe is an error like any other, and ends no process."""

    def on_broken_pipe(self):
        raise  # within rich's `except`


@contextlib.contextmanager
def _progress(label, total):
    """Shows bytes on stderr: a live bar on a terminal, otherwise one line at the end.

    Yields:
        A function that takes the number of bytes received so far.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(30),
        TaskProgressColumn(),
        DownloadColumn(),
    )
    console = _Console(file=sys.stderr, force_jupyter=False)
    with Progress(
        *columns, console=console, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task(label, total=total)
        yield lambda size: progress.update(task, completed=size)


@contextlib.contextmanager
def _writing(folder):
    try:
        yield
    except OSError as error:
        raise DownloadError(
            f"cannot write to {folder}: {error.strerror or error}. Set ZOO_CACHE_DIR "
            "to a writable folder with enough space"
        ) from error


def _size(path):
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0
