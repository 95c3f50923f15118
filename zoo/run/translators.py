"""The common part of the translators' recipes: data, budget, card.

`small` gives each preset the same corpora, vocabulary, optimizer and number of epochs,
so that their scores tell the architectures apart. Learning rate, cells, dropout and
initial weights are what suits each paper's model, the same for all of Luong's;
Bahdanau's has larger batches, too.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from zoo.run.config import ConfigurationError
from zoo.run.recipe import Recipe, at_least
from zoo.training.optimizers import Optimizer

CORPORA = (("multi30k", 2), ("tatoeba", 1))


@dataclasses.dataclass(frozen=True)
class Scale:
    """One size of a recipe: every choice that a run makes.

    Attributes:
        model: arguments of the backbone, the vocabulary's size left out.
        corpora: (name, how often its pairs stand in an epoch) of each corpus; empty for
            generated text.
        optimizer: an `Optimizer`, or any function of (steps per epoch, epochs) to a
            Keras optimizer.
        epochs: passes over the data.
        vocabulary_size: pieces of the SentencePiece model.
        batch: `batch_tokens=` or `batch_size=` of `PairBatches`.
        loss: arguments of `SmoothedCrossEntropy`.
        max_length: longest sentence in pieces; longer pairs are left out of training.
        patience: epochs without a better validation BLEU before training stops.
        buckets: padded shapes, each compiled once.
        pairs: generated sentences, without corpora.
        average: arguments of `EpochWeights`, `{"keep": 5, "which": "last"}`: the preset
            is the average of the weights after these epochs, not the best epoch's.
        samples: translations shown and kept after each epoch, of each validation set.
        source, target: languages of the corpora.
        allow_newer: whether a newer snapshot of a source that changes will do; see
            `zoo.data.load`.

    Raises:
        ValueError: for a number out of range.
    """

    model: dict[str, Any]
    optimizer: Callable
    epochs: int
    vocabulary_size: int
    batch: dict[str, int]
    corpora: tuple[tuple[str, int], ...] = ()
    loss: dict[str, Any] = dataclasses.field(default_factory=dict)
    max_length: int = 64
    patience: int | None = None
    buckets: int = 14
    pairs: int = 0
    average: dict[str, Any] = dataclasses.field(default_factory=dict)
    samples: int = 3
    source: str = "en"
    target: str = "de"
    allow_newer: bool = False

    def __post_init__(self):
        least = {"epochs": 1, "vocabulary_size": 4, "max_length": 1, "buckets": 1}
        least |= {"patience": 1, "pairs": 0, "samples": 0}
        at_least(self, **least)
        for name, repeats in self.corpora:
            if repeats < 1:
                raise ValueError(
                    f"`corpora` must stand in an epoch at least once. "
                    f"Received: {repeats} times {name!r}"
                )


def task(name):
    """A function that imports a task class of `zoo.models` when it is called: a
    recipe's `--help` needs no Keras."""

    def imported():
        from zoo import models

        return getattr(models, name)

    return imported


def translation_recipe(name, translator, scales, card=None, file=None, parts=()):
    """The `Recipe` of a translator.

    Args:
        name: the preset's name.
        translator: function that gives the task class; see `task`.
        scales: `Scale` for each of "tiny", "small" and "paper", and for others of its
            own.
        card: the card's facts that no run can know: title (the languages are put
            behind it), paper, description, …; None for no card.
        file, parts: see `Recipe`.
    """
    return Recipe(
        name,
        scales,
        functools.partial(_train, translator),
        file,
        classes=_classes(translator),
        check=functools.partial(_check, translator),
        options=("limit", "distribute"),
        parts=parts,
        card=card or {},
    )


def _train(translator, run):
    from zoo.run.translation import Translation

    Translation(run, translator()).train().finish()


def _classes(translator):
    def of_training(name):
        def imported():
            from zoo import training

            return getattr(training, name)

        return imported

    return {
        "model": lambda: getattr(translator(), "backbone_cls", None),
        "batch": of_training("PairBatches"),
        "loss": of_training("SmoothedCrossEntropy"),
        "average": of_training("EpochWeights"),
    }


