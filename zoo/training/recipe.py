"""What a recipe is, and how it runs: from raw text to a preset."""

import contextlib
import dataclasses
import glob
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import zoo
from zoo.files import lock
from zoo.training.configuration import (
    ConfigurationError,
    make_configuration,
    write_configuration,
)

SCALES = ("tiny", "small", "paper")
MODELS = "models"  # the folder in which each of a run's several models has its own


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
    accumulation: int = 1
    ema: float | None = None
    average: dict[str, Any] = dataclasses.field(default_factory=dict)
    plateau: dict[str, Any] = dataclasses.field(default_factory=dict)
    word_dropout: dict[str, Any] = dataclasses.field(default_factory=dict)
    scheduled_sampling: dict[str, Any] = dataclasses.field(default_factory=dict)
    embeddings: dict[str, str] = dataclasses.field(default_factory=dict)
    samples: int = 3
    source: str = "en"
    target: str = "de"
    allow_newer: bool = False

    def __post_init__(self):
        least = {"epochs": 1, "vocabulary_size": 4, "max_length": 1, "buckets": 1}
        least |= {"patience": 1, "pairs": 0, "accumulation": 1, "samples": 0}
        at_least(self, **least)
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"`ema` must be between 0 and 1. Received: {self.ema}")
        for name, repeats in self.corpora:
            if repeats < 1:
                raise ValueError(
                    f"`corpora` must stand in an epoch at least once. "
                    f"Received: {repeats} times {name!r}"
                )


def at_least(settings, **least):
    """Refuses a field of a recipe's choices that is below its least value.

    Raises:
        ValueError: naming the field; None is let through.
    """
    for name, low in least.items():
        value = getattr(settings, name)
        if value is not None and value < low:
            raise ValueError(f"`{name}` must be at least {low}. Received: {value}")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A preset's recipe: the paper's choices and the preset's, nothing else.

    Attributes:
        name: the preset's name.
        translator: the task class.
        scales: `Scale` for each of "tiny", "small" and "paper", and for others of its
            own.
        card: the card's facts that no run can know: title (the languages are put
            behind it), paper, description, …
        file: the recipe's own file, `__file__`.
    """

    # The options of the command line that config.json keeps.
    arguments: ClassVar = ("scale", "seed", "limit", "precision", "distribute")

    name: str
    translator: Callable[[], type]
    scales: dict[str, Scale]
    card: dict[str, Any] = dataclasses.field(default_factory=dict)
    file: str | None = None


def run(recipe, argv=None, work=None):
    """Runs a recipe from the command line: trains, evaluates, writes the preset.

    A run that was killed goes on from its last checkpoint when it is started again with
    the same arguments, or by `--resume OUTPUT`. `OUTPUT` then holds `config.json` (all
    choices, versions and the commit), the tokenizer, the checkpoint, the best weights,
    `log.csv`, TensorBoard logs where that is installed, `results.json` and
    `preset/NAME`.

    Args:
        recipe: a `Recipe`.
        argv: arguments; those of the command line by default.
        work: function of the recipe, its parsed arguments and the command that does
            the work; by default what a `Recipe` needs.

    Returns:
        Exit code: 0; 2 for bad input, a foreign checkpoint, a full disk or a folder
        that can't be written; 1 where the loss is not finite for the second time; 130
        after Ctrl-C and 143 after SIGTERM, with the command to go on with printed.
    """
    from zoo.training import interrupts
    from zoo.training.arguments import parse

    argv = sys.argv[1:] if argv is None else list(argv)
    command, args = shlex.join(["zoo", "train", recipe.name, *argv]), None
    with interrupts.catching():
        try:
            # Before Keras is imported: it may choose a backend.
            args = parse(recipe, argv)
            return _train(recipe, args, command, work or _run)
        except ConfigurationError as error:
            return _failed(recipe, error, 2)
        except interrupts.Interrupted as stop:
            output = args and output_of(recipe, args)
            told = output and os.path.exists(os.path.join(output, "config.json"))
            if told and checkpoints(output):
                own = [] if _is_bundled(recipe) else [recipe.file]
                command = shlex.join(["zoo", "train", *own, "--resume", output])
            elif backend := os.environ.get("KERAS_BACKEND"):
                command = f"KERAS_BACKEND={backend} {command}"
            print(f"{recipe.name}: {stop}. Go on with:\n  {command}", file=sys.stderr)
            return stop.exit_code


def _is_bundled(recipe):
    """Whether a recipe is one of the zoo's, beside the package or in a wheel in it."""
    package = Path(zoo.__file__).resolve().parent
    folder = recipe.file and Path(recipe.file).resolve().parent
    return folder in (None, package.parent / "recipes", package / "_recipes")


