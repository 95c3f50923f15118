"""The explorer's local server: the page, and models that run in this process.

    GET  models.json, api/models         the models, before they are loaded
    POST api/load {name}                 info and pieces of a model; a captioner's grid
                                         and examples
    POST api/pieces {name, source}       ids and pieces of a source
    POST api/picture?name=…              a picture's file as a captioner reads it, a
                                         PNG's data URL
    POST api/run {name, source, options} `Result` of explorer/src/engine/types.ts; the
                                         source is a text, or a picture's data URL

An error is `{"error": message}` with a status of 400 (bad input), 404 (no such model),
408 (sent too slowly), 413 (too long), 429 (too many requests wait for a model) or 503
(it took too long).
"""

import asyncio
import base64
import contextlib
import importlib.util
import ipaddress
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zoo.explorer import STATIC
from zoo.explorer.explored import Explored
from zoo.explorer.info import model_info
from zoo.explorer.options import Options

INSTALL = 'pip install "attention-zoo[explore]"'
_NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "PIL": "Pillow"}
MOST_CHARACTERS = 2000
MOST_BYTES = 1_000_000  # of a request
MOST_PICTURE_BYTES = 10_000_000  # of a picture's file
MOST_WAITING = 4  # requests for a model, beside the one that runs
MOST_CONNECTIONS = 64
SECONDS = 30.0  # for one run
SENDING = 30.0  # seconds in which a request must have come
_PICTURES = ("image/png", "image/jpeg", "image/webp")
_DATA_URL = "data:image/png;base64,"
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


