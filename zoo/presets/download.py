"""Downloads a file with progress, resuming what an earlier attempt left."""

import contextlib
import functools
import os
import sys
import threading
import time
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
LIMIT = 1 << 28  # maximum bytes of a file of unknown size
_REDIRECTS = 10
_HEADERS = {
    # manythings.org answers 406 to a library's own name.
    "User-Agent": "Mozilla/5.0 (compatible; attention-zoo)",
    # Byte ranges count in the encoded file, so the encoding must be none.
    "Accept-Encoding": "identity",
}


class DownloadError(ValueError, OSError):
    """A file could not be downloaded or stored."""


class _Refused(Exception):
    """An answer that is final: another attempt would get the same."""


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
    the start. Concurrent calls for one folder need `exclusive`.

    Args:
        url: http or https address.
        folder: created if missing.
        unpack: function of the file's path; it raises a ValueError to reject the file.
        limit: maximum size in bytes.
        resume: whether to resume an earlier call's partial download.
        hint: what the user can do if the transfer fails, for the error.

    Returns:
        What `unpack` returns.
    """
    # Not at the top, and not in this thread, which may run an event loop of its own.
    from anyio.from_thread import start_blocking_portal

    deadline = time.monotonic() + DEADLINE
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{url.rsplit('/', 1)[-1]}.part"
    if not resume or _size(part) > limit:
        part.unlink(missing_ok=True)
    while True:
        resumed = _size(part) > 0
        with start_blocking_portal() as portal:
            problem = portal.call(_download, url, part, limit, deadline)
        if problem:
            raise DownloadError(f"cannot download {url}, received {problem}. {hint}")
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
    """
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f"{folder.name}.lock")
    text = f"waiting for another process that is downloading to {folder}"
    announce = functools.partial(print, text, file=sys.stderr, flush=True)
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
    """Writes a file atomically, creating its folder if missing."""
    owner = f"{os.getpid()}.{threading.get_ident()}"
    with _writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data, path.with_name(f"{path.name}.{owner}.tmp"))


# === Requests ===


async def _download(url, part, limit, deadline):
    """Completes `part` in a few attempts; returns what is wrong, or None."""
    import anyio
    import httpx2

    wrong_address = httpx2.InvalidURL, ValueError, OverflowError, ExceptionGroup
    problem = None
    try:
        client = httpx2.AsyncClient(headers=_HEADERS, timeout=TIMEOUT)
    except (ImportError, OSError, *wrong_address) as error:  # of the proxies' settings
        return f"{type(error).__name__}: {error}"
    try:
        with anyio.fail_after(deadline - time.monotonic()):
            async with client:
                for attempt in range(ATTEMPTS):
                    await anyio.sleep(PAUSE * attempt)
                    try:
                        problem = await _transfer(client, url, part, limit)
                    except DownloadError:  # of files, which is a ValueError too
                        raise
                    except (httpx2.HTTPError, *wrong_address) as error:
                        problem = _reason(error)
                    if problem is None:
                        return None
    except _Refused as refused:
        problem = str(refused)
    except TimeoutError:
        problem = f"{_size(part)} bytes in {DEADLINE:g} s"
        part.unlink(missing_ok=True)
    if _size(part):
        return f"{problem}; {_size(part)} bytes are kept in {part}"
    part.unlink(missing_ok=True)
    return problem


def _reason(error):
    """Describes the first of the errors that led to one."""
    import httpx2

    if isinstance(error, httpx2.TimeoutException):
        return f"nothing for {TIMEOUT:g} s"
    cause = error
    while cause:
        [error, *_] = getattr(cause, "exceptions", [cause])
        cause = error.__cause__ or error.__context__
    # asyncio's own text says less.
    if isinstance(error, ConnectionError) and error.errno:
        return f"{type(error).__name__}: {os.strerror(error.errno)}"
    return f"{type(error).__name__}: {error}"


async def _transfer(client, url, part, limit):
    """Makes one request for what `part` lacks; returns what is wrong, or None."""
    start = _size(part)
    headers = {"Range": f"bytes={start}-"} if start else {}
    request = client.build_request("GET", url, headers=headers)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(_REDIRECTS):
            # httpx2 itself would read a redirect's body, which may never end.
            response = await client.send(request, stream=True)
            stack.push_async_callback(response.aclose)
            request = response.next_request
            if request is None:
                break
        status = response.status_code
        if status == 416 and start:
            # There is nothing after `start`: the file is complete, or a different one.
            if response.headers.get("Content-Range") == f"bytes */{start}":
                return None
            part.unlink()
            return f"a file that is shorter than the {start} bytes in {part}"
        if response.is_success:
            return await _receive(response, part, start, limit)
        problem = f"HTTP status {status} ({response.reason_phrase})"
        if status < 500 and status not in (408, 429):
            raise _Refused(problem)
        return problem


async def _receive(response, part, start, limit):
    """Writes an answer to `part`; returns what is wrong with it, or None."""
    import httpx2

    partial, place = response.status_code == 206, response.headers.get("Content-Range")
    if partial and not (place or "").startswith(f"bytes {start}-"):
        part.unlink(missing_ok=True)
        return f"the range {place!r}"
    size = start if partial else 0
    length = response.headers.get("Content-Length")
    total = None if length is None else size + int(length)
    if total is not None and total > limit:
        _refuse(part, f"{total} bytes, which should be at most {limit}")
    with _writing(part.parent):
        file = part.open("ab" if partial else "wb")
    with file, _progress(part.name.removesuffix(".part"), total) as show:
        try:
            async for chunk in response.aiter_raw():
                with _writing(part.parent):
                    file.write(chunk)
                    file.flush()  # otherwise a full disk would only show on closing
                size += len(chunk)
                show(size)
                if size > limit:
                    break
        except httpx2.RemoteProtocolError:  # it breaks off, which the sizes tell
            if total is None:
                raise
    if size > limit:
        _refuse(part, f"more than the {limit} bytes that it may have")
    if total in (None, size):
        return None
    if not partial and size == start > 0:  # there is no more
        _refuse(part, f"{size} of {total} bytes twice")
    return f"{size} of {total} bytes"


def _refuse(part, problem):
    part.unlink(missing_ok=True)
    raise _Refused(problem)


# === Progress and files ===


class _Console(Console):
    """A console whose broken pipe is an error like any other, and ends no process."""

    def on_broken_pipe(self):
        raise  # within rich's `except`


@contextlib.contextmanager
def _progress(label, total):
    """Shows bytes on stderr: a live bar on a terminal, otherwise one line at the end.

    Gives a function that takes the number of bytes received so far.
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
