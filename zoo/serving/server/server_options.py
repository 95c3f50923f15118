"""The options of Ray's server: of its command, of a Serve config, of `zoo serve`."""

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from zoo.checks import above_zero, positive, zero_or_above
from zoo.files import StrPath

MAX_REQUEST_BYTES = 8 * 2**20
_PACKAGES = "ray", "fastapi", "uvicorn", "grpc"  # without which it does not start
INSTALL = 'pip install "attention-zoo[ray]"'

# Option -> its default, or its type where there is none, and what it is.
OPTIONS = {
    "threads": (1, "threads per operation"),
    "batch_size": (64, "texts that run together; 1: each request on its own"),
    "queue": (256, "requests that may wait in a replica; further ones are refused"),
    "wait": (0.01, "seconds that a batch waits for more texts"),
    "timeout": (30.0, "seconds until a request is answered or given up"),
    "replicas": (int, "processes that serve, each of --threads processors (default 1)"),
    "min_replicas": (int, "minimum replicas, with autoscaling (default 1)"),
    "max_replicas": (int, "maximum replicas; turns autoscaling on"),
    "target_ongoing_requests": (
        32.0,
        "requests in progress per replica that autoscaling aims for",
    ),
}
# Those of the process that starts Ray.
_PLACE = {
    "port": (8500, "gRPC port"),
    "rest_port": (8501, "REST port"),
    "host": (
        "127.0.0.1",
        "REST's address; Ray's gRPC always listens on all interfaces",
    ),
    "address": ("local", "of a Ray cluster; local: one for this process alone"),
}
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(OPTIONS, positive),
    **dict.fromkeys(("timeout", "target_ongoing_requests"), above_zero),
    "wait": zero_or_above,
}


def make_parser(description: str) -> argparse.ArgumentParser:
    """Returns the parser of the command, `NAME=FOLDER ...` and its options."""
    parser = argparse.ArgumentParser(
        prog="python -m zoo.serving.server.ray_serve", description=description
    )
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER", type=_pair)
    for name, (default, text) in {**_PLACE, **OPTIONS}.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(default, type):
            parser.add_argument(flag, type=default, help=text)
        else:
            text = f"{text} (default {default})"
            parser.add_argument(flag, type=type(default), default=default, help=text)
    return parser


def _pair(text):
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(f"expected NAME=FOLDER, received {text!r}")
    return name, folder


def read_options(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of an application, with their defaults.

    Args:
        args: "models", name -> folder of versions, and the options of
            `python -m zoo.serving.server.ray_serve` but for addresses and ports, with
            "_" for "-"; None stands for the default.

    Raises:
        ValueError: for other names, no models, values of another type or out of range,
            or numbers of replicas that don't fit: both `replicas` and autoscaling, a
            minimum without a maximum or above it.
    """
    defaults = {
        name: None if isinstance(default, type) else default
        for name, (default, _) in OPTIONS.items()
    }
    if unknown := sorted(set(args) - {"models", *OPTIONS}):
        raise ValueError(
            f"The arguments are models, {', '.join(OPTIONS)}. Received: "
            f"{', '.join(unknown)}"
        )
    models = args.get("models")
    if not isinstance(models, Mapping) or not models:
        raise ValueError(f"models must be name -> folder. Received: {models!r}")
    given = {name: value for name, value in args.items() if value is not None}
    options = {**defaults, **given, "models": dict(models)}
    for name, check in _CHECKS.items():
        if options[name] is not None:
            check(name, options[name])
    number, least, most = (
        options[name] for name in ("replicas", "min_replicas", "max_replicas")
    )
    if least is most is None:
        return {**options, "replicas": number or 1}
    if number is not None or most is None or most < (least or 1):
        raise ValueError(
            "Expected replicas alone, or max_replicas with a min_replicas (default 1) "
            f"that is not above it. Received: replicas={number}, min_replicas={least}, "
            f"max_replicas={most}"
        )
    return {**options, "min_replicas": least or 1}


def deployment_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `ray.serve.deployment` for options as read."""
    # What waits in the proxy instead of the replica is offered by Ray again and again,
    # with pauses, which costs much of the throughput.
    chosen = {
        "max_ongoing_requests": options["queue"] + options["batch_size"],
        "max_queued_requests": options["queue"],
        "backpressure_config": {"status_code": 429},
        "ray_actor_options": {"num_cpus": options["threads"]},
        "graceful_shutdown_timeout_s": options["timeout"],
        "graceful_shutdown_wait_loop_s": 0.2,
        "max_constructor_retry_count": 3,
        "logging_config": {"enable_access_log": False},
    }
    if options["max_replicas"] is None:
        return {**chosen, "num_replicas": options["replicas"]}
    names = "min_replicas", "max_replicas", "target_ongoing_requests"
    return {**chosen, "autoscaling_config": {name: options[name] for name in names}}


def ray_command(
    folder: StrPath, names: Iterable[str], batching: bool = True, **options: Any
) -> list[str]:
    """Returns the command that starts Ray's server.

    Args:
        folder: the folder with the models' folders.
        names: the models.
        batching: whether requests are batched.
        **options: options of the command; None is left out.

    Raises:
        ImportError: without Ray's packages.
    """
    for package in _PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ImportError(f"Ray Serve needs {package}: {INSTALL}", name=package)
    folder = Path(folder).resolve()
    if not batching:
        options["batch_size"] = 1
    command = [sys.executable, "-m", "zoo.serving.server.ray_serve"]
    command += [f"{name}={folder / name}" for name in names]
    for name, value in options.items():
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    return command
