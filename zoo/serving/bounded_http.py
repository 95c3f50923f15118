"""HTTP calls with one deadline and one size limit for everything a server sends.

requests has only a timeout per wait, which a slow server outlives, and reads headers,
chunks and bodies of any size.
"""

import http.client
import io
import threading
import time
from collections.abc import Callable
from typing import Any


class TooLong(Exception):
    """The answer has more bytes than the call allows."""


class BoundedCall(threading.Thread):
    """A function in a thread that is abandoned at the deadline.

    Nothing else stops a name lookup, or attempts to connect to many addresses. What the
    thread reads is bounded, so that it ends too.

    Args:
        function: function without arguments.
        deadline: on the clock of `time.monotonic`.
        most: maximum bytes that it may read.
    """

    def __init__(self, function: Callable[[], Any], deadline: float, most: int) -> None:
        super().__init__(daemon=True)
        self.function, self.deadline, self.most = function, deadline, most
        self.bytes = 0
        self.answer: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Runs the function and keeps its result or error."""
        try:
            self.answer = self.function()
        except BaseException as error:
            self.error = error

    def result(self) -> Any:
        """Returns the function's result or raises its error.

        Raises:
            TimeoutError: at the deadline.
        """
        self.start()
        self.join(max(0.0, self.deadline - time.monotonic()))
        if self.is_alive():
            raise TimeoutError
        error, self.error = self.error, None  # it refers to this thread
        if error is not None:
            raise error
        return self.answer


class _BoundedFile(io.RawIOBase):
    """Counts and times everything that a `BoundedCall` reads from its socket."""

    def __init__(self, sock, file, call):
        self.sock, self.file, self.call = sock, file, call

    def readable(self):
        return True

    def fileno(self):
        return self.file.fileno()

    def readinto(self, buffer):
        left = self.call.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        self.sock.settimeout(left)
        count = self.file.raw.readinto(buffer)
        self.call.bytes += count
        if self.call.bytes > self.call.most:
            raise TooLong
        return count

    def close(self):
        self.file.close()
        super().close()


class _BoundedResponse(http.client.HTTPResponse):
    def __init__(self, sock, *args, **options):
        super().__init__(sock, *args, **options)
        file = _BoundedFile(sock, self.fp, threading.current_thread())
        self.fp = io.BufferedReader(file)


class _BoundedConnection:
    """Mixed into urllib3's connections."""

    response_class = _BoundedResponse


def bounded_session() -> Any:
    """Returns a `requests.Session` for `BoundedCall`s that follows no redirects."""
    import requests

    class Adapter(requests.adapters.HTTPAdapter):
        def get_connection_with_tls_context(self, *args, **options):
            pool = super().get_connection_with_tls_context(*args, **options)
            kind = pool.ConnectionCls
            if not issubclass(kind, _BoundedConnection):
                pool.ConnectionCls = type(kind.__name__, (_BoundedConnection, kind), {})
            return pool

    session: Any = requests.Session()
    # Called even if redirects are not allowed, and then reads the body.
    session.get_redirect_target = lambda response: None
    session.headers["Accept-Encoding"] = "identity"  # compression hides the size
    for scheme in ("http://", "https://"):
        session.mount(scheme, Adapter())
    return session
