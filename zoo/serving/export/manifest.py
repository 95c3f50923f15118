"""The folder of exported graphs: its manifest, and its files verified by it.

Imports no Keras.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.serving.export.export_folder import versions

MANIFEST = "manifest.json"
TOKENIZER = "vocabulary.spm"
FORMAT = "zoo-onnx"
FORMAT_VERSION = 1


def write_manifest(folder: StrPath, described: Mapping[str, Any]) -> None:
    """Writes the manifest of a folder, with the digest of each of its files."""
    folder = Path(folder)
    files = {path.name: _digest(path.read_bytes()) for path in sorted(folder.iterdir())}
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **described,
        "files": files,
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def newest(path: StrPath) -> Path:
    """Returns the newest version in a model's folder, or a version's folder itself."""
    path = Path(path)
    if not (path / MANIFEST).is_file() and (numbers := versions(path)):
        return path / str(numbers[-1])
    return path


def read_manifest(folder: StrPath) -> dict[str, Any]:
    """Reads the manifest of a version.

    Raises:
        ValueError: if the manifest is missing, damaged or not zoo's.
    """
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder} should be a model of `zoo export --format onnx`, with a "
            f"{MANIFEST} in it: {error}"
        ) from None
    form = isinstance(manifest, dict) and manifest.get("format")
    version = form and manifest.get("format_version")
    if (form, version) != (FORMAT, FORMAT_VERSION):
        raise ValueError(
            f"{folder / MANIFEST} should be that of a zoo export to ONNX, of format "
            f"version {FORMAT_VERSION}. Received: {form!r}, {version!r}"
        )
    return manifest


def read_version(folder: StrPath) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Reads the manifest of a version, and the content of each file that it lists.

    What is returned is what was verified: no file is read twice.

    Raises:
        ValueError: if the manifest is missing or not zoo's, or a file is missing,
            elsewhere, or differs from the one that was exported.
    """
    folder, files = Path(folder), {}
    manifest = read_manifest(folder)
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
