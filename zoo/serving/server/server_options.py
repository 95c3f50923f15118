"""The command of Ray's server: its options, and the deployment that they make."""

import argparse
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zoo.checks import above_zero, positive, zero_or_above
from zoo.files import StrPath

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
_CHECKS = {
    **dict.fromkeys(("threads", "batch_size", "queue"), positive),
    **dict.fromkeys(("timeout", "target_ongoing_requests"), above_zero),
    "wait": zero_or_above,
}
_REPLICAS = ("replicas", "min_replicas", "max_replicas")


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
            or numbers of replicas that don't fit; see `read_replicas`.
    """
    options: dict[str, Any] = {
        name: None if isinstance(default, type) else default
        for name, (default, _) in OPTIONS.items()
    }
    if unknown := sorted(set(args) - {"models", *options}):
        raise ValueError(
            f"The arguments are models, {', '.join(options)}. Received: "
            f"{', '.join(unknown)}"
        )
    options["models"] = None
    options.update((key, value) for key, value in args.items() if value is not None)
    if not isinstance(options["models"], Mapping) or not options["models"]:
        raise ValueError(
            f"models must be name -> folder. Received: {options['models']!r}"
        )
    for name, check in _CHECKS.items():
        options[name] = check(name, options[name])
    return {**options, **read_replicas(*(options[name] for name in _REPLICAS))}


def read_replicas(
    replicas: int | None, min_replicas: int | None, max_replicas: int | None
) -> dict[str, int | None]:
    """Returns the options of these names, with their defaults: 1 replica, or from 1 on.

    Raises:
        ValueError: for both `replicas` and autoscaling, a minimum without a maximum or
            above it, or anything but positive integers.
    """
    given = dict(zip(_REPLICAS, (replicas, min_replicas, max_replicas), strict=True))
    for name, value in given.items():
        if value is not None:
            positive(name, value)
    if min_replicas is None and max_replicas is None:
        return {**given, "replicas": replicas or 1}
    least = min_replicas or 1
    if replicas is not None or max_replicas is None or max_replicas < least:
        found = ", ".join(f"{name}={value}" for name, value in given.items())
        raise ValueError(
            "Expected replicas alone, or max_replicas with a min_replicas (default 1) "
            f"that is not above it. Received: {found}"
        )
    return {**given, "min_replicas": least}


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
    scaling = {
        "min_replicas": options["min_replicas"],
        "max_replicas": options["max_replicas"],
        "target_ongoing_requests": options["target_ongoing_requests"],
    }
    return {**chosen, "autoscaling_config": scaling}


def replica_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a replica for options as read."""
    chosen = {name: options[name] for name in ("threads", "batch_size", "wait")}
    return {"models": dict(options["models"]), **chosen}


def most_processors(options: Mapping[str, Any]) -> int:
    """Returns how many processors all replicas have, at most."""
    return (options["max_replicas"] or options["replicas"]) * options["threads"]


def ray_command(
    folder: StrPath, names: Iterable[str], batching: bool = True, **options: Any
) -> list[str]:
    """Returns the command that starts Ray's server.

    Args:
        folder: the folder with the models' folders.
        names: the models.
        batching: whether requests are batched.
        **options: options of `python -m zoo.serving.server.ray_serve`; None is left
        out.

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
