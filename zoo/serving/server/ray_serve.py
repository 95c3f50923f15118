"""Serves exported models by Ray Serve, on one machine or on a cluster.

    python -m zoo.serving.server.ray_serve luong_local=exports/onnx/luong_local

It has TensorFlow Serving's REST API, and its gRPC API where tensorflow-serving-api is
installed. Folders of ONNX graphs need ray[serve-grpc], onnxruntime, sentencepiece,
regex, lazy-loader and NumPy, captioners Pillow as well; SavedModels need TensorFlow and
tensorflow_text, too.
"""

import argparse
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from zoo.backend import usable_cores
from zoo.serving.export.export_folder import versions
from zoo.serving.protocol import MAX_ANSWER_BYTES

NAME = "zoo"  # of the application
# Read by Ray's processes when they start; on a cluster they are set by who starts it.
# Ray has one limit for requests and answers: that of the largest answer, alignments,
# which a client takes. Requests of more than 8 MiB are refused.
ENVIRONMENT = {
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": (
        "zoo.serving.server.ray_proxy.middlewares"
    ),
    "RAY_SERVE_GRPC_MAX_MESSAGE_SIZE": str(MAX_ANSWER_BYTES),
    "RAY_USAGE_STATS_ENABLED": "0",
}
_SIGNALS = signal.SIGTERM, signal.SIGINT


def main(argv: Sequence[str] | None = None) -> None:
    """Serves models until the process is stopped."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from pydantic import ValidationError

    from zoo.serving.server.ray_app import Options, build

    parser = make_parser(Options)
    given = vars(parser.parse_args(argv))
    place = {name: given.pop(name) for name in ("address", "host", "port", "rest_port")}
    given["models"] = dict(given["models"])
    for name, folder in given["models"].items():
        if not versions(folder):
            parser.error(f"{name} cannot be served: there is no version in {folder}")
    try:
        options = Options(**given)
        application = build(options)
    except ValidationError as error:
        # An error of several options together has no place.
        wrong = [": ".join([*map(str, x["loc"][:1]), x["msg"]]) for x in error.errors()]
        parser.error("; ".join(wrong))
    with contextlib.suppress(KeyboardInterrupt):  # the process is stopped
        _serve(application, options, **place)


def make_parser(options: Any) -> argparse.ArgumentParser:
    """Returns the parser of the command, `NAME=FOLDER ...` and its options."""
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
    add("--address", default="local", help="of a cluster; local: one for this process")
    for name, field in options.model_fields.items():  # `Options` checks their values
        if name != "models":
            flags = [f"--{name.replace('_', '-')}"]
            flags += ["--min-replicas"] if name == "replicas" else []
            add(*flags, default=field.default, help=field.description)
    return parser


def _pair(text):
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(f"expected NAME=FOLDER, received {text!r}")
    return name, folder


def _serve(application, options, address, host, port, rest_port):
    """Runs the application until a signal stops the process, by KeyboardInterrupt."""
    import ray
    from ray import serve

    local: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 2**28}
    # So many that no replica waits for a processor that isn't there.
    replicas = options.max_replicas or options.replicas
    local["num_cpus"] = max(usable_cores(), replicas * options.threads)
    here = address == "local"
    ray.init(address=address, logging_level=logging.WARNING, **(local if here else {}))
    # Both raise KeyboardInterrupt, since `serve.run` may wait for processors forever.
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)
    timeout = {"request_timeout_s": options.timeout}
    serve.start(
        http_options={"host": host, "port": rest_port, **timeout},
        grpc_options={
            "port": port,
            "grpc_servicer_functions": ["zoo.serving.server.ray_proxy.add_services"],
            "enable_reflection": False,  # of messages that only replicas know
            **timeout,
        },
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
    )
    if NAME in serve.status().applications:
        raise SystemExit(
            f"the cluster has an application {NAME} already: stop the command that "
            "serves it, or run `serve shutdown`"
        )
    try:
        serve.run(application, name=NAME, route_prefix="/")
        ports = {node["MetricsExportPort"] for node in ray.nodes() if node["Alive"]}
        text = f"ready; metrics at the ports {sorted(ports)}"
        print(text, file=sys.stderr, flush=True)
        signal.pause()
    except RuntimeError as error:
        found = serve.status().applications.get(NAME)
        deployments = found.deployments.values() if found else ()
        text = "\n".join([str(error), *(d.message for d in deployments)])
        raise SystemExit(text) from None
    finally:
        for number in _SIGNALS:  # the end is not to be interrupted
            signal.signal(number, signal.SIG_IGN)
        if here:
            serve.shutdown()
        else:
            serve.delete(NAME)
        ray.shutdown()


if __name__ == "__main__":
    main()
