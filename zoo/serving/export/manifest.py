"""The folder of an exported model: its versions, their manifests, verified files.

Imports no Keras.
"""

import contextlib
import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from zoo.checks import need_packages, one_of
from zoo.files import StrPath

MANIFEST = "manifest.json"
TOKENIZER = "vocabulary.spm"
FORMAT, CTRANSLATE2, SAVEDMODEL = "zoo-onnx", "zoo-ctranslate2", "zoo-savedmodel"
FORMAT_VERSION = 1
GRAPH_TASKS = "translate", "tag", "classify"  # those that have ONNX graphs
# Form of an export -> the extra and the packages that it needs.
PACKAGES = {
    "savedmodel": ("serving", "tensorflow", "tensorflow_text"),
    "onnx": ("onnx", "tensorflow", "tf2onnx", "onnx", "onnxruntime"),
    "ctranslate2": ("ctranslate2", "ctranslate2"),
}


# === Versions ===
def versions(path: StrPath) -> list[int]:
    """Returns the versions in a served model's folder, in ascending order."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
        return sorted(int(name) for name in names if name.isdecimal())
    return []


def newest(path: StrPath) -> Path:
    """Returns the newest version in a model's folder, or a version's folder itself."""
    path = Path(path)
    if not (path / MANIFEST).is_file() and (numbers := versions(path)):
        return path / str(numbers[-1])
    return path


def write_version(path: StrPath, write: Callable[[Path], object]) -> Path:
    """Writes the next version of an exported model, `path/N`, and returns its folder.

    `write` fills an empty folder, which appears under its name when it is complete, so
    that a server that watches `path` never sees half a model. N is 1, or one more than
    the highest version.
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


# === What an export needs ===
def check_export(task: Any, form: str) -> None:
    """Raises an error of `export_savedmodel` for a task that cannot be exported."""
    # They import NumPy.
    from zoo.serving.protocol import SIGNATURES
    from zoo.text.translation_arrays import needed_preprocessor

    if getattr(task, "task_name", None) not in SIGNATURES:
        raise TypeError(
            f"An export takes a model of zoo.models for the tasks {[*SIGNATURES]}. "
            f"Received: {type(task).__name__}"
        )
    needed_preprocessor(task, "An export")
    need_packages("zoo export", *PACKAGES[form])
    import keras

    found = keras.backend.backend()
    if "tensorflow" in PACKAGES[form] and found != "tensorflow":
        raise RuntimeError(
            "Exports are written under the TensorFlow backend. Save the model with "
            f"save_to_preset and run `zoo export FOLDER --format {form}`, which "
            f"selects it itself. Received: KERAS_BACKEND={found}"
        )


def check_weights(task: Any, quantize: str | None) -> None:
    """Checks that an export can have these weights, quantized or not."""
    import keras

    one_of("quantize", quantize, (None, "int8"))
    dtypes = {keras.backend.standardize_dtype(v.dtype) for v in task.backbone.weights}
    if not dtypes <= {"float32"}:
        raise ValueError(
            "The exported model must be float32; `quantize` makes the export smaller. "
            f"Received: {sorted(dtypes)}"
        )


def translator_settings(task: Any) -> dict[str, Any]:
    """Returns the settings of a translator's preprocessor."""
    names = "source_length", "target_length", "source_end"
    return {name: getattr(task.preprocessor, name) for name in names}


def write_export(
    task: Any,
    form: str,
    path: StrPath,
    preset: str | None,
    write: Callable[[Path], Mapping[str, Any]],
) -> Path:
    """Writes the next version of a task's export, and returns its folder.

    `write` fills an empty folder, and returns what the manifest says of this format.
    """
    modules = map(importlib.import_module, ("zoo", "keras", PACKAGES[form][1]))
    described = {
        "name": Path(path).name,
        "preset": preset,
        "task": task.task_name,
        "architecture": type(task).__name__,
        "parameters": task.count_params(),
        "packages": {module.__name__: module.__version__ for module in modules},
    }

    def write_all(part):
        write_manifest(part, {**described, **write(part)}, f"zoo-{form}")

    return write_version(path, write_all)


# === Manifests ===
def write_manifest(
    folder: StrPath, described: Mapping[str, Any], form: str = FORMAT
) -> None:
    """Writes the manifest of a folder, with the digest of each of its files."""
    folder = Path(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {x.relative_to(folder).as_posix(): _digest(x.read_bytes()) for x in paths}
    manifest = {"format": form, "format_version": FORMAT_VERSION, **described}
    text = json.dumps({**manifest, "files": files}, indent=2, ensure_ascii=False)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def read_manifest(folder: StrPath, *forms: str) -> dict[str, Any]:
    """Reads the manifest of a version.

    Args:
        folder: the version's folder, such as `exports/luong_local/1`.
        *forms: the formats that it may have, of "zoo-onnx", "zoo-ctranslate2" and
            "zoo-savedmodel". Default: any.

    Returns:
        Among others `format`, `name`, `preset`, `task`, `architecture`, the versions of
        the `packages` that wrote it, and of each of its `files` the size and sha256.

    Raises:
        ValueError: if the manifest is missing, damaged or not zoo's.
    """
    path, forms = Path(folder) / MANIFEST, forms or (FORMAT, CTRANSLATE2, SAVEDMODEL)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder} should be a version of `zoo export`, with a {MANIFEST} in it: "
            f"{error}"
        ) from None
    fields = manifest if isinstance(manifest, dict) else {}
    found, version = fields.get("format"), fields.get("format_version")
    if found not in forms or version != FORMAT_VERSION:
        raise ValueError(
            f"{path} should be of the format {' or '.join(forms)}, version "
            f"{FORMAT_VERSION}. Received: {found!r}, {version!r}"
        )
    return manifest


def read_version(folder: StrPath) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Reads an export that runs without Keras: its manifest and the files it lists.

    What is returned is what was verified: no file is read twice.

    Raises:
        ValueError: if the manifest is missing or not zoo's, or a file is missing,
            elsewhere, or differs from the one that was exported.
    """
    folder, files = Path(folder), {}
    manifest = read_manifest(folder, FORMAT, CTRANSLATE2)
    for name, digest in manifest["files"].items():
        if name != Path(name).name:
            raise ValueError(
                f"{folder / MANIFEST} should name files beside it. Received: {name!r}"
            )
        try:
            files[name] = (folder / name).read_bytes()
        except OSError as error:
            raise ValueError(
                f"{folder} is not complete: {name}: {error.strerror}"
            ) from None
        if (found := _digest(files[name])) != digest:
            raise ValueError(
                f"{folder / name} is not the file that was exported: it should have "
                f"{digest}. Received: {found}"
            )
    return manifest, files


def _digest(content):
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
