"""Downloads a file of bounded size, with progress on stderr."""

import time
from pathlib import Path

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


def download(url: str, path: Path, limit: int) -> None:
    """Downloads a file of at most `limit` bytes to a path.

    Raises:
        DownloadError: if the server can't be reached or refuses, or sends more than
            `limit` or fewer bytes than it declared.
        OSError: if the file can't be written.
    """
    import httpx2

    problem = ""
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        try:
            return _request(url, path, limit)
        except httpx2.HTTPError as error:
            problem = f"{type(error).__name__}: {error}"
            response = getattr(error, "response", None)
            if response is not None and response.is_client_error:
                break
    raise DownloadError(f"cannot download {url}, received {problem}")


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
