"""The backends, and which one Keras is configured for, without importing Keras."""

import contextlib
import importlib.util
import json
import os
import sys
from pathlib import Path

BACKENDS = ("tensorflow", "jax", "torch")
MODES = ("auto", "none", "data")  # of distribution over devices


def configured_backend():
    """The name of Keras's backend: the one that runs, or would run once imported."""
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


def check_backend():
    """Refuses a backend that zoo does not run on, or that is not installed.

    Raises:
        ImportError: naming the backends to choose from.
    """
    name = configured_backend()
    if name not in BACKENDS:
        reason = f"zoo does not run on the backend {name!r}"
    elif not sys.modules.get(name) and importlib.util.find_spec(name) is None:
        reason = f"the backend {name} is not installed"
    else:
        return
    raise ImportError(
        f"{reason}; choose one of {', '.join(BACKENDS)} by the environment variable "
        "KERAS_BACKEND (or a command's --backend)"
    )


@contextlib.contextmanager
def without_tensorflow():
    """Keeps KerasHub from importing TensorFlow, as it does wherever that is installed:
    under other backends it works without, and starts faster.

    Does nothing under TensorFlow's backend, or where somebody has imported it already.
    Whoever imports it later finds it.
    """
    if configured_backend() == "tensorflow" or "tensorflow" in sys.modules:
        yield
        return
    sys.modules["tensorflow"] = None  # Python's sign that there is no such module
    try:
        yield
    finally:
        del sys.modules["tensorflow"]
