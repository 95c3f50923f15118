"""Pages generated from preset cards: a preset's README.md, the table of presets."""

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.presets.card import (
    CARD_FILE,
    Card,
    PresetError,
    format_bytes,
    format_task,
    list_files,
    make_card,
    short_paper,
)

README_FILE = "README.md"
TABLE_START = "<!-- presets:start -->"
TABLE_END = "<!-- presets:end -->"

_PAGE = Path(__file__).with_name("preset_page.md")
_EXAMPLE = "A dog runs."
_DATES = ["mul", "zxx"]  # the languages of a preset that reads dates
# Task -> a model hub's name for it, tags, and the text of the page's example (the Penn
# Treebank has no capitals).
KINDS = {
    "translate": ("translation", ["attention", "seq2seq", "translation"], _EXAMPLE),
    "tag": ("token-classification", ["part-of-speech"], _EXAMPLE),
    "generate": ("text-generation", ["language-model"], "the company said"),
    "classify": ("text-classification", ["sentiment-analysis"], "a good film ."),
    "caption": ("image-to-text", ["image-captioning", "attention"], "image.png"),
}

# The first word of a metric -> a model hub's name for it, if it has another one.
_HUB_METRICS = {"exact": "exact_match", "true": "accuracy"}
# Control characters, which a terminal would obey, and what UTF-8 cannot encode.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def write_card(folder: StrPath, metadata: dict[str, Any]) -> Card:
    """Writes `card.json` and README.md into a preset folder.

    Args:
        folder: the preset folder, as `save_to_preset` left it.
        metadata: one entry per attribute of `Card` except "files", which is measured
            here.
    """
    folder = Path(folder)
    card = make_card({**metadata, "files": list_files(folder)}, f"facts of {folder}")
    if unknown := set(metadata) - {*card.to_dict()}:
        raise PresetError(f"a card has no {', '.join(sorted(unknown))}")
    text = json.dumps(card.to_dict(), indent=2, ensure_ascii=False) + "\n"
    text = text.encode("utf-8", "replace").decode()
    (folder / CARD_FILE).write_text(text, encoding="utf-8", newline="\n")
    (folder / README_FILE).write_text(readme(card), encoding="utf-8", newline="\n")
    return card


def readme(card: Card, handle: str | None = None) -> str:
    """Returns the README.md of a preset folder, with Hugging Face front matter.

    With a handle, `hf://user/name`, it is a model hub's page: its front matter has the
    scores as well.
    """
    pipeline, tags, example = KINDS[card.task]
    front = {
        "library_name": "keras-hub",
        "license": card.license,
        "language": card.languages,
        "pipeline_tag": pipeline,
        "tags": ["keras", *tags],
        "datasets": [corpus["name"] for corpus in card.data],
        "metrics": sorted({_hub_metric(score) for score in card.scores}),
    }
    if handle:
        front["model-index"] = _model_index(card)
    text = _page().render(
        vars(card),
        front=front,
        handle=handle,
        example="Monday, 3 May 1999" if card.languages == _DATES else example,
        size=format_bytes(card.bytes),
        speed_in_words=_speed(card),
    )
    return _CONTROL.sub("\ufffd", text)


def _model_index(card):
    """Returns a card's scores as the `model-index` of a model hub's page."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results = [
        EvalResult(
            task_type=KINDS[card.task][0],
            task_name=format_task(card),
            dataset_type=score["data"],
            dataset_name=f"{score['data']} {score['split']}",
            dataset_split=score["split"],
            metric_type=_hub_metric(score),
            metric_name=score["metric"],
            metric_value=score["value"],
            metric_args={key: score[key] for key in ("signature", "command")},
        )
        for score in card.scores
    ]
    return eval_results_to_model_index(card.name, results)


def _hub_metric(score):
    metric = score["metric"].lower().split()[0]  # "exact de" is the score of a part
    return _HUB_METRICS.get(metric, metric)


@functools.cache
def _page():
    import jinja2  # not at the top: completion of a command line reads `KINDS`

    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        # JSON is YAML, with all necessary quotes.
        "json": functools.partial(json.dumps, ensure_ascii=False),
        "words": _words,
        # A bar ends a table's cell, even within code.
        "code": lambda text: text.replace("|", "\\|"),
        "cell": lambda text: _words(
            " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
        ),
    }
    return environment.from_string(_PAGE.read_text(encoding="utf-8"))


def _words(text):
    """Escapes text for Markdown, which would take `<unk>` for a tag."""
    return text.replace("<", "&lt;")


def presets_table(cards: Sequence[Card], root: str = "..") -> str:
    """Returns a table of presets as Markdown.

    Args:
        cards: the presets.
        root: relative path of the repository from the page's folder, for its links.
    """
    heads = "preset|paper|task|parameters|size|licence|scores|CPU speed"
    names = tuple(heads.split("|"))
    rows = [names, ("---",) * len(names)]
    for card in cards:
        row = (
            f"[`{card.name}`]({root}/savedmodels/{card.name})",
            f"[{short_paper(card)}]({card.paper['url']})",
            format_task(card),
            f"{card.sizes['parameters'] / 1e6:.1f} M",
            format_bytes(card.bytes),
            card.license,
            _scores(card),
            _speed(card),
        )
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _scores(card):
    """Formats a card's scores: "BLEU 38.1, chrF 63.0 (multi30k ...)"."""
    groups: dict[str, list[str]] = {}
    for score in card.scores:
        where = f"{score['data']} {score['split']}"
        groups.setdefault(where, []).append(f"{score['metric']} {score['value']:.1f}")
    return "; ".join(
        f"{', '.join(scores)} ({where})" for where, scores in groups.items()
    )


def _speed(card):
    """Formats a card's speed: "52 sentences/s", or "-" if it has none."""
    if not card.speed:
        return "-"
    digits = 0 if card.speed["value"] >= 10 else 1
    return f"{card.speed['value']:.{digits}f} {card.speed['unit']}"


def replace_table(text: str, cards: Sequence[Card]) -> str:
    """Replaces the table of presets between the markers of a page in docs/."""
    before, _, rest = text.partition(TABLE_START)
    _, end, after = rest.partition(TABLE_END)
    if not end:
        raise ValueError(f"the page needs {TABLE_START} and {TABLE_END}")
    return f"{before}{TABLE_START}\n{presets_table(cards)}\n{TABLE_END}{after}"