def _train(recipe, args, command, work):
    """Returns the exit code."""
    from zoo.training import interrupts
    from zoo.training.process import start_backend, start_tensorflow, tune_process

    # While a backend is being imported, an exception of a signal's would crash it.
    interrupts.hold()
    try:
        tune_process()
        devices = "distribute" not in recipe.arguments
        start_backend(devices)
        start_tensorflow(devices)  # Keras's seeds import it wherever it is installed
        from zoo.data import CorpusError
        from zoo.training.checkpoint import CheckpointError
        from zoo.training.distribute import DistributionError
    except ImportError as error:
        return _failed(recipe, error, 2)
    finally:
        interrupts.release()
    try:
        work(recipe, args, command)
    except (
        CheckpointError,
        ConfigurationError,
        CorpusError,
        DistributionError,
        ImportError,
        OSError,
    ) as error:
        return _failed(recipe, error, 2)
    except FloatingPointError as error:
        return _failed(recipe, error, 1)
    return 0


def _failed(recipe, error, code):
    print(f"{recipe.name}: error: {error}", file=sys.stderr)
    return code


def _run(recipe, args, command):
    import keras

    from zoo.training import distribute
    from zoo.training.arguments import recorded
    from zoo.training.process import start_backend
    from zoo.training.settings import override

    # First of all: an engine must start before its backend computes anything.
    distribution = distribute.start(args.distribute)
    start_backend()
    from zoo.training.trainer import Trainer

    scale = override(recipe, recipe.scales[args.scale], args.set)
    output = output_of(recipe, args)
    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy(args.precision)
    try:
        with alone_in(output) if distribution.main else contextlib.nullcontext():
            if args.restart and distribution.main:
                clear(output)
            distribution.wait()
            goes_on = os.path.exists(os.path.join(output, "checkpoint.npz"))
            trainer = Trainer(
                recipe,
                args.scale,
                scale,
                output,
                args.seed,
                args.limit,
                distribution=distribution,
                settings=args.set,
            )
            # Not before the trainer has refused the checkpoint of another run.
            if distribution.main:
                choices = recorded(recipe, args)
                with distribution.alone():  # it makes an optimizer, to look at it
                    told = make_configuration(recipe, scale, choices, args.set, command)
                write_configuration(output, told, goes_on)
            trainer.train(finish=args.finish)
            trainer.finish()
            distribution.stop()
    finally:
        keras.config.set_dtype_policy(around)


def output_of(recipe, args):
    """The folder of a run."""
    return args.output or os.path.join("runs", f"{recipe.name}-{args.scale}")


@contextlib.contextmanager
def alone_in(output):
    """Makes the folder of a run, and keeps other runs out of it.

    Raises:
        ConfigurationError: if another process trains there.
        OSError: if it can't be made.
    """
    os.makedirs(output, exist_ok=True)
    try:
        held = lock(output)
    except BlockingIOError:
        raise ConfigurationError(
            f"another run is at work in {output}: wait for it, or give this one a "
            "folder of its own by --output"
        ) from None
    try:
        yield
    finally:
        os.close(held)


def checkpoints(output):
    """The paths of a run's checkpoints: its own, and those of its several models."""
    own = os.path.join(output, "checkpoint.npz")
    models = os.path.join(glob.escape(output), MODELS, "*", "checkpoint.npz")
    return [path for path in (own, *sorted(glob.glob(models))) if os.path.exists(path)]


def clear(output):
    """Removes what an earlier run left, so that nothing of it is taken up again."""
    for name in ("epoch_weights", "tensorboard", MODELS):
        shutil.rmtree(os.path.join(output, name), ignore_errors=True)
    for name in (
        "checkpoint.npz",
        "best.weights.h5",
        "tokenizer.spm",
        "log.csv",
        "samples.jsonl",
        "config.json",
        "results.json",
        "report.html",
    ):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(output, name))
