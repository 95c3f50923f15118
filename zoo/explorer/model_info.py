"""Describes a model to the explorer's page before it is loaded."""

import json
from pathlib import Path
from typing import Any

from zoo.presets.card import CARD_FILE, CONFIG_FILE

# Class of a backbone -> its page among docs/papers, its lesson, the kind of its
# attention, and the equation that the page shows.
_PAPERS = {
    "Bahdanau": ("bahdanau", "04_additive_attention", "global", "bahdanau"),
    "LSTMNEncoderDecoder": ("lstmn", "08_lstmn", "memory", "lstmn"),
    "RNNEncoderDecoder": ("cho", "01_fixed_vector", "none", "rnn_encoder_decoder"),
    "RNNencdec": ("bahdanau", "01_fixed_vector", "none", "rnn_encoder_decoder"),
    "Seq2Seq": ("sutskever", "01_fixed_vector", "none", "seq2seq"),
    "ShowAttendTell": ("xu", "09_hard_and_soft", "global", "show_attend_tell"),
    "Transformer": ("transformer", "10_transformer", "multi_head", "transformer"),
}
_LUONG = {  # attention -> lesson, kind, equation
    "global": ("05_luong_scores", "global", "luong_{score}"),
    "location": ("05_luong_scores", "global", "luong_location"),
    "local_m": ("06_local_attention", "local", "luong_local_m"),
    "local_p": ("06_local_attention", "local", "luong_local"),
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
        ('local', 10, 'luong_local')
    """
    path = folder / CARD_FILE
    card = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    backbone = json.loads((folder / CONFIG_FILE).read_text("utf-8"))
    kind, config = backbone["class_name"], backbone["config"]
    if kind == "Luong":
        lesson, attention, equation = _LUONG[config["attention"]]
        page, equation = "luong", equation.format(score=config["score"])
    else:
        # Of a class of one's own nothing is known.
        page, lesson, attention, equation = _PAPERS.get(kind, ("", "", "none", ""))
    if equation == "show_attend_tell" and config["attention"] == "hard":
        equation = "show_attend_tell_hard"
    base = site and site.rstrip("/")
    heads = None
    if attention == "multi_head":
        heads = [config["num_layers"], config["num_heads"]]
    return {
        "name": name,
        "title": card.get("title", name),
        "paper": card.get("paper", {}).get("url", ""),
        "lesson": f"{base}/lessons/{lesson}.html" if base and lesson else None,
        "page": f"{base}/papers/{page}.html" if base and page else "",
        "languages": card.get("languages"),
        "attention": attention,
        "heads": heads,
        "window": config["window"] if attention == "local" else None,
        "inputFeeding": bool(config.get("input_feeding")),
        "equation": equation,
    }
