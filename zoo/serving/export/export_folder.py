"""The folder of an exported model, and the packages needed for serving."""

import contextlib
import importlib
import importlib.util
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zoo.files import StrPath, lock
from zoo.serving.protocol import INSTALL, SIGNATURES

EXTRA = "assets.extra"  # where TensorFlow Serving looks for its own files
METADATA = "zoo.json"
# Format -> a file that its versions have.
_FILES = {"savedmodel": "saved_model.pb", "onnx": "*.onnx"}
_PART = ".export-"  # prefix of an unfinished export's folder
_YOUNG = 3600  # seconds; no export takes longer


def versions(path: StrPath) -> list[int]:
    """Returns the versions in a served model's folder, in ascending order."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
        return sorted(int(name) for name in names if name.isdecimal())
    return []


def write_version(path: StrPath, form: str, write: Callable[[Path], object]) -> Path:
    """Writes the next version of an exported model.

    The folder appears under its name when it is complete, so that a server that watches
    `path` never sees half a model.

    Args:
        path: the model's folder, created if missing.
        form: the format, "savedmodel" or "onnx".
        write: function that writes the version into the empty folder that it is given.

    Returns:
        The version's folder, `path/N`: N is 1, or one more than the highest version.

    Raises:
        ValueError: if the newest version is of another format.
    """
    path = Path(path)
    for before in versions(path)[-1:]:
        for other, pattern in _FILES.items():
            found = sorted((path / str(before)).glob(pattern))
            if found and other != form:
                raise ValueError(
                    "The versions in a folder must be of one format. Received: "
                    f"{path}, whose version {before} has {found[0].name}"
                )
    path.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    # The model server only loads folders whose name is a number.
    part = Path(tempfile.mkdtemp(prefix=_PART, dir=path))
    descriptor = lock(part)
    try:
        write(part)
        part.chmod(0o755)  # the server may be another user
        return _publish(part, path)
    finally:
        os.close(descriptor)
        shutil.rmtree(part, ignore_errors=True)


def _remove_leftovers(path):
    """Removes the folders of exports that were killed.

    A running export holds a lock on its folder, which is young if there are no locks.
    """
    for part in path.glob(f"{_PART}*"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _YOUNG:
                os.close(lock(part))
                shutil.rmtree(part)


def _publish(part, path):
    """Renames a finished folder to its version."""
    while True:
        # Files count too, since their names are taken.
        taken = [int(item.name) for item in path.iterdir() if item.name.isdecimal()]
        folder = path / str(max(taken, default=0) + 1)
        try:
            return part.rename(folder)
        except OSError:  # another export was faster
            if not folder.exists():
                raise


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


def check_task(task: Any, what: str, use: str) -> None:
    """Raises an error for what is no task, or has no preprocessor."""
    if getattr(task, "task_name", None) not in SIGNATURES:
        raise TypeError(
            f"{what} must be a Translator, RecurrentCausalLM, BiRNNTagger, "
            "SentimentClassifier or ShowAttendTellCaptioner of zoo.models. "
            f"Received: {type(task).__name__}"
        )
    from zoo.text.translation_arrays import needed_preprocessor  # it imports NumPy

    needed_preprocessor(task, use)


def describe_task(
    task: Any,
    name: str,
    preset: str | None,
    quantize: str | None,
    packages: Sequence[str],
) -> dict[str, Any]:
    """Returns what both formats say of a task; `packages` wrote it, among others."""
    return {
        "name": name,
        "preset": preset,
        "task": task.task_name,
        "architecture": type(task).__name__,
        "parameters": task.count_params(),
        "quantize": quantize,
        "packages": package_versions(packages),
    }


def package_versions(packages: Sequence[str]) -> dict[str, str]:
    """Returns the versions of zoo, Keras, TensorFlow and further packages."""
    modules = map(importlib.import_module, ("zoo", "keras", "tensorflow", *packages))
    return {m.__name__.replace("_", "-"): m.__version__ for m in modules}


# === What an export needs ===
def require_tensorflow() -> None:
    """Raises an `ImportError` that names the extra if TensorFlow is missing."""
    _require("export needs {}", "tensorflow", "tensorflow_text")


def require_onnx() -> None:
    """Raises an `ImportError` that names the extra if a package for ONNX is missing."""
    packages = "tensorflow", "tf2onnx", "onnx", "onnxruntime"
    _require("an export to ONNX needs {}", *packages, extra="onnx")


def require_serving_api() -> None:
    """Raises an `ImportError` if tensorflow-serving-api is missing."""
    use = (
        "warm-up requests, the server's files and the client need "
        "tensorflow-serving-api"
    )
    without = ". To export without them, use warmup=False, or --no-warmup"
    _require(use, "tensorflow_serving", more=without)


def _require(use, *packages, extra="serving", more=""):
    for name in packages:
        if importlib.util.find_spec(name) is None:
            install = INSTALL.replace("serving", extra)
            raise ImportError(f"{use.format(name)}: {install}{more}", name=name)


def require_backend(what: str, command: str) -> None:
    """Raises a `RuntimeError`, which names a command, under another backend."""
    import keras

    if (found := keras.backend.backend()) != "tensorflow":
        raise RuntimeError(
            f"{what} written under the TensorFlow backend. Save the model with "
            f"save_to_preset and run {command}, which selects it itself. "
            f"Received: KERAS_BACKEND={found}"
        )
