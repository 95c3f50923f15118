"""Code that Ray Serve's proxies run: the gRPC services, and the REST API's errors.

Ray imports `add_services` by its name in `grpc_options`, and `middlewares` by the
environment variable RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH.
"""

from collections.abc import Callable
from typing import Any

import grpc

from zoo.serving.server.bodies import MOST_REQUEST_BYTES, BoundedBodies, send_error
from zoo.serving.server.prediction import SERVICES

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
    return data if len(data) <= MOST_REQUEST_BYTES else len(data)


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
    from starlette.middleware import Middleware

    return [Middleware(RESTErrors), Middleware(BoundedBodies)]


class RESTErrors:
    """ASGI middleware that makes Ray's own errors those of the REST API.

    They become `{"error": …}`: 504 where a request took too long, 503 where a replica
    died over it, else Ray's status. Ray's own paths, `/-/…`, stay as they are.

    Args:
        app: the application.
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
            await send_error(send, status, b"".join(text).decode("utf-8", "replace"))


def _is_ours(start):
    return any(
        name.lower() == b"content-type" and value.startswith(b"application/json")
        for name, value in start["headers"]
    )
