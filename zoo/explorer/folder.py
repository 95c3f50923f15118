"""The explorer as a folder of plain files, whose models run in the browser."""

import functools
import http.server
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.explorer import STATIC
from zoo.explorer.model_info import model_info
from zoo.files import StrPath, sha256
from zoo.serving.export.manifest import MANIFEST, read_manifest

MODELS = "models.json"


def write_folder(
    path: StrPath, models: Mapping[str, tuple[Path, Path]], site: str | None = None
) -> list[dict[str, Any]]:
    """Writes the page, ONNX Runtime Web's files and the models.

    Any web server can serve the folder at any address: all links are relative, and
    nothing is fetched from elsewhere. What an earlier call wrote there is replaced, as
    soon as the new files are complete.

    Args:
        path: the folder.
        models: name that the page shows -> the folder of a translator's preset, and
            that of its graphs, from `zoo.explorer.graphs.write_model`.
        site: see `zoo.explorer.model_info.model_info`.

    Returns:
        The `ModelInfo` of each model.

    Raises:
        ValueError: for a folder that has other files.
    """
    path = Path(path).resolve()  # a link stays one
    if path.exists() and not (path / MODELS).is_file() and any(path.iterdir()):
        raise ValueError(
            f"The folder must be new, empty or an earlier export. Received: {path}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".explore-", dir=path.parent) as temporary:
        part = Path(temporary) / "page"
        shutil.copytree(STATIC, part)
        entries = []
        for name, (preset, graphs) in models.items():
            shutil.copytree(graphs, part / "models" / name)
            entries.append(_entry(model_info(preset, name, site), graphs, name))
        text = json.dumps({"models": entries}, indent=1, ensure_ascii=False)
        (part / MODELS).write_text(text, encoding="utf-8")
        if path.exists():
            path.rename(Path(temporary) / "old")
        part.rename(path)
    return [entry["info"] for entry in entries]


def _entry(info, graphs, name):
    """An entry of models.json."""
    manifest, path = read_manifest(graphs), graphs / MANIFEST
    size = sum(file["bytes"] for file in manifest["files"].values())
    return {
        "info": {**info, "bytes": size, "dtype": manifest["dtype"]},
        "folder": f"models/{name}",
        "manifest": {"bytes": path.stat().st_size, "sha256": sha256(path)},
    }


# === Its server ===
def static_server(folder: StrPath, port: int) -> http.server.ThreadingHTTPServer:
    """Returns a server of one folder for this machine, at a port; 0 for a free one.

    Raises:
        OSError: if the port cannot be used.
    """
    handler = functools.partial(_Handler, directory=str(folder))
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)


class _Handler(http.server.SimpleHTTPRequestHandler):
    # A machine's own table may name another type, which browsers refuse.
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
    }

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")  # the models may be others
        super().end_headers()

    def log_message(self, format, *arguments):
        pass
