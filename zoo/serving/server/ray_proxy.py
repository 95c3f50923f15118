"""Code that Ray Serve's proxies run: limits of requests, and the APIs' errors.

Ray imports `add_services` by its name in `grpc_options`, and `middlewares` by the
environment variable RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH.
"""

import asyncio
from typing import Any

import grpc
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from zoo.serving.server.signatures import MAX_REQUEST_BYTES

# Service -> its methods; the service's others are UNIMPLEMENTED, as gRPC says itself.
SERVICES = {
    "tensorflow.serving.PredictionService": ("Predict", "GetModelMetadata"),
    "tensorflow.serving.ModelService": ("GetModelStatus",),
}
_GONE = "the replica that had the request is gone: it has to be sent again"


# === gRPC ===
def add_services(servicer: Any, server: Any) -> None:
    """Adds `SERVICES` to a server, as protoc's functions of this kind do.

    Messages stay bytes here, so that proxies need not import TensorFlow.
    """
    for service, methods in SERVICES.items():
        handlers = {
            method: grpc.unary_unary_rpc_method_handler(getattr(servicer, method))
            for method in methods
        }
        handler = grpc.method_handlers_generic_handler(service, handlers)
        server.add_generic_rpc_handlers((handler,))
        handler._method_handlers = {  # where Ray has put calls of replicas
            name: method._replace(unary_unary=_died_is_unavailable(method.unary_unary))
            for name, method in handler._method_handlers.items()
        }


def _died_is_unavailable(call):
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
    return [Middleware(RESTProxy)]


class RESTProxy:
    """ASGI middleware that bounds bodies, and makes Ray's errors those of the REST API.

    An application gets whole bodies only: status 400 for more than `most` bytes, which
    are read to their end so that the sender gets the answer, and 408 after `seconds`.
    What is no JSON becomes `{"error": …}`: 504 where a request took too long, 503 where
    a replica died over it, else Ray's status. Ray's own paths, `/-/…`, stay.
    """

    def __init__(
        self, app: Any, most: int = MAX_REQUEST_BYTES, seconds: float = 30.0
    ) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html."""
        if scope["type"] != "http" or scope["path"].startswith("/-/"):
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self.seconds)
        except TimeoutError:
            error = 408, f"the body did not arrive within {self.seconds:g} s"
        except ClientDisconnect:
            return
        else:
            error = await self._answer(scope, body, receive, send)
        if error:
            status, text = error
            headers = {"connection": "close"}
            answer = JSONResponse({"error": text}, status, headers)
            await answer(scope, receive, send)

    async def _read(self, scope, receive):
        """Returns the body, or the beginning of one that is too large."""
        body = bytearray()
        async for part in Request(scope, receive).stream():
            if len(body) <= self.most:
                body += part
        return bytes(body)

    async def _answer(self, scope, body, receive, send):
        """Sends an application's answer that is JSON; else returns status and text."""
        if len(body) > self.most:
            return 400, f"a body may have {self.most:,} bytes, and this one has more"
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        started, status, parts = False, 503, [_GONE.encode()]

        async def replay():
            return messages.pop() if messages else await receive()

        async def check(message):
            nonlocal started, status
            if message["type"] == "http.response.start":
                kind = dict(message["headers"]).get(b"content-type", b"")
                started = kind.startswith(b"application/json")
                status = {408: 504}.get(message["status"], message["status"])
                parts.clear()
            if started:
                await send(message)
            else:
                parts.append(message.get("body", b""))

        await self.app(scope, replay, check)
        return None if started else (status, b"".join(parts).decode("utf-8", "replace"))