class Refused(Exception):
    """A request that is not answered.

    Args:
        status: the HTTP status.
        message: what is wrong.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Stopped(Exception):
    """A run that nobody waits for any more, or that takes too long."""


class Models:
    """Models by name, loaded when they are first asked for.

    Args:
        presets: names and folders of presets.
        site: see `zoo.explorer.info.model_info`.
    """

    def __init__(
        self, presets: Sequence[tuple[str, Path]], site: str | None = None
    ) -> None:
        self.folders = dict(presets)
        self.infos = {name: model_info(path, name, site) for name, path in presets}
        self._explored: dict[str, Explored] = {}
        self._locks = {name: asyncio.Lock() for name in self.folders}
        self._waiting = dict.fromkeys(self.folders, 0)
        self._loading = threading.Lock()

    def captions(self, name: Any) -> bool:
        """Returns whether there is a captioner of this name."""
        return name in self.infos and self.infos[name]["task"] == "caption"

    async def run(self, name: Any, work: Callable[[Any], Any]) -> Any:
        """Runs a function of a model in a thread, one at a time.

        Raises:
            Refused: if there is no such model, or too many wait for it.
        """
        if name not in self.folders:
            raise Refused(404, f"there is no model {name!r:.100}")
        if self._waiting[name] > MOST_WAITING:
            raise Refused(429, f"too many requests wait for {name}")
        self._waiting[name] += 1
        try:
            async with self._locks[name]:
                return await asyncio.to_thread(lambda: work(self._load(name)))
        finally:
            self._waiting[name] -= 1

    def _load(self, name):
        with self._loading:
            if name not in self._explored:
                # A command checks its arguments before it starts Keras.
                import zoo
                from zoo.explorer.pictures import Captioner
                from zoo.explorer.reading import Reader
                from zoo.explorer.searching import Searcher

                task, info = zoo.load(self.folders[name]), self.infos[name]
                kinds = {"translate": Searcher, "caption": Captioner}
                self._explored[name] = kinds.get(info["task"], Reader)(task, info)
            return self._explored[name]


def make_app(models: Models, hosts: Sequence[str] = ("127.0.0.1", "localhost")) -> Any:
    """Makes the ASGI application.

    Args:
        models: the models.
        hosts: names under which it may be asked for, against pages elsewhere that name
            this machine; "*" for any.

    Returns:
        A Starlette application.

    Raises:
        ImportError: without starlette; the message names the extra.
    """
    require_server()
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import JSONResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    def answering(answer):
        async def endpoint(request):
            try:
                return JSONResponse(await answer(request))
            except Refused as error:
                return JSONResponse({"error": str(error)}, error.status)
            except ValueError as error:
                return JSONResponse({"error": str(error)}, 400)
            except Stopped as error:
                return JSONResponse({"error": str(error)}, 503)

        return endpoint

    async def index(request):
        infos = list(models.infos.values())
        return {"engine": "local", "models": [{"info": info} for info in infos]}

    async def infos(request):
        return list(models.infos.values())

    async def load(request):
        given = await _body(request)
        return await models.run(given["name"], lambda model: model.loaded())

    async def pieces(request):
        given = await _body(request)
        text = _text(given.get("source"))
        return await models.run(given["name"], lambda model: model.pieces(text))

    async def picture(request):
        name = request.query_params.get("name")
        if not models.captions(name):
            raise Refused(404, f"there is no captioner {name!r:.100}")
        content = await _content(request, _PICTURES, MOST_PICTURE_BYTES)
        return await models.run(name, lambda model: {"picture": model.picture(content)})

    async def run(request):
        most = MOST_BYTES + MOST_PICTURE_BYTES * 4 // 3  # base64
        given, stopped = await _body(request, most), threading.Event()
        name, source = given["name"], given.get("source")
        source = _picture(source) if models.captions(name) else _text(source)

        def work(model):
            options = Options.from_json(given.get("options"), len(model.vocabulary))
            end = time.monotonic() + SECONDS

            def between():
                if stopped.is_set() or time.monotonic() > end:
                    raise Stopped(f"the model took longer than {SECONDS:g} s")

            return model.run(source, options, between)

        running = asyncio.ensure_future(models.run(name, work))
        try:
            while not (await asyncio.wait([running], timeout=0.05))[0]:
                if await request.is_disconnected():  # the page wants another one
                    stopped.set()
        finally:
            stopped.set()
        return await running

    routes = [
        Route("/models.json", answering(index)),
        Route("/api/models", answering(infos)),
        *(
            Route(f"/api/{answer.__name__}", answering(answer), methods=["POST"])
            for answer in (load, pieces, picture, run)
        ),
        Mount("/", StaticFiles(directory=STATIC, html=True)),
    ]
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
        Middleware(_WithHeaders),
    ]
    return Starlette(routes=routes, middleware=middleware)


def serve(
    presets: Sequence[tuple[str, Path]],
    host: str = "127.0.0.1",
    port: int = 8650,
    site: str | None = None,
) -> None:
    """Serves the page until it is interrupted.

    Args:
        presets: names and folders of presets.
        host: the address to listen at.
        port: the port.
        site: see `zoo.explorer.info.model_info`.

    Raises:
        ImportError: if a package is missing; the message names the extra.
    """
    require_server()
    import uvicorn

    hosts = ("127.0.0.1", "localhost", "[::1]") if is_loopback(host) else ("*",)
    app = make_app(Models(presets, site), hosts)
    uvicorn.run(
        app,
        host=host,
        port=port,
        limit_concurrency=MOST_CONNECTIONS,
        log_level="warning",
    )


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def require_server() -> None:
    """Raises an `ImportError` that names the extra if a package is missing."""
    for name, package in _NEEDED.items():
        if importlib.util.find_spec(name) is None:
            raise ImportError(f"zoo explore needs {package}: {INSTALL}", name=name)


class _WithHeaders:
    """Adds the headers that every answer has."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def send_more(message):
            if message["type"] == "http.response.start":
                more = [(k.lower().encode(), v.encode()) for k, v in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self.app(scope, receive, send_more)


async def _body(request, most=MOST_BYTES):
    """The JSON object of a request of at most so many bytes."""
    content = await _content(request, ("application/json",), most)
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise Refused(400, "the request must be JSON") from None
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise Refused(400, "the request must be an object with a name")
    return given


async def _content(request, types, most):
    """The content of a request of one of some types.

    A page elsewhere cannot send these without asking first, and is refused then.
    """
    if request.headers.get("content-type", "").split(";")[0] not in types:
        raise Refused(400, f"the request must be {' or '.join(types)}")
    content = bytearray()
    try:
        async with asyncio.timeout(SENDING):
            async for part in request.stream():
                content += part
                if len(content) > most:
                    raise Refused(413, f"a request has at most {most} bytes")
    except TimeoutError:
        raise Refused(408, f"the request took longer than {SENDING:g} s") from None
    return bytes(content)


def _text(source):
    if not isinstance(source, str):
        raise Refused(400, "the source must be a string")
    if len(source) > MOST_CHARACTERS:
        raise Refused(413, f"a text has at most {MOST_CHARACTERS} characters")
    return source


def _picture(source):
    """The content of a picture's file, of its data URL."""
    if not isinstance(source, str) or not source.startswith(_DATA_URL):
        raise Refused(400, f"the source must be a picture's data URL, {_DATA_URL}…")
    with contextlib.suppress(ValueError):
        return base64.b64decode(source[len(_DATA_URL) :], validate=True)
    raise Refused(400, "the picture must be base64")
