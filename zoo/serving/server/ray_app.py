"""The Ray Serve application: a deployment whose replicas serve exported models."""

import asyncio
import contextlib
import logging
import warnings
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pydantic import BaseModel, Field, PositiveFloat, PositiveInt
from ray import serve
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse

from zoo.backend import quiet_start
from zoo.serving.protocol import MAX_ROWS, ServingError
from zoo.serving.server.predict import answer_grpc, answer_rest
from zoo.serving.server.served_model import (
    MAX_REQUEST_BYTES,
    Request,
    ServedModel,
    run_together,
)

QUEUE = 256  # requests that may wait in a replica; others are refused
RUNNING = 64  # requests that may run, beside them


class Options(BaseModel, extra="forbid"):
    """The options of the application: `args` in a Serve config."""

    models: dict[str, str] = Field(min_length=1, description="name -> folder")
    replicas: PositiveInt = 1
    max_replicas: PositiveInt | None = None  # turns autoscaling on, from `replicas` up
    timeout: PositiveFloat = 30.0  # seconds of a request


def build(options: Options) -> serve.Application:
    """Returns the application, as the `import_path` of a Serve config may name it."""
    scaling: dict[str, Any] = {"num_replicas": options.replicas}
    if options.max_replicas:
        scaling = {
            "autoscaling_config": {
                "min_replicas": options.replicas,
                "max_replicas": options.max_replicas,
                "target_ongoing_requests": 32,
            }
        }
    deploy: Any = serve.deployment(
        name="zoo",
        # What waits in the proxy instead of the replica is offered by Ray again and
        # again, with pauses, which costs much of the throughput.
        max_ongoing_requests=QUEUE + RUNNING,
        max_queued_requests=QUEUE,
        backpressure_config={"status_code": 429},
        graceful_shutdown_timeout_s=options.timeout,
        graceful_shutdown_wait_loop_s=0.2,
        max_constructor_retry_count=3,
        logging_config={"enable_access_log": False},
        **scaling,
    )
    return deploy(Replica).bind(options.models)


class Replica:
    """Models in a process of their own, behind Ray's proxies."""

    def __init__(self, folders: dict[str, str]) -> None:
        warnings.simplefilter("ignore", UserWarning)  # of each text that is cut
        logging.basicConfig(format="%(name)s: %(message)s", level=logging.WARNING)
        with contextlib.suppress(ImportError), quiet_start():  # before a client waits
            import tensorflow_serving.apis.predict_pb2  # noqa: F401
        self._models = {name: ServedModel(name, path) for name, path in folders.items()}

    async def _run(self, request: Request) -> Any:
        """Runs a request with others that wait."""
        result: Any = await self._batch(request)
        if isinstance(result, ServingError):
            raise result
        return result

    @serve.batch(
        max_batch_size=MAX_ROWS,
        batch_wait_timeout_s=0.01,
        batch_size_fn=lambda requests: sum(request.rows for request in requests),
    )
    async def _batch(self, requests: list[Request]) -> list[Any]:
        """Ray's batching: called with a request each, it runs with a list of them."""
        return await asyncio.to_thread(run_together, requests)

    async def __call__(self, request: HTTPRequest) -> JSONResponse:
        """Answers a request of the REST API."""
        body = bytearray()
        async for part in request.stream():
            if len(body) <= MAX_REQUEST_BYTES:  # read to its end, for the answer's sake
                body += part
        if len(body) > MAX_REQUEST_BYTES:
            text = f"a body may have {MAX_REQUEST_BYTES:,} bytes, received more"
            return JSONResponse({"error": text}, 400)
        place = request.method, request.url.path
        status, answer = await answer_rest(self._models, self._run, *place, bytes(body))
        return JSONResponse(answer, status)

    async def Predict(self, data: bytes, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a PredictRequest."""
        try:
            return await answer_grpc(self._models, self._run, data)
        except ServingError as error:
            grpc_context.set_code(getattr(grpc.StatusCode, error.code))
            # It becomes a header, of which clients take 8 KiB.
            grpc_context.set_details(error.details[:500])
        return Empty()
