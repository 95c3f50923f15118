"""The explorer as a folder of plain files, whose models run in the browser."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from zoo.explorer import STATIC
from zoo.explorer.model_info import model_info
from zoo.files import StrPath, sha256
from zoo.serving.export.export_folder import require_packages
from zoo.serving.export.manifest import MANIFEST

MODELS = "models.json"


def write_folder(
    path: StrPath,
    presets: Sequence[tuple[str, Path]],
    site: str | None = None,
    exported: Mapping[str, Path] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Writes the page, ONNX Runtime Web's files and the models of presets.

    Any web server can serve the folder at any address: all links are relative, and
    nothing is fetched from elsewhere. What an earlier call wrote there is replaced, as
    soon as the new files are complete.

    Args:
        path: the folder.
        presets: names that the page shows and folders of presets of translators.
        site: see `zoo.explorer.model_info.model_info`.
        exported: names of models that were written before, and their folders, which are
            copied.

    Returns:
        The `ModelInfo` of each model.

    Raises:
        ValueError: for a folder that has other files, the same name twice, a preset
            that doesn't translate, or a model that ONNX cannot express.
        RuntimeError: for a model to export under another backend than TensorFlow.
        ImportError: if a package to export is missing; the message names the extra.
    """
    path, names = Path(path), [name for name, _ in presets]
    if len(set(names)) < len(names):
        raise ValueError(f"model names must be unique. Received: {' '.join(names)}")
    infos = [model_info(folder, name, site) for name, folder in presets]
    if path.exists() and not (path / MODELS).is_file() and any(path.iterdir()):
        raise ValueError(
            f"The folder must be new, empty or an earlier export. Received: {path}"
        )
    if not set(names) <= set(exported):
        require_packages("onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".explore-", dir=path.parent) as temporary:
        part = Path(temporary) / "page"
        shutil.copytree(STATIC, part)
        entries = []
        for (name, folder), info in zip(presets, infos, strict=True):
            home = part / "models" / name
            if name in exported:
                shutil.copytree(exported[name], home)
            else:
                _export(folder, home, info)
            entries.append(_entry(info, home, f"models/{name}"))
        text = json.dumps({"models": entries}, indent=1, ensure_ascii=False)
        (part / MODELS).write_text(text, encoding="utf-8")
        _put(part, path)
    return [entry["info"] for entry in entries]


def _put(part, path):
    """Moves what a folder holds to another, in place of what that holds."""
    path.mkdir(exist_ok=True)
    for old in path.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for new in sorted(part.iterdir(), key=lambda new: new.name == MODELS):
        new.rename(path / new.name)


def _export(preset, home, info):
    import zoo
    from zoo.explorer.graphs import write_model

    home.mkdir(parents=True)
    described = {key: info[key] for key in ("name", "heads", "window")}
    write_model(zoo.load(preset), home, {"task": "translate", **described})


def _entry(info, home, folder):
    """An entry of models.json."""
    manifest = json.loads((home / MANIFEST).read_text("utf-8"))
    size = sum(file["bytes"] for file in manifest["files"].values())
    path = home / MANIFEST
    return {
        "info": {**info, "bytes": size, "dtype": manifest["dtype"]},
        "folder": folder,
        "manifest": {"bytes": path.stat().st_size, "sha256": sha256(path)},
    }
