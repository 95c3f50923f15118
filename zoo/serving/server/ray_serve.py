"""Serves ONNX exports by Ray Serve on this machine.

    python -m zoo.serving.server.ray_serve luong_local=exports/onnx/luong_local

It has TensorFlow Serving's REST API, and its gRPC API where tensorflow-serving-api is
installed. It needs ray[serve-grpc], onnxruntime, sentencepiece, regex, lazy-loader and
NumPy.
"""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from zoo.backend import usable_cores
from zoo.serving.export.manifest import versions
from zoo.serving.protocol import MAX_ANSWER_BYTES

NAME = "zoo"  # of the application
SERVICE = "tensorflow.serving.PredictionService"
# Read by Ray's processes when they start; on a cluster they are set by who starts it.
# Ray has one limit for requests and answers: that of the largest answer, alignments,
# which a client takes. Requests of more than 8 MiB are refused.
ENVIRONMENT = {
    "RAY_SERVE_GRPC_MAX_MESSAGE_SIZE": str(MAX_ANSWER_BYTES),
    "RAY_USAGE_STATS_ENABLED": "0",
}


def add_services(servicer: Any, server: Any) -> None:
    """Adds the gRPC service to a server, as protoc's functions of this kind do.

    Ray's proxies call it. Messages stay bytes, so that they need not import TensorFlow.
    """
    import grpc

    method = grpc.unary_unary_rpc_method_handler(servicer.Predict)
    handler = grpc.method_handlers_generic_handler(SERVICE, {"Predict": method})
    server.add_generic_rpc_handlers((handler,))


def main(argv: Sequence[str] | None = None) -> None:
    """Serves models until the process is stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m zoo.serving.server.ray_serve",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("models", nargs="+", metavar="NAME=FOLDER", type=_pair, help="the models")
    add("--port", type=int, default=8500, help="gRPC port, on all interfaces")
    add("--rest-port", type=int, default=8501, help="REST port")
    add("--host", default="127.0.0.1", help="REST's address")
    add("--replicas", type=int, default=1, help="processes that serve")
    add("--max-replicas", type=int, help="scales up to so many by the load")
    add("--timeout", type=float, default=30.0, help="seconds of a request")
    given = vars(parser.parse_args(argv))
    place = {name: given.pop(name) for name in ("host", "port", "rest_port")}
    os.environ.update({**ENVIRONMENT, **os.environ})
    from zoo.serving.server.ray_app import Options, build

    try:
        options = Options(**{**given, "models": dict(given["models"])})
        application = build(options)
    except ValueError as error:  # pydantic's
        parser.error(str(error))
    _serve(application, options, **place)


def _pair(text):
    name, _, folder = text.partition("=")
    if not name or not versions(folder):
        text = f"expected NAME=FOLDER with a version in it, received {text!r}"
        raise argparse.ArgumentTypeError(text)
    return name, folder


def _serve(application, options, host, port, rest_port):
    """Runs the application until a signal stops the process."""
    import ray
    from ray import serve

    # So many processors that no replica waits for one that isn't there.
    cores = max(usable_cores(), options.max_replicas or options.replicas)
    ray.init(
        address="local",
        num_cpus=cores,
        include_dashboard=False,
        object_store_memory=2**28,
        logging_level=logging.WARNING,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ray's is too slow
    timeout = {"request_timeout_s": options.timeout}
    serve.start(
        http_options={"host": host, "port": rest_port, **timeout},
        grpc_options={
            "port": port,
            "grpc_servicer_functions": ["zoo.serving.server.ray_serve.add_services"],
            "enable_reflection": False,  # of messages that only replicas know
            **timeout,
        },
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
    )
    try:
        serve.run(application, name=NAME, route_prefix="/")
        ports = sorted({node["MetricsExportPort"] for node in ray.nodes()})
        print(f"ready; metrics at the ports {ports}", file=sys.stderr, flush=True)
        signal.pause()
    except KeyboardInterrupt:  # stopped
        pass
    except RuntimeError as error:
        found = serve.status().applications[NAME].deployments.values()
        raise SystemExit("\n".join([str(error), *(d.message for d in found)])) from None
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):  # not to be interrupted
            signal.signal(number, signal.SIG_IGN)
        serve.shutdown()
        ray.shutdown()


if __name__ == "__main__":
    main()
