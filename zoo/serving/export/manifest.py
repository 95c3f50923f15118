"""The manifest of an exported version, and its files verified by it.

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
FORMAT, SAVEDMODEL = "zoo-onnx", "zoo-savedmodel"
FORMAT_VERSION = 1


def write_manifest(
    folder: StrPath, described: Mapping[str, Any], form: str = FORMAT
) -> None:
    """Writes the manifest of a folder, with the digest of each of its files."""
    folder = Path(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {x.relative_to(folder).as_posix(): _digest(x.read_bytes()) for x in paths}
    manifest = {
        "format": form,
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


def read_manifest(folder: StrPath, form: str | None = None) -> dict[str, Any]:
    """Reads the manifest of a version.

    Args:
        folder: the version's folder, such as `exports/luong_local/1`.
        form: the format that it must have, "zoo-onnx" or "zoo-savedmodel". Default:
            either.

    Returns:
        Among others `format`, `name`, `preset`, `task`, `architecture`, the versions of
        the `packages` that wrote it, and of each of its `files` the size and sha256.

    Raises:
        ValueError: if the manifest is missing, damaged or not zoo's.
    """
    path, forms = Path(folder) / MANIFEST, (form,) if form else (FORMAT, SAVEDMODEL)
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
    """Reads the manifest of graphs, and the content of each file that it lists.

    What is returned is what was verified: no file is read twice.

    Raises:
        ValueError: if the manifest is missing or not zoo's, or a file is missing,
            elsewhere, or differs from the one that was exported.
    """
    folder, files = Path(folder), {}
    manifest = read_manifest(folder, FORMAT)
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
