"""Serves exported models by Ray Serve, on one machine or on a cluster.

    python -m zoo.servers.ray luong_local=exports/onnx/luong_local

It has TensorFlow Serving's gRPC API, and its REST API. Folders of ONNX graphs need
ray[serve-grpc], onnxruntime, sentencepiece, regex, lazy-loader and NumPy; SavedModels
need TensorFlow and tensorflow_text as well.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from zoo.backend import usable_cores
from zoo.servers.options import make_parser
from zoo.servers.ray_options import OPTIONS, most_processors, read_options
from zoo.serving.folder import versions
from zoo.serving.transport import MOST_BYTES

NAME = "zoo"  # of the application
# Read by Ray's processes when they start; on a cluster they are set by who starts it.
ENVIRONMENT = {
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "zoo.servers.ray_proxy.middlewares",
    "RAY_SERVE_GRPC_MAX_MESSAGE_SIZE": str(MOST_BYTES),
    "RAY_USAGE_STATS_ENABLED": "0",
}
_OBJECTS = 2**28  # bytes for Ray's objects, of which a server has none


def main(argv: Sequence[str] | None = None) -> None:
    """Serves models until the process is stopped.

    Args:
        argv: the arguments. Default: those of the process.
    """
    own = {
        "host": ("127.0.0.1", "REST's address, 0.0.0.0 for all; Ray's gRPC has all"),
        "address": ("local", "of a Ray cluster; local: one for this process alone"),
    }
    parser = make_parser("zoo.servers.ray", __doc__, {**OPTIONS, **own})
    given = vars(parser.parse_args(argv))
    given["models"] = folders = dict(given["models"])
    host, port, rest_port = (given.pop(x) for x in ("host", "port", "rest_port"))
    address = given.pop("address")
    for name, folder in folders.items():
        if not versions(folder):
            parser.error(f"{name} cannot be served: there is no version in {folder}")
    try:
        options = read_options(given)
    except ValueError as error:
        parser.error(str(error))
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    _serve(options, address, host, port, rest_port)


def _serve(
    options: dict[str, Any], address: str, host: str, port: int, rest_port: int
) -> None:
    """Runs the application until the process is stopped."""
    import ray
    from ray import serve

    from zoo.servers.ray_app import build

    local = address == "local"
    ray.init(
        address=address,
        # So many that no replica waits for a processor that isn't there.
        num_cpus=max(usable_cores(), most_processors(options)) if local else None,
        object_store_memory=_OBJECTS if local else None,
        include_dashboard=False if local else None,
        logging_level=logging.WARNING,
    )
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    timeout = options["timeout"]
    serve.start(
        http_options={
            "host": host,
            "port": rest_port,
            "request_timeout_s": timeout,
        },
        grpc_options={
            "port": port,
            "request_timeout_s": timeout,
            "grpc_servicer_functions": ["zoo.servers.ray_proxy.add_services"],
            "enable_reflection": False,  # of messages that only replicas know
        },
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
    )
    try:
        try:
            serve.run(build(options), name=NAME, route_prefix="/")
        except RuntimeError as error:
            found = serve.status().applications[NAME].deployments.values()
            raise SystemExit(
                "\n".join([str(error), *(d.message for d in found)])
            ) from None
        ports = {node["MetricsExportPort"] for node in ray.nodes() if node["Alive"]}
        print(
            f"ready; metrics at the ports {sorted(ports)}", file=sys.stderr, flush=True
        )
        while not stop.wait(1.0):
            pass
    finally:
        if local:
            serve.shutdown()
        else:
            serve.delete(NAME)
        ray.shutdown()


if __name__ == "__main__":
    main()
