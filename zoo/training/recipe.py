"""A recipe, and how it runs: command line, folder, signals, exit code."""

import contextlib
import dataclasses
import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import zoo
from zoo.training import interrupts
from zoo.training.config import (
    ConfigurationError,
    checkpoints,
    clear,
    make_configuration,
    only_run_in,
)
from zoo.training.recipes.arguments import TEXT, Arguments, parse
from zoo.training.recipes.choices import change
from zoo.training.recipes.own_text import (
    TextTask,
    check_text,
    given_files,
    load_start,
    read_text,
    scale_of,
    tell_plan,
)


def at_least(settings: Any, **least: float) -> None:
    """Checks that fields of a recipe's choices are not below their minimum.

    Args:
        settings: the choices.
        **least: minimum of each field; a value of None is always allowed.

    Raises:
        ValueError: naming the field.
    """
    for name, low in least.items():
        value = getattr(settings, name)
        if value is not None and value < low:
            raise ValueError(f"`{name}` must be at least {low}. Received: {value}")


def importer(module: str, name: str) -> Callable[[], Any]:
    """Returns a function that imports a name: a recipe's `--help` needs no Keras."""
    return lambda: getattr(importlib.import_module(module), name)


def try_choices(trials: dict[str, Callable[[], Any]]) -> None:
    """Builds each part from its settings, so that bad values fail early.

    Args:
        trials: name of each field to a function that makes what it describes.

    Raises:
        ConfigurationError: naming the field whose values were refused.
    """
    for name, trial in trials.items():
        try:
            trial()
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(f"{name}: {error}") from error


@dataclasses.dataclass(frozen=True)
class ClassArguments:
    """The class whose arguments a dict in a recipe's choices holds.

    Attributes:
        load: function that returns the class; see `importer`.
        reserved: arguments that `--set` can't change, since the run gives them.
            (Arguments without a default, `name` and `dtype` can never be changed.)
        alternatives: arguments of which setting one drops the others.
    """

    load: Callable[[], Any]
    reserved: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a model is trained: a function, and the choices of each scale.

    Attributes:
        name: the recipe's name, and that of its preset if it writes one.
        scales: the choices of each of "tiny", "small" and "paper": frozen dataclasses
            of one class. `--set` changes their fields. A field `epochs` is what
            `--epochs` sets; `optimizer` may be an `Optimizer`.
        train: function of a `zoo.training.Run` that makes data and models, and trains
            them. The dict that it returns becomes `results.json`; None if it has
            written its results itself.
        file: the recipe's own file, `__file__`.
        classes: field of the choices that is a dict to the `ClassArguments` that it
            holds: `--set` can then add other arguments of that class.
        check: function of the choices and of the "key=value" that were set, called
            before any work is done; it raises a ConfigurationError.
        options: further options of its command line: "limit" if `train` respects
            `run.limit`, and "distribute" if it makes its model in
            `run.distribution.scope()` and saves in process 0 only.
        parts: further files that its code is in, such as that of its family.
        card: the card's metadata that no run can know: title, paper, …
        beside: scale whose preset stands beside the recipe's own, as NAME_SCALE, to a
            function that makes its card of `card`.
        own: its `TextTask` if `train` respects `run.text` and `run.start`.

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
    classes: dict[str, ClassArguments] = dataclasses.field(default_factory=dict)
    check: Callable | None = None
    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    card: dict[str, Any] = dataclasses.field(default_factory=dict)
    beside: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = dataclasses.field(
        default_factory=dict
    )
    own: TextTask | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of its command line that `config.json` keeps."""
        text = TEXT if self.own else ()
        return ("scale", "seed", "precision", *self.options, *text)


def load_recipe(path: str | os.PathLike[str]) -> Any:
    """Imports the file of a recipe, wherever it is.

    Args:
        path: path of a `.py` file.

    Returns:
        The module.
    """
    spec: Any = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_recipe(recipe: Recipe, argv: Sequence[str] | None = None) -> int:
    """Runs a recipe from the command line: trains, evaluates, writes the preset.

    A run that was killed continues from its last checkpoint when it is started again
    with the same arguments, or by `--resume OUTPUT`. `OUTPUT` holds `config.json` (all
    choices, versions and the commit), `results.json`, the checkpoint, best weights and
    `log.csv` of each model (in `models/NAME` if it has a name), and whatever else the
    recipe writes, such as `preset/NAME`.

    Args:
        recipe: a `Recipe`.
        argv: arguments; those of the command line by default.

    Returns:
        Exit code: 0; 2 for bad input, another run's checkpoint, a full disk or a folder
        that can't be written; 1 if the loss is not finite; 130 after Ctrl-C and 143
        after SIGTERM, when the command that continues the run is printed.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    command, arguments = shlex.join(["zoo", "train", recipe.name, *argv]), None
    with interrupts.catching():
        try:
            # First, since it may choose the backend that Keras is imported with.
            arguments = parse(recipe, argv)
            return _start(recipe, arguments, command)
        except ConfigurationError as error:
            return _report(recipe, error, 2)
        except interrupts.Interrupted as stop:
            again = _command_to_resume(recipe, arguments, command)
            print(f"{recipe.name}: {stop}. Go on with:\n  {again}", file=sys.stderr)
            return stop.exit_code


