"""The Ray Serve application: a deployment whose replicas serve exported models."""

import asyncio
import contextlib
import logging
import warnings
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pydantic import (
    AliasChoices,
    BaseModel,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
)
from ray import serve
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse

from zoo.backend import quiet_start
from zoo.serving.server.model_versions import open_models
from zoo.serving.server.rest import answer_rest
from zoo.serving.server.signatures import Refusal, Request, Rows, joined, run_together


class Options(BaseModel, extra="forbid"):
    """The options of the application: `args` in a Serve config."""

    models: dict[str, str] = Field(min_length=1, description="name -> folder")
    threads: PositiveInt = Field(1, description="threads per operation")
    batch_size: PositiveInt = Field(
        64, description="texts that run together; 1: each request on its own"
    )
    queue: PositiveInt = Field(
        256, description="requests that may wait in a replica; others are refused"
    )
    wait: NonNegativeFloat = Field(
        0.01, description="seconds that a batch waits for more texts"
    )
    timeout: PositiveFloat = Field(
        30.0, description="seconds until a request is answered or given up"
    )
    replicas: PositiveInt = Field(
        1,
        validation_alias=AliasChoices("replicas", "min_replicas"),
        description="processes that serve, each of --threads processors",
    )
    max_replicas: PositiveInt | None = Field(
        None, description="maximum replicas; turns autoscaling on, from --replicas up"
    )
    target_ongoing_requests: PositiveFloat = Field(
        32.0, description="requests per replica that autoscaling aims for"
    )


def build(options: Options) -> serve.Application:
    """Returns the application, as the `import_path` of a Serve config may name it."""
    scaling: dict[str, Any] = {"num_replicas": options.replicas}
    if options.max_replicas:
        scaling = {
            "autoscaling_config": {
                "min_replicas": options.replicas,
                "max_replicas": options.max_replicas,
                "target_ongoing_requests": options.target_ongoing_requests,
            }
        }
    deploy: Any = serve.deployment(
        name="zoo",
        # What waits in the proxy instead of the replica is offered by Ray again and
        # again, with pauses, which costs much of the throughput.
        max_ongoing_requests=options.queue + options.batch_size,
        max_queued_requests=options.queue,
        backpressure_config={"status_code": 429},
        ray_actor_options={"num_cpus": options.threads},
        graceful_shutdown_timeout_s=options.timeout,
        graceful_shutdown_wait_loop_s=0.2,
        max_constructor_retry_count=3,
        logging_config={"enable_access_log": False},
        **scaling,
    )
    return deploy(Replica).bind(options)


class Replica:
    """Models in a process of their own, behind Ray's proxies."""

    def __init__(self, options: Options) -> None:
        warnings.simplefilter("ignore", UserWarning)  # of each text that is cut
        logging.basicConfig(format="%(name)s: %(message)s", level=logging.WARNING)
        logging.getLogger("zoo.serving.server").setLevel(logging.INFO)
        with contextlib.suppress(ImportError), quiet_start():  # before a client waits
            import zoo.serving.server.prediction  # noqa: F401
        batch: Any = self._batch
        batch.set_max_batch_size(options.batch_size)
        batch.set_batch_wait_timeout_s(options.wait)
        self._batch_size = options.batch_size
        self._models = open_models(options.models, self._run, options.threads)
        for model in self._models.values():
            model.watch()

    async def _run(self, request: Request) -> Rows:
        """Runs a request with others that wait: a large one in parts.

        What is left of one that is given up does not run.
        """
        parts = request.parts(self._batch_size)
        results = await asyncio.gather(*map(self._batch, parts))
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results[0] if len(results) == 1 else joined(results)

    @serve.batch(batch_size_fn=lambda requests: sum(max(r.rows(), 1) for r in requests))
    async def _batch(self, requests: list[Request]) -> list[Any]:
        """Ray's batching: called with a request each, it runs with a list of them."""
        return await asyncio.to_thread(run_together, requests)

    # === REST ===
    async def __call__(self, request: HTTPRequest) -> JSONResponse:
        """Answers a request of the REST API."""
        path, body = request.url.path, await request.body()
        status, answer = await answer_rest(self._models, request.method, path, body)
        return JSONResponse(answer, status)

    # === gRPC ===
    async def Predict(self, data: bytes, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a PredictRequest."""
        return await self._answer("Predict", data, grpc_context)

    async def GetModelMetadata(self, data: bytes, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a GetModelMetadataRequest."""
        return await self._answer("GetModelMetadata", data, grpc_context)

    async def GetModelStatus(self, data: bytes, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a GetModelStatusRequest."""
        return await self._answer("GetModelStatus", data, grpc_context)

    async def _answer(self, method, data, context):
        try:
            try:
                from zoo.serving.server.prediction import answer_grpc
            except ModuleNotFoundError as error:
                text = f'gRPC needs {error.name}: pip install "attention-zoo[ray]"'
                raise Refusal("UNIMPLEMENTED", text) from None
            return await answer_grpc(self._models, method, data)
        except Refusal as refusal:
            context.set_code(getattr(grpc.StatusCode, refusal.code))
            context.set_details(str(refusal))
            return Empty()
