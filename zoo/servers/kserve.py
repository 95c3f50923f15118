"""Serves exported models by KServe's Python server.

    python -m zoo.servers.kserve luong_local=exports/onnx/luong_local

It has the REST API of TensorFlow's model server, and the Open Inference Protocol (v2)
over REST and gRPC. Folders of ONNX graphs need kserve, onnxruntime, sentencepiece,
lazy-loader and NumPy; SavedModels need TensorFlow and tensorflow_text as well.
"""

import argparse
import contextlib
import functools
import logging
import os
import warnings
from collections.abc import Mapping, Sequence

# First, since importing kserve parses the arguments of the process.
from zoo.servers.kserve_models import FolderRepository, OpenModel, Refused  # isort: skip

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
from zoo.servers.models import ServedModel, watch
from zoo.servers.rest import RESTAPI, STATUSES
from zoo.servers.signatures import load_version


def main(argv: Sequence[str] | None = None) -> None:
    """Serves models until the process is stopped.

    Args:
        argv: the arguments. Default: those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m zoo.servers.kserve", description=__doc__.splitlines()[0]
    )
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER", type=_pair)
    for name, (default, text) in _OPTIONS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(default),
            default=default,
            help=f"{text} (default {default})",
        )
    given = vars(parser.parse_args(argv))
    warnings.simplefilter("ignore", UserWarning)  # of each text that is cut
    logging.basicConfig(format="%(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("zoo.servers").setLevel(logging.INFO)
    pairs, port, rest_port = (given.pop(x) for x in ("models", "port", "rest_port"))
    load = functools.partial(load_version, threads=given.pop("threads"))
    batcher = Batcher(**given)
    models = {name: ServedModel(name, path, batcher, load) for name, path in pairs}
    for model in models.values():
        model.refresh()
        if not model.versions:
            why = model.failures() or f"there is no version in {model.folder}"
            parser.error(f"{model.name} cannot be served: {why}")
    end = watch(models.values())
    _serve(models, port, rest_port, batcher.timeout)
    end()
    if not batcher.close(seconds=1.0):
        # What still runs is for nobody, and aborts a process that ends meanwhile.
        logging.shutdown()
        os._exit(0)


_OPTIONS = {
    "port": (8500, "gRPC"),
    "rest_port": (8501, "REST"),
    "threads": (1, "threads per operation"),
    "workers": (max(1, usable_cores() - 1), "batches that run at a time"),
    "batch_size": (64, "texts that run together; 1: each request on its own"),
    "queue": (1024, "texts that may wait; further requests are refused"),
    "wait": (0.0, "seconds that an idle worker waits for more texts"),
    "timeout": (30.0, "seconds until a request is answered or given up"),
}


def _pair(text):
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(f"expected NAME=FOLDER, received {text!r}")
    return name, folder


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
