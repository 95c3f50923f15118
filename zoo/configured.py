"""What Keras is configured to be, without importing it."""

import json
import os
import sys
from pathlib import Path


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
