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
from zoo.files import StrPath, sha256
from zoo.presets.card import CARD_FILE, CONFIG_FILE
from zoo.serving.export.manifest import MANIFEST, read_manifest

MODELS = "models.json"
# Class of a backbone, with its attention where that matters -> its page among
# docs/papers, its lesson, the kind of its attention, the equation that the page shows.
_PAPERS = {
    "Bahdanau": ("bahdanau", "04_additive_attention", "global", "bahdanau"),
    "LSTMNEncoderDecoder": ("lstmn", "08_lstmn", "memory", "lstmn"),
    "Luong.global": ("luong", "05_luong_scores", "global", "luong_{score}"),
    "Luong.location": ("luong", "05_luong_scores", "global", "luong_location"),
    "Luong.local_m": ("luong", "06_local_attention", "local", "luong_local_m"),
    "Luong.local_p": ("luong", "06_local_attention", "local", "luong_local"),
    "RNNEncoderDecoder": ("cho", "01_fixed_vector", "none", "rnn_encoder_decoder"),
    "RNNencdec": ("bahdanau", "01_fixed_vector", "none", "rnn_encoder_decoder"),
    "Seq2Seq": ("sutskever", "01_fixed_vector", "none", "seq2seq"),
    "Transformer": ("transformer", "10_transformer", "multi_head", "transformer"),
}
_UNKNOWN = ("", "", "none", "")  # a class of one's own


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
        site: see `model_info`.

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


def model_info(folder: Path, name: str, site: str | None = None) -> dict[str, Any]:
    """Describes a model to the page: `ModelInfo` of explorer/src/engine/types.ts.

    Args:
        folder: the folder of its preset, a translator's.
        name: the name that the page shows.
        site: address of the documentation; None for no links to it.

    Returns:
        A dict, without the size of what is exported.

    Example:
        >>> import zoo
        >>> info = model_info(zoo.presets.find("luong_local"), "luong_local")
        >>> info["attention"], info["window"], info["equation"]
        ('local', 5, 'luong_local')
    """
    path = folder / CARD_FILE
    card = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    backbone = json.loads((folder / CONFIG_FILE).read_text("utf-8"))
    kind, config = backbone["class_name"], backbone["config"]
    entry = _PAPERS.get(kind) or _PAPERS.get(f"{kind}.{config.get('attention')}")
    page, lesson, attention, equation = entry or _UNKNOWN
    base = site and site.rstrip("/")
    multi_head = attention == "multi_head"
    return {
        "name": name,
        "title": card.get("title", name),
        "paper": card.get("paper", {}).get("url", ""),
        "lesson": f"{base}/lessons/{lesson}.html" if base and lesson else None,
        "page": f"{base}/papers/{page}.html" if base and page else "",
        "languages": card.get("languages"),
        "attention": attention,
        "heads": [config["num_layers"], config["num_heads"]] if multi_head else None,
        "window": config["window"] if attention == "local" else None,
        "inputFeeding": bool(config.get("input_feeding")),
        "equation": equation.format(score=config.get("score")),
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
