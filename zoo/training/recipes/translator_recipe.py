"""Data, budgets and cards that the translators' recipes share.

`small` gives each preset the same corpora, vocabulary, optimizer and number of epochs,
so that their scores compare the architectures. Learning rate, cells, dropout and
initial weights are chosen for each paper's model, the same ones for all of Luong's;
Bahdanau's has larger batches, too. `long` trains them longer, with more dropout.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import zoo
from zoo.checks import one_of
from zoo.data import list_corpora
from zoo.training.optimizers import Optimizer
from zoo.training.recipe import Recipe, at_least
from zoo.training.recipes.choices import ClassArguments
from zoo.training.recipes.user_text import UserText

CORPORA = (("multi30k", 2), ("tatoeba", 1))
# Of the choices' `batch`, `loss` and `average`.
CLASSES = {
    "batch": ClassArguments(lambda: zoo.training.PairBatches, trial=([[4]], [[4]])),
    "loss": ClassArguments(lambda: zoo.training.SmoothedCrossEntropy, trial=()),
    "average": ClassArguments(lambda: zoo.training.EpochWeights, trial=("", None)),
}


@dataclasses.dataclass(frozen=True)
class Scale:
    """The choices of a translator's run.

    Attributes:
        model: arguments of the backbone, except the size of the vocabulary.
        corpora: (name, repeats of its pairs in an epoch) of each corpus; empty for
            generated text.
        optimizer: an `Optimizer`.
        epochs: passes over the data.
        vocabulary_size: pieces of the SentencePiece model.
        pieces: its `model_type`: "unigram", or "char" for single characters.
        tokenizer: further arguments of `train_tokenizer`: its `normalization`. One's
            own text has "nfc", which keeps every character.
        batch: `batch_tokens=` or `batch_size=` of `PairBatches`.
        loss: arguments of `SmoothedCrossEntropy`.
        max_length: longest sentence in pieces; longer pairs are not trained on.
        patience: epochs without a better validation BLEU before training stops.
        buckets: number of padded shapes, each compiled once.
        pairs: number of generated pairs, if there are no corpora.
        average: arguments of `EpochWeights`, such as `{"keep": 5}`:
            the preset then has the average of these epochs' weights, not the best
            epoch's.
        samples: translations shown after each epoch, for each validation set.
        source, target: languages of the corpora.
        allow_newer: whether a newer snapshot of a changing source is accepted; see
            `zoo.data.load`.

    Raises:
        ValueError: for an unknown corpus, or a number out of range.
    """

    model: dict[str, Any]
    optimizer: Optimizer
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
    pieces: str = "unigram"
    tokenizer: dict[str, str] = dataclasses.field(
        default_factory=lambda: {"normalization": "nmt_nfkc"}
    )
    source: str = "en"
    target: str = "de"
    allow_newer: bool = False

    def __post_init__(self) -> None:
        at_least(self, epochs=1, vocabulary_size=4, max_length=1, buckets=1)
        at_least(self, patience=1, pairs=0, samples=0)
        one_of("pieces", self.pieces, ("unigram", "char"))
        for name, repeats in self.corpora:
            one_of("corpora", name, list_corpora())
            if repeats < 1:
                raise ValueError(
                    f"`corpora` must stand in an epoch at least once. "
                    f"Received: {repeats} times {name!r}"
                )


def translation_recipe(
    name: str,
    translator: Callable[[], Any],
    scales: dict[str, Scale],
    card: dict[str, Any] | None = None,
    file: str | None = None,
    own_text: bool = True,
) -> Recipe:
    """Makes the `Recipe` of a translator.

    Args:
        name, scales, file: see `Recipe`; the scales are of class `Scale`. If `small` is
            one on `CORPORA`, `long` is added.
        translator: function that returns the task class, as
            `lambda: zoo.models.LuongTranslator`.
        card: see `Recipe`; the languages are added to the title.
        own_text: whether it can be trained on a user's own text.
    """

    def train(run):
        from zoo.training.recipes.translation_run import Translation

        return Translation(run, translator()).train().finish()

    bundled = scales.get("small")
    if bundled is not None and bundled.corpora == CORPORA:
        scales = {**scales, "long": scales.get("long", long(bundled))}
    model = ClassArguments(lambda: translator().backbone_cls, trial=(4,))
    files = "two files, aligned by line (my.en my.de), or one table or folder"
    return Recipe(
        name,
        scales,
        train,
        file,
        classes={"model": model, **CLASSES},
        several_devices=True,
        card={"task": "translate", **card} if card else {},
        extra_presets=("tatoeba",),
        user_text=UserText(files, "pairs", 600_000) if own_text else None,
    )


# === Scales ===


def _scale(model, rate, warmup, fields):
    optimizer = Optimizer("adam", rate, "linear", warmup=warmup, clip=1.0)
    return Scale(model, **{"optimizer": optimizer, **fields})


def tiny(model: dict[str, Any], rate: float = 5e-3, **changes: Any) -> Scale:
    """Returns a scale of generated sentences to reverse, in under two minutes.

    It has arguments of the backbone, the highest learning rate, and other fields.
    """
    fields = {"epochs": 12, "vocabulary_size": 34, "batch": {"batch_size": 64}}
    fields |= {"pairs": 6000, "max_length": 32, "buckets": 2}
    return _scale(model, rate, 100, {**fields, **changes})


def small(model: dict[str, Any], rate: float = 8e-3, **changes: Any) -> Scale:
    """Returns a scale of Multi30k and Tatoeba, the size of the bundled presets."""
    fields = {"epochs": 3, "vocabulary_size": 5000, "batch": {"batch_tokens": 768}}
    fields |= {"corpora": CORPORA, "loss": {"smoothing": 0.1}}
    return _scale(model, rate, 400, {**fields, **changes})


def long(small: Scale) -> Scale:
    """Returns a scale of `small`'s text, about six hours on a core for Luong's models.

    Each epoch has the captions six times; dropout is higher, batches are larger, and
    the weights are the mean of the last five epochs'.
    """
    dropout = {key: 0.3 for key in small.model if key.endswith("dropout")}
    return dataclasses.replace(
        small,
        model=small.model | dropout,
        corpora=(("multi30k", 6), ("tatoeba", 1)),
        epochs=12,
        batch={"batch_tokens": 1536},
        average={"keep": 5},
        patience=3,
    )


def multi30k(model: dict[str, Any], rate: float = 4e-3, **changes: Any) -> Scale:
    """Returns a scale of Multi30k only, the strict benchmark, English to German.

    `--set source=de --set target=en` trains the other direction. The weights are the
    mean of the last five epochs'.
    """
    fields = {"epochs": 10, "vocabulary_size": 4000, "average": {"keep": 5}}
    return small(model, rate, **{"corpora": (("multi30k", 1),), **fields, **changes})


def tatoeba(model: dict[str, Any], rate: float = 8e-3, **changes: Any) -> Scale:
    """Returns a scale of Tatoeba only, whose presets are free for any use (CC BY 4.0).

    It is `small` without Multi30k, in twice the epochs: about as many steps.
    """
    return small(model, rate, **{"corpora": (("tatoeba", 1),), "epochs": 6, **changes})


def paper(
    optimizer: Optimizer,
    epochs: int,
    batch: dict[str, int],
    model: dict[str, Any] | None = None,
    **changes: Any,
) -> Scale:
    """Returns a scale of the paper's layers, the class's defaults, and its schedule.

    zoo has no WMT14: the text is that of `small`, its vocabulary 5,000 pieces.
    """
    fields: dict[str, Any] = {
        "corpora": CORPORA,
        "loss": {"normalize": "sentences"},
        "max_length": 50,
    }
    return Scale(model or {}, optimizer, epochs, 5000, batch, **{**fields, **changes})
