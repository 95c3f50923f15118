"""Serves exported models by Ray Serve, on one machine or on a cluster.

    python -m zoo.serving.server.ray_serve luong_local=exports/onnx/luong_local

It has TensorFlow Serving's REST API, and its gRPC API where tensorflow-serving-api is
installed. Folders of ONNX graphs need ray[serve-grpc], onnxruntime, sentencepiece,
regex, lazy-loader and NumPy, captioners Pillow as well; SavedModels need TensorFlow and
tensorflow_text, too.
"""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from zoo.backend import usable_cores
from zoo.serving.export.export_folder import versions
from zoo.serving.protocol import MAX_ANSWER_BYTES
from zoo.serving.server.server_options import make_parser, read_options

NAME = "zoo"  # of the application
_SIGNALS = signal.SIGTERM, signal.SIGINT
# Read by Ray's processes when they start; on a cluster they are set by who starts it.
# Ray has one limit for requests and answers: that of the largest answer, alignments,
# which a client takes. The proxies pass on no request of more than 8 MiB.
ENVIRONMENT = {
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": (
        "zoo.serving.server.ray_proxy.middlewares"
    ),
    "RAY_SERVE_GRPC_MAX_MESSAGE_SIZE": str(MAX_ANSWER_BYTES),
    "RAY_USAGE_STATS_ENABLED": "0",
}
# Bytes of the memory through which Ray passes requests and answers of more than 100 KB:
# 32 of the largest requests at a time. Ray writes what has no room to the disk.
_OBJECTS = 2**28


def main(argv: Sequence[str] | None = None) -> None:
    """Serves models until the process is stopped."""
    parser = make_parser((__doc__ or "").partition("\n")[0])
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
    with contextlib.suppress(KeyboardInterrupt):  # the process is stopped
        _serve(options, address, host, port, rest_port)


def _serve(
    options: dict[str, Any], address: str, host: str, port: int, rest_port: int
) -> None:
    """Runs the application until a signal stops the process, by KeyboardInterrupt."""
    import ray
    from ray import serve

    from zoo.serving.server.ray_app import build

    local = address == "local"
    replicas = options["max_replicas"] or options["replicas"]
    ray.init(
        address=address,
        # So many that no replica waits for a processor that isn't there.
        num_cpus=max(usable_cores(), replicas * options["threads"]) if local else None,
        object_store_memory=_OBJECTS if local else None,
        include_dashboard=False if local else None,
        logging_level=logging.WARNING,
    )
    # Both raise KeyboardInterrupt, since `serve.run` may wait for processors forever.
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)
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
            "grpc_servicer_functions": ["zoo.serving.server.ray_proxy.add_services"],
            "enable_reflection": False,  # of messages that only replicas know
        },
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
    )
    if NAME in serve.status().applications:
        raise SystemExit(
            f"the cluster has an application {NAME} already: stop the command that "
            "serves it, or run `serve shutdown`"
        )
    try:
        try:
            serve.run(build(options), name=NAME, route_prefix="/")
        except RuntimeError as error:
            found = serve.status().applications.get(NAME)
            deployments = found.deployments.values() if found else ()
            raise SystemExit(
                "\n".join([str(error), *(d.message for d in deployments)])
            ) from None
        ports = {node["MetricsExportPort"] for node in ray.nodes() if node["Alive"]}
        print(
            f"ready; metrics at the ports {sorted(ports)}", file=sys.stderr, flush=True
        )
        while True:
            time.sleep(3600)
    finally:
        for number in _SIGNALS:  # the end is not to be interrupted
            signal.signal(number, signal.SIG_IGN)
        if local:
            serve.shutdown()
        else:
            serve.delete(NAME)
        ray.shutdown()


if __name__ == "__main__":
    main()
