"""A user's own text: reading it for a run, and choices from a size and its amount.

A size scales the recipe's `small` model and says how much text is read in all, so that
little text is read more often: "tiny" trains in minutes, "small" is that of the bundled
presets, "medium" has twice its width. "paper" is the paper's model and schedule. Below
30,000 pairs a translator is narrower, so that 3,000 take about ten minutes.
"""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from zoo.training.config import ConfigurationError, refused_as
from zoo.training.recipes.arguments import Arguments, scale_names
from zoo.training.recipes.choices import change, check

MIN_EPOCHS, MAX_EPOCHS = 3, 50
ENOUGH_PAIRS = 30_000  # below, a translator is narrower than its size says
FEW_PAIRS = 60_000  # below, dropout is higher: the model sees each pair often
MAX_PIECES = 100  # of a sentence; longer ones are left out
PAPER_VOCABULARY = 30_000
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


@dataclasses.dataclass(frozen=True)
class UserText:
    """Settings for training a recipe on a user's own text.

    Attributes:
        files: the files that it takes, in words.
        kind: how they are read, as "pairs"; see `zoo.data.own.read`.
        sentences: how many (of pairs, how many pairs) the `small` model reads in all
            its epochs.
        widths: arguments of the model that a size multiplies, with the defaults of
            those that `small` doesn't set. They are in the choices' dict `model`, or
            fields of the choices. Of pairs, all of `small`.
        changes: choices for any text, such as `{"corpus": "own"}`.
    """

    files: str
    kind: str
    sentences: int
    widths: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def choose(
    recipe: Any, arguments: Arguments, given: Any, distribution: Any
) -> tuple[Any, Any, Any]:
    """Returns the choices of a run, a user's own text and the task to start from.

    The text, for training, validation and test, is in the files that the arguments
    name, or `given` from Python; None for neither.
    """
    from zoo.data.own import read
    from zoo.presets.registry import load

    start, text, own, size = None, None, recipe.user_text, arguments.scale
    if arguments.train:
        train = [tuple(map(Path, files)) for files in arguments.train]
        others = arguments.valid, arguments.test
        given = train, *(files and tuple(Path(f) for f in files) for files in others)
    if given is not None and own is None:
        raise ConfigurationError(f"the recipe {recipe.name} takes no text of your own")
    known = list(recipe.scales) if given is None else scale_names(recipe)
    if size not in known:
        raise ConfigurationError(
            f"size: allowed are {', '.join(known)} (others are for your own text). "
            f"Received: {size!r}"
        )
    scale = recipe.scales.get(size) or recipe.scales["small"]
    change(recipe, scale, arguments.changes)  # refused before text is read
    if arguments.start is not None:
        fixed = "vocabulary_size=", "pieces=", "tokenizer."
        if refused := [text for text in arguments.changes if text.startswith(fixed)]:
            raise ConfigurationError(
                f"--from keeps the preset's vocabulary. Received: --set {refused[0]}"
            )
        with distribution.single_device(), refused_as("--from"):
            start = load(arguments.start)
    if given is not None:
        options = {k: getattr(arguments, k) for k in ("columns", "languages", "seed")}
        text = read(own.kind, *given, **options)
        choices = choices_for_pairs if own.kind == "pairs" else choices_for_texts
        scale = choices(recipe, size, text, start)
    elif start is not None:
        scale = like_start(recipe, scale, start, except_for="dropout")
    settings = change(recipe, scale, arguments.changes)
    if arguments.changes:
        check(recipe, settings)
    return settings, text, start


# === Choices ===


def choices_for_texts(recipe: Any, size: str, text: Any, start: Any = None) -> Any:
    """Returns the choices of a run on a user's own texts, as its `UserText` says."""
    scale, chosen = _plan(recipe, size, text, start)
    own, fields, model = recipe.user_text, vars(scale), {}
    changes = dict(own.changes)
    small = fields.get("model", fields)
    if start is not None:
        return dataclasses.replace(like_start(recipe, scale, start), **changes)
    if chosen is not None:
        widths = {name: small.get(name, width) for name, width in own.widths.items()}
        model = widened(widths, chosen.width)
        if "vocabulary_size" in fields:
            changes["vocabulary_size"] = chosen.vocabulary
    if "model" in fields:
        model = {"model": small | model}
    model = {name: value for name, value in model.items() if name in fields}
    return dataclasses.replace(scale, **{**model, **changes})


def choices_for_pairs(recipe: Any, size: str, text: Any, start: Any = None) -> Any:
    """Returns the choices of a translator's run on a user's own pairs."""
    pairs, (source, target) = len(text.train), text.languages
    scale, chosen = _plan(recipe, size, text, start)
    changes: dict[str, Any] = {
        "source": source,
        "target": target,
        "corpora": (),
        "tokenizer": {},
    }
    narrow = 1.0 if size == "tiny" else min(1.0, pairs / ENOUGH_PAIRS) ** 0.3
    most = PAPER_VOCABULARY if size == "paper" else scale.vocabulary_size
    if chosen is not None:
        most, changes["max_length"] = chosen.vocabulary, MAX_PIECES
        changes["buckets"] = max(3, round(chosen.buckets * narrow**2))
    if start is not None:
        return dataclasses.replace(like_start(recipe, scale, start), **changes)
    if chosen is not None:
        changes["model"] = model = widened(scale.model, chosen.width * narrow)
        if chosen.width >= 1 and pairs < FEW_PAIRS:
            dropout = [name for name in model if name.endswith("dropout")]
            model |= {name: max(model[name], 0.3) for name in dropout}
    changes["tokenizer"] = {"normalization": "nfc"}
    changes["vocabulary_size"] = vocabulary_size(text.words, len(text.characters), most)
    return dataclasses.replace(scale, **changes)


def _plan(recipe, size, text, start):
    """A scale with epochs and learning rate for a text, and its `Size` if any."""
    if start is None and size not in SIZES:
        return dataclasses.replace(recipe.scales[size], patience=PATIENCE), None
    chosen = SIZES[size] if start is None else FINE_TUNING
    small = recipe.scales["small"]
    rate = small.optimizer.learning_rate * chosen.rate
    optimizer = dataclasses.replace(small.optimizer, learning_rate=rate)
    read = recipe.user_text.sentences * chosen.read
    epochs = math.ceil(read / len(text.train))
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


def like_start(
    recipe: Any, scale: Any, start: Any, except_for: str | None = None
) -> Any:
    """Returns a scale with the model's arguments of the task to start from.

    Its own remain whose names end in `except_for`.
    """
    model, backbone, fields = recipe.classes["model"], start.backbone, vars(scale)
    if type(backbone) is not model.load():
        raise ConfigurationError(
            f"--from: the recipe {recipe.name} trains a {model.load().__name__}. "
            f"Received: a {type(backbone).__name__}"
        )
    config, own = backbone.get_config(), fields.get("model", fields)
    chosen = {name: config[name] for name in model.defaults() if name in config}
    if except_for:
        chosen |= {name: own[name] for name in own if name.endswith(except_for)}
    changes = {"model": chosen, **chosen, "vocabulary_size": backbone.vocabulary_size}
    changes = {name: value for name, value in changes.items() if name in fields}
    return dataclasses.replace(scale, **changes)
