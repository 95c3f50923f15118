"""Downloads a file, within bounds of size and time, with progress on stderr."""

import time
from pathlib import Path

ATTEMPTS = 3  # requests for one file before giving up
PAUSE = 1.0  # seconds before the second one; twice as many before the third
# Seconds without a byte before a request is given up, and seconds for a whole file: the
# largest one, of 18 MB, takes 900 at 20 kB/s.
TIMEOUT = 30.0
DEADLINE = 1800.0
_HEADERS = {
    # manythings.org answers 406 to a library's own name.
    "User-Agent": "Mozilla/5.0 (compatible; attention-zoo)",
    "Accept-Encoding": "identity",
}


class DownloadError(ValueError, OSError):
    """A file could not be downloaded or stored."""


def download(url: str, path: Path, limit: int) -> None:
    """Downloads a file of at most `limit` bytes to a path.

    Raises:
        DownloadError: if the server can't be reached or refuses, sends more than
            `limit` or fewer bytes than it declared, or takes longer than `DEADLINE`.
        OSError: if the file can't be written.
    """
    import httpx2

    deadline, problem = time.monotonic() + DEADLINE, ""
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        try:
            problem = _request(url, path, limit, deadline)
            if not problem:
                return
            break
        except httpx2.HTTPError as error:
            problem = f"{type(error).__name__}: {error}"
    raise DownloadError(f"cannot download {url}, received {problem}")


def _request(url, path, limit, deadline):
    """Makes one request; returns what is wrong for good, or ""."""
    import httpx2
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(30)
    progress = Progress(*columns, DownloadColumn(), console=Console(stderr=True))
    options = {"headers": _HEADERS, "timeout": TIMEOUT, "follow_redirects": True}
    with httpx2.stream("GET", url, **options) as response:
        if response.is_client_error:
            return f"HTTP status {response.status_code} ({response.reason_phrase})"
        response.raise_for_status()
        total = int(response.headers.get("Content-Length") or 0) or None
        if total and total > limit:
            return f"{total} bytes, which should be at most {limit}"
        with path.open("wb") as file, progress:
            task = progress.add_task(path.stem, total=total)
            for chunk in response.iter_raw():
                file.write(chunk)
                progress.advance(task, len(chunk))
                if file.tell() > limit:
                    return f"more than {limit} bytes"
                if time.monotonic() > deadline:
                    return f"{file.tell()} bytes in {DEADLINE:g} s"
    return ""
