"""Loads an exported model by the runtime of its format."""

from typing import Any

from zoo.files import StrPath
from zoo.runtime import litert, onnx
from zoo.serving.manifest import newest, read_manifest


def load(path: StrPath, threads: int = 1) -> Any:
    """Loads a model of `zoo export --format onnx` or `litert`.

    Args:
        path: see `zoo.runtime.onnx.load`.
        threads: threads that one operation may use.

    Returns:
        What `zoo.runtime.onnx.load` or `zoo.runtime.litert.load` returns.

    Raises:
        ValueError: see these.
        ImportError: without the format's runtime.

    Example:
        ```python
        translator = zoo.runtime.load("exports/litert/luong_local")
        translator.translate("A dog runs.")
        ```
    """
    form, _ = read_manifest(newest(path))
    return {"litert": litert, "onnx": onnx}[form].load(path, threads)
