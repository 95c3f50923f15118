"""The folder of an exported model, and the packages needed for serving."""

import contextlib
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from zoo.files import StrPath

EXTRA = "assets.extra"  # where TensorFlow Serving looks for its own files
METADATA = "zoo.json"
# Task, as in cards -> the arguments of `zoo.serving.Limits` that it has.
TAKES = {
    "translate": (
        "max_source_length",
        "max_length",
        "beam_size",
        "length_penalty",
        "coverage_penalty",
        "n_best",
    ),
    "generate": ("max_source_length", "max_length"),
    "tag": ("max_source_length",),
    "classify": ("max_source_length",),
}
INSTALL = 'pip install "attention-zoo[serving]"'


def versions(path: StrPath) -> list[int]:
    """Returns the versions in a served model's folder, in ascending order."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
        return sorted(int(name) for name in names if name.isdecimal())
    return []


def read_metadata(path: StrPath) -> dict[str, Any]:
    """Reads the metadata of an exported version.

    Args:
        path: the version's folder, such as `exports/luong_local/1`.

    Returns:
        `name`, `task`, `architecture`, `limits`, `signatures` (the inputs of each), and
        the versions of the packages that wrote it.

    Raises:
        ValueError: if it was not written by zoo.
    """
    file = Path(path) / EXTRA / METADATA
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} should be a version of a model that zoo exported, with {EXTRA}/"
            f"{METADATA} in it: {error}"
        ) from None


def require_tensorflow() -> None:
    """Raises an `ImportError` that names the extra if TensorFlow is missing."""
    for name in ("tensorflow", "tensorflow_text"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(f"export needs {name}: {INSTALL}", name=name)


def require_serving_api() -> None:
    """Raises an `ImportError` if tensorflow-serving-api is missing."""
    if importlib.util.find_spec("tensorflow_serving") is None:
        raise ImportError(
            f"warm-up requests, the server's files and the client need "
            f"tensorflow-serving-api: {INSTALL}. To export without them, use "
            "warmup=False, or --no-warmup",
            name="tensorflow_serving",
        )
