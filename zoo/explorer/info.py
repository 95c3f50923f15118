"""What the explorer's page knows of a model before it is loaded."""

import json
from pathlib import Path
from typing import Any

from zoo.explorer import what_if
from zoo.presets.card import CARD_FILE

# Class of a task -> its page among docs/papers, its lesson, the kind of its attention,
# and the equation that the page shows.
_PAPERS = {
    "BahdanauTranslator": ("bahdanau", "02_additive_attention", "global", "bahdanau"),
    "LSTMNTranslator": ("lstmn", "06_lstmn", "memory", "lstmn"),
    "RNNEncoderDecoderTranslator": (
        *("cho", "01_fixed_vector", "none", "rnn_encoder_decoder"),
    ),
    "RNNencdecTranslator": (
        *("bahdanau", "01_fixed_vector", "none", "rnn_encoder_decoder"),
    ),
    "Seq2SeqTranslator": ("sutskever", "01_fixed_vector", "none", "seq2seq"),
    "ShowAttendTellTranslator": ("xu", "07_hard_and_soft", "global", "show_attend_tell"),
    "TransformerTranslator": (
        *("transformer", "08_transformer", "multi_head", "transformer"),
    ),
}
_LUONG = {  # attention -> lesson, kind, equation
    "global": ("03_luong_scores", "global", "luong_{score}"),
    "location": ("03_luong_scores", "global", "luong_location"),
    "local_m": ("04_local_attention", "local", "luong_local_m"),
    "local_p": ("04_local_attention", "local", "luong_local"),
}


def model_info(
    task: Any, folder: Path, name: str, site: str | None = None
) -> dict[str, Any]:
    """Describes a translator to the page: `ModelInfo` of explorer/src/engine/types.ts.

    Args:
        task: a `zoo.models.Translator`.
        folder: the preset's folder.
        name: the name that the page shows.
        site: address of the documentation; None for no links to it.

    Returns:
        A dict; its `bytes` are 0, for a server that sends no model.

    Example:
        >>> from zoo.models import Luong, LuongTranslator
        >>> task = LuongTranslator(Luong(20, num_layers=1, hidden_dim=8, embedding_dim=8))
        >>> info = model_info(task, Path("nowhere"), "mine")
        >>> info["attention"], info["window"], info["equation"]
        ('local', 10, 'luong_local')
    """
    path, backbone = folder / CARD_FILE, task.backbone
    card = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    paper, lesson, attention, equation = _paper(task)
    heads = window = None
    if attention == "multi_head":
        heads = [backbone.num_layers, backbone.num_heads]
    if what_if.has_window(backbone):
        window = backbone.window
    links = {"page": paper and f"papers/{paper}", "lesson": lesson and f"lessons/{lesson}"}
    base = site and site.rstrip("/")
    links = {key: f"{base}/{x}.html" if x and base else "" for key, x in links.items()}
    return {
        "name": name,
        "task": "translate",
        "title": card.get("title", name),
        "paper": card.get("paper", {}).get("url", ""),
        "lesson": links["lesson"] or None,
        "page": links["page"],
        "languages": card.get("languages") or None,
        "bytes": 0,
        "dtype": "float32",
        "attention": attention,
        "heads": heads,
        "window": window,
        "inputFeeding": bool(getattr(backbone, "input_feeding", False)),
        "equation": equation,
        "card": card,
    }


def _paper(task):
    """Page, lesson, kind of attention and equation of a task; "" for what isn't known."""
    name, backbone = type(task).__name__, task.backbone
    if name == "LuongTranslator":
        lesson, kind, equation = _LUONG[backbone.attention]
        return "luong", lesson, kind, equation.format(score=backbone.score)
    if name in _PAPERS:
        return _PAPERS[name]
    kind = "none"
    if what_if.takes_attention(backbone):
        kind = "local" if what_if.has_window(backbone) else "global"
    return "", "", kind, ""
