"""The choices of a run on a user's own text, from a size and the amount of text.

A size scales the recipe's `small` model and says how much text is read in all, so that
little text is read more often: "tiny" trains in minutes, "small" is that of the bundled
presets, "medium" has twice its width. "paper" is the paper's model and schedule.
"""

import dataclasses
import math
from typing import Any

from zoo.run.config import ConfigurationError

LEAST_EPOCHS, MOST_EPOCHS = 3, 100
FEW_PAIRS = 60_000  # below, dropout is higher: the model sees each pair often
MOST_PIECES = 100  # of a sentence; longer ones are left out
PAPER_VOCABULARY = 30_000
PATIENCE = 8  # epochs without a better score


@dataclasses.dataclass(frozen=True)
class Size:
    """A size of model.

    Attributes:
        width: factor on all widths of the recipe's `small` model.
        vocabulary: most pieces or words.
        read: sentences, or pairs of them, that training reads in all.
        buckets: padded shapes, each of which is compiled.
    """

    width: float
    vocabulary: int
    read: int
    buckets: int


SIZES = {
    "tiny": Size(0.25, 2_000, 250_000, 4),
    "small": Size(1.0, 8_000, 600_000, 8),
    "medium": Size(2.0, 16_000, 2_000_000, 14),
}
FINE_TUNING = 200_000  # sentences, or pairs of them, that fine-tuning reads in all
FINE_TUNING_BUCKETS = 4
FINE_TUNING_RATE = 0.25  # factor on the recipe's learning rate


def vocabulary_size(words: int, characters: int, most: int) -> int:
    """Returns the size of a vocabulary of pieces for an amount of text.

    It grows with the square root of the text, as the number of different words does,
    and leaves room for twice the characters, each of which is a piece.

    Args:
        words: of all text.
        characters: number of different ones.
        most: largest size.

    Example:
        >>> vocabulary_size(700_000, 120, most=8000)
        4180
    """
    wanted = max(5 * math.sqrt(words), 2 * characters, 100)
    return min(int(wanted) // 10 * 10, most)


def epochs_for(sentences: int, read: int) -> int:
    """Returns in how many epochs training has read a number of sentences.

    Example:
        >>> epochs_for(29_000, 600_000)
        21
    """
    return min(max(math.ceil(read / sentences), LEAST_EPOCHS), MOST_EPOCHS)


def widened(model: dict[str, Any], factor: float) -> dict[str, Any]:
    """Returns the arguments of a model with all its widths multiplied.

    Initial weights are divided by the square root, since a wider layer sums more.

    Args:
        model: arguments of a backbone; `…_dim` and `filters` are widths.
        factor: what to multiply by.

    Example:
        >>> widened({"hidden_dim": 256, "num_heads": 4}, 0.25)
        {'hidden_dim': 64, 'num_heads': 4}
    """
    changed = dict(model)
    for name, value in model.items():
        if isinstance(value, int) and (name.endswith("_dim") or name == "filters"):
            changed[name] = max(8, round(value * factor / 8) * 8)
        elif name == "initializer_range":
            changed[name] = value / math.sqrt(factor)
    return changed


def regularised(model: dict[str, Any], sentences: int) -> dict[str, Any]:
    """Returns the arguments of a model with a dropout of at least 0.3 for little text.

    Args:
        model: arguments of a backbone.
        sentences: of the text.
    """
    if sentences >= FEW_PAIRS:
        return model
    rates = {name: rate for name, rate in model.items() if name.endswith("dropout")}
    return {**model, **{name: max(rate, 0.3) for name, rate in rates.items()}}


def slower(optimizer: Any, factor: float) -> Any:
    """Returns a recipe's optimizer with its learning rate multiplied."""
    rate = optimizer.learning_rate * factor
    return dataclasses.replace(optimizer, learning_rate=rate)


def choices_for_pairs(recipe: Any, size: str, text: Any, start: Any = None) -> Any:
    """Returns the choices of a translator's run on a user's own pairs.

    Args:
        recipe: the `Recipe`, whose scales are `Scale`s.
        size: "tiny", "small", "medium" or "paper"; another scale of the recipe keeps
            its model and schedule.
        text: the `zoo.data.OwnPairs`.
        start: the translator to start from; None for a new one.

    Raises:
        ConfigurationError: if the translator is not one of the recipe's.
    """
    own = {"corpora": (), "source": text.languages[0], "target": text.languages[1]}
    own |= {"patience": PATIENCE, "max_length": MOST_PIECES}
    if start is not None:
        return _fine_tuning(recipe, own, text, start)
    characters = len({c for pair in text.valid for side in pair for c in side})
    if size not in SIZES:
        scale = recipe.scales[size]
        most = PAPER_VOCABULARY if size == "paper" else scale.vocabulary_size
        pieces = vocabulary_size(text.words, characters, most)
        own |= {"vocabulary_size": pieces, "max_length": scale.max_length}
        return dataclasses.replace(scale, **own)
    chosen, scale = SIZES[size], recipe.scales["small"]
    model = widened(scale.model, chosen.width)
    if chosen.width >= 1:
        model = regularised(model, text.pairs)
    return dataclasses.replace(
        scale,
        model=model,
        # Wider layers take smaller steps.
        optimizer=slower(scale.optimizer, 1 / math.sqrt(max(chosen.width, 1.0))),
        epochs=epochs_for(text.pairs, chosen.read),
        buckets=chosen.buckets,
        vocabulary_size=vocabulary_size(text.words, characters, chosen.vocabulary),
        **own,
    )


def _fine_tuning(recipe, own, text, start):
    task = recipe.classes["model"].load()
    if type(start.backbone) is not task:
        raise ConfigurationError(
            f"--from: the recipe {recipe.name} trains a {task.__name__}. Received: a "
            f"{type(start.backbone).__name__}"
        )
    config, scale = start.backbone.get_config(), recipe.scales["small"]
    left_out = ("name", "dtype", "trainable", "vocabulary_size")
    return dataclasses.replace(
        scale,
        model={name: value for name, value in config.items() if name not in left_out},
        optimizer=slower(scale.optimizer, FINE_TUNING_RATE),
        epochs=epochs_for(text.pairs, FINE_TUNING),
        buckets=FINE_TUNING_BUCKETS,
        vocabulary_size=config["vocabulary_size"],
        **own,
    )
