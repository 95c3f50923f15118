"""The choices of a run on a user's own text, from a size and the amount of text.

A size scales the recipe's `small` model and says how much text is read in all, so that
little text is read more often: "tiny" trains in minutes, "small" is that of the bundled
presets, "medium" has twice its width. "paper" is the paper's model and schedule. Below
30,000 pairs a translator is narrower, so that 3,000 take about ten minutes.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from zoo.training.config import ConfigurationError

MIN_EPOCHS, MAX_EPOCHS = 3, 50
ENOUGH_PAIRS = 30_000  # below, a translator is narrower than its size says
FEW_PAIRS = 60_000  # below, dropout is higher: the model sees each pair often
MAX_PIECES = 100  # of a sentence; longer ones are left out
PAPER_VOCABULARY = 30_000
PAIRS_READ = 600_000  # by the `small` translator in all its epochs
PATIENCE = 8  # epochs without a better score


class Size(NamedTuple):
    """A size of model."""

    width: float  # factor on all widths of the recipe's `small` model
    vocabulary: int  # most pieces or words
    read: float  # factor on the text that training reads in all
    rate: float  # factor on the learning rate
    buckets: int  # padded shapes of a translator's text, each of which is compiled


SIZES = {
    "tiny": Size(0.25, 2_000, 0.4, 1.0, 4),
    "small": Size(1.0, 8_000, 1.0, 1.0, 8),
    # Wider layers take smaller steps.
    "medium": Size(2.0, 16_000, 3.0, math.sqrt(0.5), 14),
}
FINE_TUNING = Size(1.0, 0, 0.3, 0.25, 4)  # of a preset, as wide as it is


def choices_for_texts(recipe: Any, size: str, text: Any, start: Any = None) -> Any:
    """Returns the choices of a run on a user's own texts, as its `UserText` says."""
    own = recipe.user_text
    scale, chosen = _plan(recipe, size, len(text.train), own.sentences, start)
    fields, changes = vars(scale), dict(own.changes)
    model = small = fields.get("model", fields)
    if start is not None:
        given = recipe.classes["model"].reserved
        model = config_of_start(recipe, start)
        model = {name: value for name, value in model.items() if name not in given}
    elif chosen is not None:
        widths = {k: small.get(k, default) for k, default in own.widths.items()}
        model = small | widened(widths, chosen.width)
        if "vocabulary_size" in fields:
            changes["vocabulary_size"] = chosen.vocabulary
    if "model" in fields:
        model = {"model": model}
    model = {name: value for name, value in model.items() if name in fields}
    return dataclasses.replace(scale, **{**model, **changes})


def choices_for_pairs(recipe: Any, size: str, text: Any, start: Any = None) -> Any:
    """Returns the choices of a translator's run on a user's own pairs."""
    scale, chosen = _plan(recipe, size, len(text.train), PAIRS_READ, start)
    narrow = 1.0 if size == "tiny" else min(1.0, len(text.train) / ENOUGH_PAIRS) ** 0.3
    changes = dict(zip(("source", "target"), text.languages, strict=True))
    changes |= {"corpora": (), "tokenizer": {"normalization": "nfc"}}
    if chosen is not None:
        changes["max_length"] = MAX_PIECES
        changes["buckets"] = max(3, round(chosen.buckets * narrow**2))
    if start is not None:
        changes["model"] = config_of_start(recipe, start)
        changes["vocabulary_size"] = start.backbone.vocabulary_size
        return dataclasses.replace(scale, **{**changes, "tokenizer": {}})
    most = PAPER_VOCABULARY
    if chosen is not None:
        most = chosen.vocabulary
        changes["model"] = model = widened(scale.model, chosen.width * narrow)
        if chosen.width >= 1 and len(text.train) < FEW_PAIRS:
            dropout = [name for name in model if name.endswith("dropout")]
            model |= {name: max(model[name], 0.3) for name in dropout}
    elif size != "paper":  # another scale of the recipe
        most = scale.vocabulary_size
    changes["vocabulary_size"] = vocabulary_size(text.words, len(text.characters), most)
    return dataclasses.replace(scale, **changes)


def _plan(recipe, size, sentences, read, start):
    """A scale with epochs and learning rate for a text, and its `Size` if any."""
    if start is None and size not in SIZES:
        return dataclasses.replace(recipe.scales[size], patience=PATIENCE), None
    chosen = SIZES[size] if start is None else FINE_TUNING
    small = recipe.scales["small"]
    rate = small.optimizer.learning_rate * chosen.rate
    optimizer = dataclasses.replace(small.optimizer, learning_rate=rate)
    epochs = math.ceil(read * chosen.read / sentences)
    epochs = min(max(epochs, MIN_EPOCHS), MAX_EPOCHS)
    changes = {"optimizer": optimizer, "epochs": epochs, "patience": PATIENCE}
    return dataclasses.replace(small, **changes), chosen


def vocabulary_size(words: int, characters: int, most: int) -> int:
    """Returns the size of a vocabulary of pieces for a number of words.

    It grows with the square root of the text, as the number of different words does,
    and leaves room for twice the characters, each of which is a piece; for a fifth
    more than these at least, even if that is above `most`.
    """
    wanted = max(5 * math.sqrt(words), 2 * characters, 100)
    return int(max(min(wanted, most), 1.2 * characters)) // 10 * 10


def widened(model: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Returns the arguments of a model with all its `…_dim` and `filters` multiplied.

    Initial weights are divided by the square root, since a wider layer sums more.
    """
    changed = dict(model)
    for name, value in model.items():
        if isinstance(value, int) and (name.endswith("_dim") or name == "filters"):
            changed[name] = max(8, round(value * factor / 8) * 8)
        elif name == "initializer_range":
            changed[name] = value / math.sqrt(factor)
    return changed


def config_of_start(recipe: Any, start: Any) -> dict[str, Any]:
    """Returns the arguments of a backbone to start from, but for its vocabulary."""
    task = recipe.user_text.task()
    if type(start) is not task:
        raise ConfigurationError(
            f"--from: the recipe {recipe.name} trains a {task.__name__}. Received: a "
            f"{type(start).__name__}"
        )
    left_out = ("name", "dtype", "trainable", "vocabulary_size")
    config = start.backbone.get_config()
    return {name: value for name, value in config.items() if name not in left_out}
