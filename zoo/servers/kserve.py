"""Serves exported models by KServe's Python server.

    python -m zoo.servers.kserve luong_local=exports/onnx/luong_local

It has the REST API of TensorFlow's model server, and the Open Inference Protocol (v2)
over REST and gRPC. Folders of ONNX graphs need kserve, onnxruntime, sentencepiece,
regex, lazy-loader and NumPy, captioners Pillow as well; SavedModels need TensorFlow and
tensorflow_text, too.
"""

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence

# First, since importing kserve parses the arguments of the process.
from zoo.servers.kserve_models import (  # isort: skip
    FolderRepository,
    OpenModel,
    Refused,
    VersionPaths,
)

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from kserve import ModelServer
from kserve.metrics import PREDICT_HIST_TIME, get_labels
from kserve.model_server import app
from starlette.exceptions import HTTPException

from zoo.backend import usable_cores
from zoo.servers.batching import Batcher
from zoo.servers.bodies import BoundedBodies
from zoo.servers.models import ServedModel, open_models, watch
from zoo.servers.options import make_parser, set_up_logging
from zoo.servers.rest import RESTAPI, STATUSES


def main(argv: Sequence[str] | None = None) -> None:
    """Serves models until the process is stopped.

    Args:
        argv: the arguments. Default: those of the process.
    """
    parser = make_parser("zoo.servers.kserve", __doc__, {"workers": _WORKERS})
    given = vars(parser.parse_args(argv))
    set_up_logging()
    folders, port, rest_port = (given.pop(x) for x in ("models", "port", "rest_port"))
    threads, batcher = given.pop("threads"), Batcher(**given)
    try:
        models = open_models(dict(folders), batcher, threads)
    except ValueError as error:
        parser.error(str(error))
    end = watch(models.values())
    _serve(models, port, rest_port, batcher.timeout)
    end()
    if not batcher.close(seconds=1.0):
        # What still runs is for nobody, and aborts a process that ends meanwhile.
        logging.shutdown()
        os._exit(0)


_WORKERS = max(1, usable_cores() - 1), "batches that run at a time"


def _serve(
    models: Mapping[str, ServedModel], port: int, rest_port: int, timeout: float
) -> None:
    """Runs the server until it is stopped."""
    api = RESTAPI(models)

    async def v1(request: Request) -> JSONResponse:
        path = request.url.path
        name = path.split("/")[3].split(":")[0]
        timer = contextlib.nullcontext()
        if request.method == "POST" and name in models:
            timer = PREDICT_HIST_TIME.labels(**get_labels(name)).time()
        with timer:
            body = await request.body()
            status, answer = await api.answer(request.method, path, body)
        return JSONResponse(answer, status)

    # Before KServe's own, of which `GET /v1/models` stays.
    app.add_api_route("/v1/models/{path:path}", v1, methods=["GET", "POST"])
    app.add_middleware(VersionPaths)
    app.add_middleware(BoundedBodies, seconds=timeout)
    for kind in (Refused, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _error)
    server = ModelServer(
        http_port=rest_port, grpc_port=port, workers=1, enable_latency_logging=False
    )
    for noisy in ("kserve", "uvicorn.access"):  # a line or more for each request
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    server.model_repository_extension = FolderRepository(
        server.registered_models, models
    )
    server.start([OpenModel(model) for model in models.values()])


async def _error(_, error):
    """Answers a v2 request by an exception, in the form of the protocol."""
    if isinstance(error, Refused):
        return JSONResponse({"error": error.details}, STATUSES[error.code])
    if isinstance(error, HTTPException):
        return JSONResponse({"error": str(error.detail)}, error.status_code)
    return JSONResponse({"error": f"malformed request: {error}"}, 400)


if __name__ == "__main__":
    main()
