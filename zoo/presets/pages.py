"""A preset's page, README.md, made from its card; uploading both to Hugging Face."""

import functools
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.presets.card import (
    CARD_FILE,
    Card,
    PresetError,
    format_bytes,
    list_files,
    make_card,
    read_card,
)
from zoo.presets.registry import HUB_FILES

README_FILE = "README.md"

_PAGE = Path(__file__).with_name("preset_page.md")
_EXAMPLE = "A dog runs."
# The source's language -> another example; "mul" is of dates.
_EXAMPLES = {"de": "Ein Hund rennt.", "mul": "Monday, 3 May 1999"}
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
    (folder / CARD_FILE).write_bytes(text.encode("utf-8", "replace"))
    (folder / README_FILE).write_text(readme(card), encoding="utf-8", newline="\n")
    return card


def readme(card: Card, handle: str | None = None) -> str:
    """Returns the README.md of a preset folder, with Hugging Face front matter.

    With a handle, `hf://user/name`, it tells how to load the preset from there.
    """
    pipeline, tags, example = KINDS[card.task]
    if example == _EXAMPLE and card.languages:
        example = _EXAMPLES.get(card.languages[0], example)
    # "exact de" is the score of a part.
    metrics = [score["metric"].lower().split()[0] for score in card.scores]
    front = {
        "library_name": "keras-hub",
        "license": card.license,
        "language": card.languages,
        "pipeline_tag": pipeline,
        "tags": ["keras", *tags],
        "datasets": [corpus["name"] for corpus in card.data],
        "metrics": sorted({_HUB_METRICS.get(metric, metric) for metric in metrics}),
    }
    text = _page().render(
        vars(card),
        front=front,
        handle=handle,
        example=example,
        size=format_bytes(card.bytes),
        speed_in_words=format_speed(card),
    )
    return _CONTROL.sub("\ufffd", text)


@functools.cache
def _page():
    import jinja2  # not at the top: most commands write no page

    # Markdown takes `<unk>` for a tag; a bar ends a table's cell, even within code.
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        # JSON is YAML, with all necessary quotes.
        "json": functools.partial(json.dumps, ensure_ascii=False),
        "words": lambda text: text.replace("<", "&lt;"),
        "code": lambda text: text.replace("|", "\\|"),
        "line": lambda text: " ".join(text.split()).replace("\\", "\\\\"),
    }
    return environment.from_string(_PAGE.read_text(encoding="utf-8"))


def format_speed(card: Card) -> str:
    """Formats a card's speed: "52 sentences/s", or "-" if it has none."""
    if not card.speed:
        return "-"
    digits = 0 if card.speed["value"] >= 10 else 1
    return f"{card.speed['value']:.{digits}f} {card.speed['unit']}"


def upload(folder: StrPath, name: str, private: bool = False) -> str:
    """Uploads a preset to Hugging Face in one commit, with its page, README.md.

    Other files of the repository that loading would fetch (JSON, HDF5, assets) are
    deleted.

    A task that was saved by `save_to_preset` has no card: KerasHub's `upload_preset`
    uploads its folder, to Kaggle too, with a short page of its own.

    Args:
        folder: a preset folder with its card; see `zoo.presets.verify`.
        name: `hf://user/name`; the repository is made if there is none.
        private: whether a new repository is private.

    Returns:
        The address of the commit.

    Raises:
        ValueError: for anything but a handle of Hugging Face.
        PresetError: (a ValueError) without a card.
        OSError: without a token, or if the hub cannot be reached, or refuses.

    Example:
        ```python
        folder = zoo.presets.locate("runs/mine")
        zoo.presets.upload(folder, "hf://ada/mine", private=True)
        ```
    """
    import huggingface_hub

    scheme, _, handle = name.partition("://")
    if scheme != "hf" or handle.count("/") != 1:
        raise ValueError(f"a handle must be hf://user/name, received {name!r}")
    card = read_card(folder)
    api = huggingface_hub.HfApi()
    api.create_repo(handle, private=private or None, exist_ok=True)
    with tempfile.TemporaryDirectory() as staged:
        for file in (CARD_FILE, *card.files):
            (Path(staged) / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / file, Path(staged) / file)
        (Path(staged) / README_FILE).write_text(readme(card, name), encoding="utf-8")
        return api.upload_folder(
            repo_id=handle,
            folder_path=staged,
            commit_message=f"Preset {card.name}",
            delete_patterns=HUB_FILES,
        ).commit_url
