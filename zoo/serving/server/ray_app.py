"""The Ray Serve application: a deployment whose replicas serve exported models."""

import asyncio
import contextlib
import logging
import warnings
from collections.abc import Mapping
from typing import Any

import grpc
from ray import serve
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse

from zoo.serving.server.model_versions import open_models, watch
from zoo.serving.server.prediction import (
    answer_grpc,
    check_size,
    cut_details,
    message,
)
from zoo.serving.server.rest import answer_rest
from zoo.serving.server.server_options import deployment_options, read_options
from zoo.serving.server.signatures import Refusal, Request, Rows, joined, run_together


class Replica:
    """Models in a process of their own, behind Ray's proxies; see `OPTIONS`."""

    def __init__(
        self,
        models: Mapping[str, str],
        threads: int,
        batch_size: int,
        wait: float,
    ) -> None:
        _set_up_logging()
        batch: Any = self._batch
        batch.set_max_batch_size(batch_size)
        batch.set_batch_wait_timeout_s(wait)
        self._batch_size = batch_size
        with contextlib.suppress(Refusal):
            message("PredictRequest")  # imports TensorFlow, before a client waits
        self._models = open_models(models, self._run, threads)
        watch(self._models.values())  # as long as the process lives

    async def _run(self, request: Request) -> Rows:
        """Runs a request with others that wait."""
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
    async def Predict(self, data: bytes | int, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a PredictRequest."""
        return await self._answer("Predict", data, grpc_context)

    async def GetModelMetadata(self, data: bytes | int, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a GetModelMetadataRequest."""
        return await self._answer("GetModelMetadata", data, grpc_context)

    async def GetModelStatus(self, data: bytes | int, grpc_context: Any) -> Any:  # noqa: N802
        """Answers a GetModelStatusRequest."""
        return await self._answer("GetModelStatus", data, grpc_context)

    async def _answer(self, method, data, context):
        try:
            if isinstance(data, int):  # the size of what the proxy kept
                check_size(data)
            return await answer_grpc(self._models, method, data)
        except Refusal as refusal:
            context.set_code(getattr(grpc.StatusCode, refusal.code))
            context.set_details(cut_details(str(refusal)))
            return _Nothing()


class _Nothing:
    """The message beside an error."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        return b""


def _set_up_logging():
    """Makes the process log what it loads, and no warning of each text."""
    warnings.simplefilter("ignore", UserWarning)  # of each text that is cut
    logging.basicConfig(format="%(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("zoo.serving.server").setLevel(logging.INFO)


def build(args: Mapping[str, Any]) -> serve.Application:
    """Returns the application, as the `import_path` of a Serve config may name it.

    Args:
        args: see `zoo.serving.server.server_options.read_options`.
    """
    options = read_options(args)
    deploy: Any = serve.deployment(name="zoo", **deployment_options(options))
    names = "models", "threads", "batch_size", "wait"
    return deploy(Replica).bind(**{name: options[name] for name in names})
