"""What a recipe is, and how it runs: from raw text to a preset."""

import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

MODES = ("auto", "none", "data")  # of `--distribute`
SCALES = ("tiny", "small", "paper")


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
        accumulation: batches whose gradients make one update.
        ema: momentum of an exponential moving average of the weights, which validation
            and the preset then use; None for none.
        average: arguments of `EpochWeights`, `{"keep": 5, "which": "last"}`: the preset
            is the average of the weights after these epochs, not the best epoch's.
        plateau: arguments of `Plateau`, which lowers a constant learning rate.
        word_dropout: arguments of `WordDropout`.
        scheduled_sampling: arguments of `ScheduledSampling`.
        embeddings: files of word vectors that training starts with, `{"source": PATH,
            "target": PATH}`; see `load_embeddings`.
        samples: translations shown and kept after each epoch, of each validation set.
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
    accumulation: int = 1
    ema: float | None = None
    average: dict[str, Any] = dataclasses.field(default_factory=dict)
    plateau: dict[str, Any] = dataclasses.field(default_factory=dict)
    word_dropout: dict[str, Any] = dataclasses.field(default_factory=dict)
    scheduled_sampling: dict[str, Any] = dataclasses.field(default_factory=dict)
    embeddings: dict[str, str] = dataclasses.field(default_factory=dict)
    samples: int = 3


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A preset's recipe: the paper's choices and the preset's, nothing else.

    Attributes:
        name: the preset's name.
        translator: the task class.
        scales: `Scale` for each of "tiny", "small" and "paper".
        card: the card's facts that no run can know: title, paper, description, …
        source, target: languages.
    """

    name: str
    translator: Callable[[], type]
    scales: dict[str, Scale]
    card: dict[str, Any] = dataclasses.field(default_factory=dict)
    source: str = "en"
    target: str = "de"


def run(recipe, argv=None):
    """Runs a recipe from the command line: trains, evaluates, writes the preset.

    A run that was killed goes on from its last epoch when it is started again with the
    same arguments. `OUTPUT` then holds the tokenizer, the checkpoint, the best
    weights, `log.csv`, TensorBoard logs where that is installed, `results.json` and
    `preset/NAME`.

    Args:
        recipe: a `Recipe`.
        argv: arguments; those of the command line by default.

    Returns:
        Exit code: 0; 2 for bad input, a foreign checkpoint or a folder that can't be
        written; 1 where the loss is not finite.
    """
    parser = argparse.ArgumentParser(
        prog=recipe.name, description=f"Trains the preset {recipe.name}."
    )
    parser.add_argument("--scale", choices=SCALES, default="tiny")
    parser.add_argument("--output", help="folder; default: runs/NAME-SCALE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="instead of the recipe's number")
    parser.add_argument("--limit", type=int, help="train on the first LIMIT pairs only")
    parser.add_argument("--restart", action="store_true", help="start afresh")
    parser.add_argument(
        "--finish",
        action="store_true",
        help="train no further: write the preset from the best weights so far",
    )
    parser.add_argument(
        "--distribute",
        choices=MODES,
        default="auto",
        help="data parallelism: over all devices there are (auto), none, or an error "
        "where there is one device only (data)",
    )
    args = parser.parse_args(argv)
    for name, least in (("epochs", 1), ("limit", 1), ("seed", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}. Received: {value}")
    if args.seed >= 2**32:
        parser.error(f"--seed must be below 2 ** 32. Received: {args.seed}")
    scale = recipe.scales[args.scale]
    if args.epochs:
        scale = dataclasses.replace(scale, epochs=args.epochs)
    output = args.output or os.path.join("runs", f"{recipe.name}-{args.scale}")

    from zoo.data import CorpusError
    from zoo.training import distribute
    from zoo.training.checkpoint import CheckpointError
    from zoo.training.process import tune_process

    tune_process()
    try:
        # First of all: an engine must start before its backend computes anything.
        distribution = distribute.start(args.distribute)
        from zoo.training.trainer import Trainer

        os.makedirs(output, exist_ok=True)
        if args.restart and distribution.main:
            clear(output)
        distribution.wait()
        trainer = Trainer(
            recipe,
            args.scale,
            scale,
            output,
            args.seed,
            args.limit,
            distribution=distribution,
        )
        trainer.train(finish=args.finish)
        trainer.finish()
        distribution.stop()
    except (
        CheckpointError,
        CorpusError,
        distribute.DistributionError,
        ImportError,
        OSError,
    ) as error:
        print(f"{recipe.name}: error: {error}", file=sys.stderr)
        return 2
    except FloatingPointError as error:
        print(f"{recipe.name}: error: {error}", file=sys.stderr)
        return 1
    return 0


def clear(output):
    """Removes what an earlier run left, so that nothing of it is taken up again."""
    shutil.rmtree(os.path.join(output, "epoch_weights"), ignore_errors=True)
    for name in (
        "checkpoint.npz",
        "best.weights.h5",
        "tokenizer.spm",
        "log.csv",
        "samples.jsonl",
    ):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(output, name))


def identity_of(recipe, scale_name, scale, seed, limit, tokenizer):
    """What a run must share with the checkpoint that it resumes from.

    Not the number of epochs, nor the patience: they may be changed on the way, and the
    learning rate then follows the new plan from there on.
    """
    # For a plan larger than any: the real one follows the number of epochs.
    optimizer = scale.optimizer(10**6, 100)
    identity = {
        "recipe": recipe.name,
        "scale": scale_name,
        "seed": seed,
        "limit": limit,
        "model": scale.model,
        "optimizer": {
            "class": type(optimizer).__name__,
            **optimizer.get_config(),
            "name": None,  # it counts the instances
        },
        "corpora": scale.corpora,
        "batch": scale.batch,
        "loss": scale.loss,
        "max_length": scale.max_length,
        "vocabulary_size": scale.vocabulary_size,
        "buckets": scale.buckets,
        "pairs": scale.pairs,
        "accumulation": scale.accumulation,
        "ema": scale.ema,
        "plateau": scale.plateau,
        "word_dropout": scale.word_dropout,
        "scheduled_sampling": scale.scheduled_sampling,
        "embeddings": scale.embeddings,
        "vocabulary": hashlib.sha256(tokenizer).hexdigest()[:16],
    }
    # As a checkpoint gives it back.
    return json.loads(json.dumps(identity, default=str))