def _command_to_resume(recipe, arguments, command):
    output = arguments and arguments.output
    if output and Path(output, "config.json").exists() and checkpoints(output):
        package = Path(zoo.__file__).resolve().parent
        bundled = (None, package.parent / "recipes", package / "_recipes")  # in a wheel
        folder = recipe.file and Path(recipe.file).resolve().parent
        file = [] if folder in bundled else [recipe.file]
        return shlex.join(["zoo", "train", *file, "--resume", str(output)])
    backend = os.environ.get("KERAS_BACKEND")
    return f"KERAS_BACKEND={backend} {command}" if backend else command


def _start(recipe, arguments, command):
    """Starts the backend and runs the recipe. Returns the exit code."""
    # Imported here since they import Keras, which a recipe's `--help` does without.
    from zoo.training.fast.process import start_backend, start_tensorflow, tune_process

    # An exception raised by a signal would crash the import of a backend.
    interrupts.hold()
    try:
        tune_process()
        devices = "distribute" not in recipe.options
        start_backend(devices)
        start_tensorflow(devices)  # Keras's seeds import it if it is installed
        from zoo.data import CorpusError
        from zoo.training.checkpoint import CheckpointError
        from zoo.training.distribute import DistributionError
    except ImportError as error:
        return _report(recipe, error, 2)
    finally:
        interrupts.release()
    try:
        results = run_with(recipe, arguments, command)
        if results is not None:
            print(results)
    except (
        CheckpointError,
        ConfigurationError,
        CorpusError,
        DistributionError,
        ImportError,
        OSError,
    ) as error:
        return _report(recipe, error, 2)
    except FloatingPointError as error:
        return _report(recipe, error, 1)
    return 0


def _report(recipe, error, code):
    print(f"{recipe.name}: error: {error}", file=sys.stderr)
    return code


def run_with(
    recipe: Recipe, arguments: Arguments, command: str, given: Any = None
) -> str | None:
    """Runs a recipe in this process, whose backend is started.

    Args:
        recipe: the `Recipe`.
        arguments: the run's `Arguments`.
        command: what started it, for `config.json`.
        given: a user's own text for training, validation and test, if `arguments`
            don't name its files.

    Returns:
        The text of `results.json`; None in all processes but the first, or if the
        recipe has written it itself.
    """
    import keras

    from zoo.training import distribute
    from zoo.training.fast.process import start_backend
    from zoo.training.run import Run

    # An engine must start before its backend computes anything.
    distribution = distribute.start(arguments.distribute)
    start_backend()
    if arguments.train:
        given = given_files(arguments)
    if given is not None:
        check_text(recipe, arguments)
    main, output = distribution.main, arguments.output
    policy = keras.config.dtype_policy()
    try:
        with only_run_in(output) if main else contextlib.nullcontext():
            if arguments.restart and main:
                clear(output)
            distribution.wait()
            with distribution.single_device():
                start = load_start(arguments.start)
            text = given and _read_in_turn(recipe, arguments, given, distribution)
            scale = scale_of(recipe, arguments, text, start)
            settings = change(recipe, scale, arguments.changes)
            if recipe.check:
                recipe.check(settings, arguments.changes)
            if text is not None and main:
                tell_plan(recipe, arguments, settings)
            with distribution.single_device():  # it makes an optimizer, to describe it
                configuration = make_configuration(recipe, settings, arguments, command)
            keras.config.set_dtype_policy(arguments.precision)
            material = {"text": text, "start": start}
            run = Run(
                recipe, settings, arguments, distribution, configuration, **material
            )
            results = recipe.train(run)
            wrote = main and results is not None
            results = run.write_results(results) if wrote else None
            distribution.stop()
            return results
    finally:
        keras.config.set_dtype_policy(policy)


def _read_in_turn(recipe, arguments, given, distribution):
    """A user's own text; of several processes the first reads, the others its cache."""
    if not distribution.main:
        distribution.wait()
    text = read_text(recipe, arguments, *given, distribution.main)
    if distribution.main:
        distribution.wait()
    return text
