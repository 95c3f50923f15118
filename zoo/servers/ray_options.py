"""The options of Ray's server, and the deployment that they make."""

from collections.abc import Mapping
from typing import Any

from zoo.checks import above_zero, positive, zero_or_above
from zoo.servers.options import COMMON

# Option -> its default, or its type where there is none, and what it is.
OPTIONS = {
    "replicas": (int, "processes that serve, each of --threads processors (default 1)"),
    "min_replicas": (int, "minimum replicas, with autoscaling (default 1)"),
    "max_replicas": (int, "maximum replicas; turns autoscaling on"),
    "target_ongoing_requests": (
        32.0,
        "requests in progress per replica that autoscaling aims for",
    ),
}
_CHECKS = {
    **dict.fromkeys(("threads", "batch_size", "queue"), positive),
    **dict.fromkeys(("timeout", "target_ongoing_requests"), above_zero),
    "wait": zero_or_above,
}
_REPLICAS = ("replicas", "min_replicas", "max_replicas")
_BATCHING = ("batch_size", "queue", "wait", "timeout")


def read_options(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of an application, with their defaults.

    Args:
        args: "models", name -> folder of versions, and the options of
            `python -m zoo.servers.ray` but for addresses and ports, with "_" for "-";
            None stands for the default.

    Raises:
        ValueError: for other names, no models, values of another type or out of range,
            or numbers of replicas that don't fit; see `read_replicas`.
    """
    known = {**COMMON, **OPTIONS}
    options: dict[str, Any] = {
        name: None if isinstance(default, type) else default
        for name, (default, _) in known.items()
        if name not in ("port", "rest_port")
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
    # All that the replica's own queue takes: what waits in the proxy instead is offered
    # by Ray again and again, with pauses, which costs much of the throughput.
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
    chosen = {name: options[name] for name in ("threads", *_BATCHING)}
    return {"models": dict(options["models"]), **chosen}


def most_processors(options: Mapping[str, Any]) -> int:
    """Returns how many processors all replicas have, at most."""
    return (options["max_replicas"] or options["replicas"]) * options["threads"]
