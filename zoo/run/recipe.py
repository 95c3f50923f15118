"""A recipe, and how it runs: command line, folder, signals, exit code."""

import contextlib
import dataclasses
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zoo
from zoo.run.arguments import parse, recorded
from zoo.run.choices import change
from zoo.run.config import (
    ConfigurationError,
    checkpoints,
    clear,
    make_configuration,
    only_run_in,
    write_configuration,
)
from zoo.training import interrupts

SCALES = ("tiny", "small", "paper")


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
    """How a model is trained: a function, and the choices of each scale.

    Attributes:
        name: the recipe's name, and that of its preset if it writes one.
        scales: the choices of each of "tiny", "small" and "paper": frozen dataclasses
            of one class. `--set` changes their fields. A field `epochs` is what
            `--epochs` sets; `optimizer` may be an `Optimizer`.
        train: function of a `zoo.run.Run` that makes data and models, and trains them.
            What it returns, a dict that JSON can hold, becomes `results.json`; None if
            it has written its results itself.
        file: the recipe's own file, `__file__`.
        classes: field of the choices that is a dict -> function to the class whose
            arguments it holds: `--set` then can add others of its arguments.
        check: function of the choices and of the "key=value" that were set, called
            before any work is done; it raises a ConfigurationError.
        options: which of the command line's further options it has: "limit", where
            `train` heeds `run.limit`, and "distribute", where it makes its model in
            `run.distribution.scope()` and saves in process 0 alone.
        parts: other files that it is made of, as that of its family.
        card: the facts of the preset's card that no run can know: title, paper, …

    Example:
        ```python
        @dataclasses.dataclass(frozen=True)
        class Choices:
            epochs: int
            optimizer: Optimizer
            hidden_dim: int = 16

        def train(run):
            x, y = ...
            model = BiRNN(..., hidden_dim=run.settings.hidden_dim)
            batches = ArrayBatches((x, y), batch_size=32, seed=run.seed)
            run.fit(model, batches, loss="mse")
            return {"mse": ...}

        RECIPE = Recipe("mine", {"tiny": Choices(...), ...}, train, __file__)

        def main(argv=None):
            return run_recipe(RECIPE, argv)
        ```
    """

    name: str
    scales: dict[str, Any]
    train: Callable
    file: str | None = None
    classes: dict[str, Callable] = dataclasses.field(default_factory=dict)
    check: Callable | None = None
    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    card: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def arguments(self):
        """The options of the command line that `config.json` keeps."""
        return ("scale", "seed", "precision", *self.options)


def load_recipe(path):
    """Imports the file of a recipe, from wherever it is.

    Args:
        path: path of a `.py` file.

    Returns:
        The module.
    """
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_recipe(recipe, argv=None):
    """Runs a recipe from the command line: trains, evaluates, writes the preset.

    A run that was killed goes on from its last checkpoint when it is started again with
    the same arguments, or by `--resume OUTPUT`. `OUTPUT` then holds `config.json` (all
    choices, versions and the commit), `results.json`, for each model that is trained
    its checkpoint, best weights and `log.csv` (those of a model with a name in
    `models/NAME`), and what else the recipe writes, as `preset/NAME`.

    Args:
        recipe: a `Recipe`.
        argv: arguments; those of the command line by default.

    Returns:
        Exit code: 0; 2 for bad input, a foreign checkpoint, a full disk or a folder
        that can't be written; 1 where the loss is not finite; 130
        after Ctrl-C and 143 after SIGTERM, with the command to go on with printed.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    command, args = shlex.join(["zoo", "train", recipe.name, *argv]), None
    with interrupts.catching():
        try:
            # Before Keras is imported: it may choose a backend.
            args = parse(recipe, argv)
            return _started(recipe, args, command)
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


def _started(recipe, args, command):
    """Starts the backend and runs the recipe; the exit code."""
    # Not above: they import Keras, and a recipe's `--help` needs none.
    from zoo.training.process import start_backend, start_tensorflow, tune_process

    # While a backend is being imported, an exception of a signal's would crash it.
    interrupts.hold()
    try:
        tune_process()
        devices = "distribute" not in recipe.options
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
        _run(recipe, args, command)
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

    from zoo.run.run import Run
    from zoo.training import distribute
    from zoo.training.process import start_backend

    # First of all: an engine must start before its backend computes anything.
    distribution = distribute.start(getattr(args, "distribute", "none"))
    start_backend()
    settings = change(recipe, recipe.scales[args.scale], args.set)
    if recipe.check:
        recipe.check(settings, args.set)
    output = output_of(recipe, args)

    def record():
        arguments = recorded(recipe, args)
        with distribution.single_device():  # it makes an optimizer, to look at it
            configuration = make_configuration(
                recipe, settings, arguments, args.set, command
            )
        write_configuration(output, configuration, goes_on=bool(checkpoints(output)))

    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy(args.precision)
    try:
        with only_run_in(output) if distribution.main else contextlib.nullcontext():
            if args.restart and distribution.main:
                clear(output)
            distribution.wait()
            # It refuses another run's folder.
            run = Run(
                recipe,
                settings,
                output,
                scale=args.scale,
                seed=args.seed,
                limit=getattr(args, "limit", None),
                changes=args.set,
                finish=args.finish,
                distribution=distribution,
                record=record if distribution.main else None,
            )
            results = recipe.train(run)
            if results is not None and distribution.main:
                print(run.write_results(results))
            distribution.stop()
    finally:
        keras.config.set_dtype_policy(around)


def output_of(recipe, args):
    """The folder of a run."""
    return args.output or os.path.join("runs", f"{recipe.name}-{args.scale}")
