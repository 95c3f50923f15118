"""Code that Ray Serve's proxies run: limits of requests, and the APIs' errors.

Ray imports `add_services` by its name in `grpc_options`, and `middlewares` by the
environment variable RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from zoo.serving.server.prediction import SERVICES
from zoo.serving.server.server_options import MAX_REQUEST_BYTES

_GONE = "the replica that had the request is gone: it has to be sent again"


# === gRPC ===
def add_services(servicer: Any, server: Any) -> None:
    """Adds `SERVICES` to a server, as protoc's functions of this kind do."""
    server.add_generic_rpc_handlers((_Services(servicer),))


class _Services(grpc.GenericRpcHandler):
    """The methods of `SERVICES`; Ray puts calls of replicas in their place.

    Messages are not read here; an oversized message is replaced by its size.
    """

    def __init__(self, servicer: Any) -> None:
        # As in grpc's own class of such handlers, where Ray looks for them.
        self._method_handlers = {
            f"/{service}/{method}": _handler(getattr(servicer, method))
            for service, methods in SERVICES.items()
            for method in methods
        }

    def service(self, handler_call_details: Any) -> Any:
        """See `grpc.GenericRpcHandler`."""
        found = self._method_handlers.get(handler_call_details.method)
        return found and _handler(_unavailable_without_answer(found.unary_unary))


def _handler(call):
    return grpc.unary_unary_rpc_method_handler(call, request_deserializer=_bounded)


def _bounded(data: bytes) -> bytes | int:
    return data if len(data) <= MAX_REQUEST_BYTES else len(data)


def _unavailable_without_answer(call: Callable[..., Any]) -> Callable[..., Any]:
    """Makes Ray's INTERNAL for a replica that died UNAVAILABLE, so that clients retry.

    Ray has it for exceptions of a replica, too, but ours raises none: it answers
    INTERNAL. To what a replica answers Ray adds metadata, the request's id.
    """

    async def checked(request, context):
        answer = await call(request, context)
        internal = grpc.StatusCode.INTERNAL
        failed = context.code() in (internal, internal.value[0])
        if failed and not context.trailing_metadata():
            context.set_code(grpc.StatusCode.UNAVAILABLE)
            context.set_details(_GONE)
        return answer

    return checked


# === REST ===
def middlewares() -> list[Any]:
    """Returns the middlewares of the HTTP proxies."""
    return [Middleware(RESTErrors), Middleware(BoundedBodies)]


class BoundedBodies:
    """ASGI middleware that gives an application whole bodies only.

    A larger body than `most` bytes is read to its end, so that the sender gets the
    answer, but not kept: status 400. One that takes more than `seconds` gets 408.
    """

    def __init__(
        self, app: Any, most: int = MAX_REQUEST_BYTES, seconds: float = 30.0
    ) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self.seconds)
        except TimeoutError:
            text = f"the body did not arrive within {self.seconds:g} s"
            await _error(408, text)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        if len(body) > self.most:
            text = f"a body may have {self.most:,} bytes, and this one has more"
            await _error(400, text)(scope, receive, send)
            return
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay():
            return messages.pop() if messages else await receive()

        await self.app(scope, replay, send)

    async def _read(self, scope, receive):
        """Returns the body, or the beginning of one that is too large."""
        body = bytearray()
        async for part in Request(scope, receive).stream():
            if len(body) <= self.most:
                body += part
        return bytes(body)


class RESTErrors:
    """ASGI middleware that makes Ray's own errors those of the REST API.

    They become `{"error": …}`: 504 where a request took too long, 503 where a replica
    died over it, else Ray's status. Ray's own paths, `/-/…`, stay as they are.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html."""
        if scope["type"] != "http" or scope["path"].startswith("/-/"):
            await self.app(scope, receive, send)
            return
        started, status, text = False, 503, [_GONE.encode()]

        async def check(message):
            nonlocal started, status
            if message["type"] == "http.response.start" and _is_ours(message):
                started = True
            elif message["type"] == "http.response.start":
                status = 504 if message["status"] == 408 else message["status"]
                text.clear()
            if started:
                await send(message)
            elif message["type"] == "http.response.body":
                text.append(message.get("body", b""))

        await self.app(scope, receive, check)
        if not started:
            answer = _error(status, b"".join(text).decode("utf-8", "replace"))
            await answer(scope, receive, send)


def _is_ours(start):
    return any(
        name.lower() == b"content-type" and value.startswith(b"application/json")
        for name, value in start["headers"]
    )


def _error(status: int, text: str) -> JSONResponse:
    """Returns an error of the REST API, which ends the connection."""
    return JSONResponse({"error": text}, status, {"connection": "close"})
