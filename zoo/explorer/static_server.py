"""Serves the explorer's folder of plain files on this machine."""

import functools
import http.server

from zoo.files import StrPath


def static_server(
    folder: StrPath, host: str = "127.0.0.1", port: int = 8650
) -> http.server.ThreadingHTTPServer:
    """Returns a server of one folder, whose `serve_forever` answers GET and HEAD.

    Args:
        folder: see `zoo.explorer.folder.write_folder`; it may be written later.
        host: the address to listen at.
        port: the port; 0 for a free one.

    Raises:
        OSError: if the address cannot be used.
    """
    handler = functools.partial(_Handler, directory=str(folder))
    return http.server.ThreadingHTTPServer((host, port), handler)


class _Handler(http.server.SimpleHTTPRequestHandler):
    # A machine's own table may name another type, which browsers refuse.
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
    }

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")  # the models may be others
        super().end_headers()

    def log_message(self, format, *arguments):
        pass
