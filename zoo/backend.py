"""Keras's backends, and which one is configured, without importing Keras."""

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Tensor = Any  # of whichever backend runs, or a NumPy array
Shape = tuple[Any, ...]  # ints, None where a size is not known

BACKENDS = ("tensorflow", "jax", "torch")
MODES = ("auto", "none", "data")  # of distributing over devices


def usable_cores() -> int:
    """Returns how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def configured_backend() -> str:
    """Returns the name of Keras's backend: the active one, or the one it would use."""
    if "keras" in sys.modules:
        return sys.modules["keras"].config.backend()
    if chosen := os.environ.get("KERAS_BACKEND"):
        return chosen
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        config = json.loads((home / "keras.json").read_text(encoding="utf-8"))
        return config.get("backend", "tensorflow")
    except (OSError, ValueError):
        return "tensorflow"


def check_backend() -> None:
    """Rejects a backend that zoo does not support or that is not installed.

    Raises:
        ImportError: the message lists the supported backends.
    """
    name = configured_backend()
    if name not in BACKENDS:
        reason = f"zoo does not run on the backend {name!r}"
    elif not sys.modules.get(name) and importlib.util.find_spec(name) is None:
        reason = f"the backend {name} is not installed"
    else:
        return
    raise ImportError(
        f"{reason}; choose one of {', '.join(BACKENDS)} with the environment variable "
        "KERAS_BACKEND (or a command's --backend)"
    )


@contextlib.contextmanager
def without_tensorflow() -> Iterator[None]:
    """Stops KerasHub from importing TensorFlow, which it does wherever it can.

    Under other backends KerasHub works without it and starts faster. Does nothing if
    TensorFlow is the backend or is already imported; it can still be imported later.
    """
    if configured_backend() == "tensorflow" or "tensorflow" in sys.modules:
        yield
        return
    # None makes Python raise ModuleNotFoundError on import.
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["tensorflow"]
