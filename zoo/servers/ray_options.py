"""The options of Ray's server, and the deployment that they make."""

from collections.abc import Mapping
from typing import Any

from zoo.servers.options import COMMON

# Option -> its default, or its type where there is none, and what it is.
OPTIONS = {
    "replicas": (1, "processes that serve, each with --threads processors"),
    "min_replicas": (int, "instead of --replicas: as many as the load needs, from N"),
    "max_replicas": (int, "to N"),
    "target_ongoing_requests": (32.0, "of a replica, at which their number stays"),
}
_BATCHING = ("batch_size", "queue", "wait", "timeout")


def read_options(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of an application, with their defaults.

    Args:
        args: "models", name -> folder of versions, and the options of
            `python -m zoo.servers.ray` but for addresses and ports, with "_" for "-";
            None stands for the default.

    Raises:
        ValueError: for other names, no models, or numbers of replicas that don't fit.
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
    least, most = options["min_replicas"], options["max_replicas"]
    if least is None and most is None:
        least = most = options["replicas"]
    elif least is None:
        least = min(1, most)
    if most is None or not 1 <= least <= most:
        raise ValueError(
            "There must be at least 1 replica, and max_replicas must not be less than "
            f"min_replicas. Received: {least} to {most}"
        )
    return options


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
        "min_replicas": options["min_replicas"] or 1,
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
