"""The Ray Serve application: a deployment whose replicas serve exported models."""

from collections.abc import Mapping
from typing import Any

import grpc
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse

from zoo.servers.batching import Batcher, Refusal
from zoo.servers.models import open_models, watch
from zoo.servers.options import set_up_logging
from zoo.servers.prediction import PredictionAPI, check_size, cut_details
from zoo.servers.ray_options import (
    deployment_options,
    read_options,
    replica_arguments,
)
from zoo.servers.rest import RESTAPI


class Replica:
    """Models in a process of their own, behind Ray's proxies.

    Args:
        models: name -> folder of versions.
        threads: threads of one operation.
        batching: further arguments of `Batcher`.

    Raises:
        ValueError: if no version of a model can be loaded.
    """

    def __init__(
        self, models: Mapping[str, str], threads: int = 1, **batching: Any
    ) -> None:
        set_up_logging()
        self._batcher = Batcher(**batching)
        served = open_models(models, self._batcher, threads)
        self._rest, self._grpc = RESTAPI(served), PredictionAPI(served)
        watch(served.values())  # as long as the process lives

    def check_health(self) -> None:
        """Raises a RuntimeError when nothing runs requests any more."""
        if not self._batcher.alive:
            raise RuntimeError("a thread that runs requests has ended")

    # === REST ===
    async def __call__(self, request: Request) -> JSONResponse:
        """Answers a request of the REST API."""
        body = await request.body()
        status, answer = await self._rest.answer(request.method, request.url.path, body)
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
            return await self._grpc.answer(method, data)
        except Refusal as refusal:
            context.set_code(getattr(grpc.StatusCode, refusal.code))
            context.set_details(cut_details(str(refusal)))
            return _Nothing()


class _Nothing:
    """The message beside an error."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        return b""


def build(args: Mapping[str, Any]) -> serve.Application:
    """Returns the application, as the `import_path` of a Serve config may name it.

    Args:
        args: see `zoo.servers.ray_options.read_options`.

    Raises:
        ValueError: for arguments that are not the application's.
    """
    options = read_options(args)
    deploy: Any = serve.deployment(name="zoo", **deployment_options(options))
    return deploy(Replica).bind(**replica_arguments(options))
