"""Reads the bodies of HTTP requests within a size and a time, before they are used."""

import asyncio
import json
from typing import Any

MOST_REQUEST_BYTES = 8 * 2**20  # of a request


class BoundedBodies:
    """ASGI middleware that gives an application whole bodies only.

    A larger body is answered with the status 400, one that does not arrive in time with
    408, both with `{"error": …}`.

    Args:
        app: the application.
        most: maximum bytes of a body. A longer one is read to its end, so that the
            sender gets the answer, but not kept.
        seconds: time for the whole body.
    """

    def __init__(
        self, app: Any, most: int = MOST_REQUEST_BYTES, seconds: float = 30.0
    ) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._read(receive), self.seconds)
        except TimeoutError:
            text = f"the body did not arrive within {self.seconds:g} s"
            await send_error(send, 408, text)
            return
        except ConnectionError:  # the sender has gone
            return
        if body is None:
            text = f"a body may have {self.most:,} bytes, and this one has more"
            await send_error(send, 400, text)
            return
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay():
            return messages.pop() if messages else await receive()

        await self.app(scope, replay, send)

    async def _read(self, receive):
        """Returns the body, or None if it is too large."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            parts.append(part)
            if size > self.most:
                parts.clear()
        return b"".join(parts) if size <= self.most else None


async def send_error(send: Any, status: int, text: str) -> None:
    """Answers an ASGI request by an error of the REST API, and ends the connection."""
    body = json.dumps({"error": text}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