def _check(translator, scale, changes):
    """Tries the choices of a scale before any work is done. Of the model, which is
    built with random weights and let go, only where its arguments were set.

    Raises:
        ConfigurationError: if the loss, the batches, the optimizer or the model refuse
            their arguments, or a corpus is unknown.
    """
    from zoo.data import list_corpora

    known = list_corpora()
    for name, _ in scale.corpora:
        if name not in known:
            raise ConfigurationError(
                f"corpora: known are {', '.join(known)}. Received: {name!r}"
            )
    made = {name: given() for name, given in _classes(translator).items()}
    trials = {
        "batch": lambda: made["batch"]([[4]], [[4]], **scale.batch),
        "loss": lambda: made["loss"](**scale.loss),
        "optimizer": lambda: scale.optimizer(1000, scale.epochs),
    }
    if scale.average:
        trials["average"] = lambda: made["average"]("", None, **scale.average)
    if any(text.startswith("model.") for text in changes):
        size = scale.vocabulary_size
        trials["model"] = lambda: made["model"](vocabulary_size=size, **scale.model)
    for name, trial in trials.items():
        try:
            trial()
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(f"{name}: {error}") from error


def tiny(model, rate=5e-3, **changes):
    """Generated sentences to reverse, in under two minutes.

    Args:
        model: arguments of the backbone.
        rate: highest learning rate.
        **changes: other fields of the `Scale`.
    """
    fields = {
        "optimizer": Optimizer("adam", rate, "linear", warmup=100, clip=1.0),
        "epochs": 12,
        "vocabulary_size": 34,
        "batch": {"batch_size": 64},
        "pairs": 6000,
        "max_length": 32,
        "buckets": 2,
    }
    return Scale(model=model, **{**fields, **changes})


def small(model, rate=8e-3, **changes):
    """Multi30k and Tatoeba, the size of the bundled presets; arguments as in `tiny`."""
    fields = {
        "corpora": CORPORA,
        "optimizer": Optimizer("adam", rate, "linear", warmup=400, clip=1.0),
        "loss": {"smoothing": 0.1},
        "epochs": 3,
        "vocabulary_size": 5000,
        "batch": {"batch_tokens": 768},
        "max_length": 64,
    }
    return Scale(model=model, **{**fields, **changes})


def multi30k(model, rate=4e-3, **changes):
    """Multi30k alone, the strict benchmark, English to German; the other direction by
    `--set source=de --set target=en`. Arguments as in `tiny`."""
    fields = {
        "corpora": (("multi30k", 1),),
        "optimizer": Optimizer("adam", rate, "linear", warmup=400, clip=1.0),
        "loss": {"smoothing": 0.1},
        "epochs": 10,
        "vocabulary_size": 4000,
        "batch": {"batch_tokens": 768},
        "max_length": 64,
    }
    return Scale(model=model, **{**fields, **changes})


def paper(optimizer, epochs, batch, model=None, **changes):
    """The paper's layers, which are the class's defaults, and its schedule.

    WMT14 is not among the zoo's corpora: the text is that of `small`, its vocabulary
    5,000 pieces.

    Args:
        optimizer: an `Optimizer`.
        epochs: passes over the data.
        batch: arguments of `PairBatches`.
        model: arguments of the backbone that are not its defaults.
        **changes: other fields of the `Scale`.
    """
    fields = {
        "corpora": CORPORA,
        "loss": {"normalize": "sentences"},
        "vocabulary_size": 5000,
        "max_length": 50,
    }
    given = {"optimizer": optimizer, "epochs": epochs, "batch": batch}
    return Scale(model=model or {}, **{**fields, **given, **changes})


# Of some models: below 0.8 words for one of the reference on four captions in one
# source (tools.papers.reproduce), and what examples of bad output show.
SHORT = (
    "What is longer than its training sentences, as several captions in one text, "
    "comes out too short."
)
LOOPS = "Now and then it repeats a word, or a piece of one, up to the limit of length."


def card(title, description, equations, paper, weaknesses=()):
    """The facts of a translator's card that no run can know.

    Args:
        title: str, the model; the languages are put behind it.
        description: str, the architecture and where it is not the paper's.
        equations: str, which of the paper's, and which variant.
        paper: dict of title, authors, year and url.
        weaknesses: list of str, this model's own; those of all are added.
    """
    return {
        "title": title,
        "description": description,
        "equations": equations,
        "intended_use": (
            "Teaching, comparison of architectures, tests of serving. It translates "
            "short everyday sentences and image captions; it is no general translator."
        ),
        "weaknesses": [
            *weaknesses,
            "Long sentences, and anything unlike captions and everyday phrases: news, "
            "law, technical text.",
            "Names, rare words and numbers of several digits are spelled out in pieces "
            "and often come out wrong.",
        ],
        "license": "cc-by-nc-4.0",
        "paper": paper,
        "task": "translate",
    }
