"""The folder of an exported model, and what an export needs."""

import contextlib
import importlib
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.serving.protocol import INSTALL, SIGNATURES

# Form of an export -> the extra and the packages that it needs.
_NEEDS = {
    "savedmodel": ("serving", ("tensorflow", "tensorflow_text")),
    "onnx": ("onnx", ("tensorflow", "tf2onnx", "onnx", "onnxruntime")),
}


def versions(path: StrPath) -> list[int]:
    """Returns the versions in a served model's folder, in ascending order."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
        return sorted(int(name) for name in names if name.isdecimal())
    return []


def write_version(path: StrPath, write: Callable[[Path], object]) -> Path:
    """Writes the next version of an exported model.

    The folder appears under its name when it is complete, so that a server that watches
    `path` never sees half a model.

    Args:
        path: the model's folder, created if missing.
        write: function that writes the version into the empty folder that it is given.

    Returns:
        The version's folder, `path/N`: N is 1, or one more than the highest version.
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    # The model server only loads folders whose name is a number.
    with tempfile.TemporaryDirectory(prefix=".export-", dir=path) as temporary:
        part = Path(temporary) / "part"
        part.mkdir()
        write(part)
        # Files count too, since their names are taken.
        taken = [int(item.name) for item in path.iterdir() if item.name.isdecimal()]
        return part.rename(path / str(max(taken, default=0) + 1))


def describe_task(task: Any, name: str, preset: str | None) -> dict[str, Any]:
    """Returns what both formats say of a task."""
    modules = map(importlib.import_module, ("zoo", "keras", "tensorflow"))
    return {
        "name": name,
        "preset": preset,
        "task": task.task_name,
        "architecture": type(task).__name__,
        "parameters": task.count_params(),
        "packages": {module.__name__: module.__version__ for module in modules},
    }


# === What an export needs ===
def check_export(task: Any, form: str) -> None:
    """Checks that a task can be exported, here.

    Raises:
        TypeError: for what is no task.
        ValueError: without a preprocessor.
        ImportError: if a package is missing; the message names the extra.
        RuntimeError: under another backend than TensorFlow.
    """
    from zoo.text.translation_arrays import needed_preprocessor  # with NumPy

    if getattr(task, "task_name", None) not in SIGNATURES:
        raise TypeError(
            f"An export takes a model of zoo.models for the tasks {[*SIGNATURES]}. "
            f"Received: {type(task).__name__}"
        )
    needed_preprocessor(task, "An export")
    require_packages(form)
    import keras

    if (found := keras.backend.backend()) != "tensorflow":
        raise RuntimeError(
            "Exports are written under the TensorFlow backend. Save the model with "
            f"save_to_preset and run `zoo export FOLDER --format {form}`, which "
            f"selects it itself. Received: KERAS_BACKEND={found}"
        )


def require_packages(form: str) -> None:
    """Raises an `ImportError`, which names the extra, if a form lacks a package."""
    extra, packages = _NEEDS[form]
    for name in packages:
        if importlib.util.find_spec(name) is None:
            install = INSTALL.replace("serving", extra)
            raise ImportError(f"zoo export needs {name}: {install}", name=name)
