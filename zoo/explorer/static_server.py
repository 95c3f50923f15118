"""Serves the explorer's folder of plain files on this machine."""

import contextlib
import functools
import http.server
import ipaddress
import socket
import urllib.parse
from http import HTTPStatus

from zoo.files import StrPath

_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class StaticServer(http.server.ThreadingHTTPServer):
    """A server of one folder, whose `serve_forever` answers GET and HEAD.

    A server that listens at a loopback address answers only requests that name one as
    their host, against pages elsewhere whose name leads to this machine.

    Args:
        folder: see `zoo.explorer.folder.write_folder`; it may be written later.
        host: the address to listen at.
        port: the port; 0 for a free one.

    Raises:
        OSError: if the address cannot be used.
    """

    def __init__(
        self, folder: StrPath, host: str = "127.0.0.1", port: int = 8650
    ) -> None:
        [(self.address_family, *_), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )
        self.local = is_loopback(host)
        handler = functools.partial(_Handler, directory=str(folder))
        super().__init__((host, port), handler)


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds without a byte
    # A machine's own table may name other types, which browsers refuse.
    extensions_map = {
        "": "application/octet-stream",
        ".gz": "application/gzip",
        ".css": "text/css",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript",
        ".json": "application/json",
        ".txt": "text/plain; charset=utf-8",
        ".woff2": "font/woff2",
    }

    def send_head(self):
        try:
            asked = urllib.parse.urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:  # a bracket without its fellow
            asked = None
        if self.server.local and not is_loopback(asked or ""):
            self.send_error(HTTPStatus.FORBIDDEN)
            return None
        return super().send_head()

    def list_directory(self, path):
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self):
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format, *arguments):
        pass
