"""A recipe, and how it runs: from the command line or by `zoo.train`."""

import contextlib
import dataclasses
import importlib.util
import itertools
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.checks import integer, one_of
from zoo.files import StrPath, bundled_folder
from zoo.training.config import gpus, only_run_in
from zoo.training.fit import interrupts
from zoo.training.recipes.arguments import PRECISIONS, Arguments, parse
from zoo.training.recipes.choices import ClassArguments
from zoo.training.recipes.user_text import UserText, choose

# Files of recipes/ that are not recipes of their own.
_SHARED = ("bulk_translate", "language_models", "luong")

# Compute capabilities of NVIDIA's GPUs that have no arithmetic in bfloat16.
_NO_BFLOAT16 = ("5.", "6.", "7.")


def at_least(settings: Any, **least: float) -> None:
    """Raises ValueError if a field of the choices is below its minimum; None is not."""
    for name, low in least.items():
        value = getattr(settings, name)
        if value is not None and value < low:
            raise ValueError(f"`{name}` must be at least {low}. Received: {value}")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A training function and its choices for each scale.

    Attributes:
        name: the recipe's name, and that of its preset if it writes one.
        scales: the choices of each of "tiny", "small" and "paper": frozen dataclasses
            of one class. `--set` changes their fields. `--epochs` sets the field
            `epochs`; `optimizer` is an `Optimizer`.
        train: function of a `zoo.training.Run` that makes data and models, and trains
            them. The dict that it returns becomes `results.json`.
        file: the recipe's own file, `__file__`.
        classes: field of the choices that is a dict to the `ClassArguments` that it
            holds: `--set` can then add other arguments of that class. If there is no
            such field, the arguments are fields themselves. If "model" is one of them,
            `train` respects `run.start` and the command line has `--from`.
        several_devices: whether `train` works on several, and saves in process 0 only:
            its command line then has `--distribute`.
        card: the card's metadata that no run can know: title, description, equations,
            paper and task. Runs on the recipe's own data write a card only if there is
            some.
        extra_presets: scales whose preset is saved beside the recipe's own, as
            NAME_SCALE.
        user_text: its `UserText` if `train` respects `run.text`.

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

        if __name__ == "__main__":
            raise SystemExit(RECIPE.main())
        ```
    """

    name: str
    scales: dict[str, Any]
    train: Callable
    file: str | None = None
    classes: dict[str, ClassArguments] = dataclasses.field(default_factory=dict)
    several_devices: bool = False
    card: dict[str, Any] = dataclasses.field(default_factory=dict)
    extra_presets: tuple[str, ...] = ()
    user_text: UserText | None = None

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Runs the recipe from the command line: trains, scores, writes the preset.

        A run that was killed continues from its last checkpoint when it is started
        again with the same arguments, or by `--resume OUTPUT`. `OUTPUT` holds
        `config.json` (all choices, versions and the commit), `results.json`, the
        checkpoint, best weights and `log.csv` of each model (in `models/NAME` if it has
        a name), and whatever else the recipe writes, such as `preset/NAME`.

        Args:
            argv: arguments; those of the command line by default.

        Returns:
            Exit code: 0; 2 for bad input, another run's checkpoint, a full disk or a
            folder that can't be written; 1 if the loss is not finite; 130 after Ctrl-C
            and 143 after SIGTERM, when the command that continues the run is printed.
        """
        argv = sys.argv[1:] if argv is None else list(argv)
        command = shlex.join(["zoo", "train", self.file or self.name, *argv])
        with interrupts.catching():
            try:
                # First, since it may choose the backend that Keras is imported with.
                arguments = parse(self, argv)
                _import_backend()
                run_with(self, arguments, command)
                return 0
            except interrupts.Interrupted as stop:
                backend = os.environ.get("KERAS_BACKEND")
                again = f"KERAS_BACKEND={backend} {command}" if backend else command
                print(f"{self.name}: {stop}. Go on with:\n  {again}", file=sys.stderr)
                return stop.exit_code
            except (FloatingPointError, ValueError, ImportError, OSError) as error:
                if type(error) is ValueError:  # none of zoo's own: a mistake in code
                    raise
                print(f"{self.name}: error: {error}", file=sys.stderr)
                return 1 if isinstance(error, FloatingPointError) else 2


def load_recipe(path: StrPath, beside: StrPath = "") -> Any:
    """Imports a recipe's `.py` file and returns the module.

    Args:
        path: the file, wherever it is; or its name, if it lies beside another one.
        beside: that other file.
    """
    path = Path(beside).parent / path
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_backend():
    # An exception raised by a signal would crash the import of a backend.
    interrupts.hold()
    try:
        # Imported here since it imports Keras, which a recipe's `--help` does without.
        from zoo.training.fast import process

        process.tune_process()
        process.start_backend(devices=False)
        process.start_tensorflow(devices=False)  # Keras's seeds import it
    finally:
        interrupts.release()


def run_with(
    recipe: Recipe, arguments: Arguments, command: str, given: Any = None
) -> None:
    """Runs a recipe in this process, whose backend is started.

    `command` started it; `given` is a user's own text for training, validation and
    test, if `arguments` don't name its files.
    """
    import keras

    from zoo.training import distribute
    from zoo.training.fast.process import start_backend
    from zoo.training.run import Run

    # An engine must start before its backend computes anything.
    distribution = distribute.start(arguments.distribute)
    start_backend()
    main, output = distribution.main, arguments.output
    policy = keras.config.dtype_policy()
    try:
        with only_run_in(output) if main else contextlib.nullcontext():
            distribution.wait()
            arguments = _with_device_defaults(arguments, recipe)
            settings, text, start = choose(recipe, arguments, given, distribution)
            keras.config.set_dtype_policy(arguments.precision)
            run = Run(recipe, settings, arguments, distribution, command, text, start)
            results = recipe.train(run)
            if main and results is not None:
                run.write_results(results)
            distribution.stop()
    finally:
        keras.config.set_dtype_policy(policy)


def _with_device_defaults(arguments, recipe):
    """Fills in the device's defaults, unless a precision is given.

    On a GPU, translators compute in bfloat16, where it has that, and in at most three
    padded shapes, since compiling each takes long.
    """
    if arguments.precision is not None:
        return arguments
    precision, changes = "float32", arguments.changes
    scale = recipe.scales.get(arguments.scale) or next(iter(recipe.scales.values()))
    if recipe.several_devices and hasattr(scale, "buckets") and (found := gpus()):
        if not any(capability.startswith(_NO_BFLOAT16) for _, capability in found):
            precision = "mixed_bfloat16"
        if not any(change.startswith("buckets=") for change in changes):
            changes = [f"buckets={min(scale.buckets, 3)}", *changes]
    return dataclasses.replace(arguments, precision=precision, changes=changes)


# === Recipes by name ===


def recipes() -> dict[str, Path]:
    """Returns the paths of zoo's recipes by name."""
    folder = bundled_folder("_recipes", "recipes")
    paths = [path for path in folder.glob("[!_]*.py") if path.stem not in _SHARED]
    return {path.stem: path for path in sorted(paths)}


def train(
    recipe: str,
    data: Any,
    valid: Any = None,
    test: Any = None,
    *,
    size: str = "small",
    output: StrPath | None = None,
    start: StrPath | None = None,
    columns: str | int | Sequence[str | int] | None = None,
    languages: str | Sequence[str] | None = None,
    seed: int = 1,
    precision: str | None = None,
    choices: Mapping[str, Any] | None = None,
) -> Any:
    """Trains a model on your own text, as `zoo train RECIPE --train …` does.

    Args:
        recipe: name of a recipe, such as "luong_local".
        data: what to train on: `(sources, targets)`, a list of pairs, a table with
            named columns, or paths of files; see `zoo.data.own.read`.
        valid: likewise, what chooses the best epoch. Default: a part of `data`, held
            out.
        test: likewise, what is scored at the end; None for nothing.
        size: "tiny", "small", "medium" or "paper"; vocabulary, epochs and batches
            follow from the amount of text, too.
        output: folder of the run, which a second call with the same arguments resumes.
            Default: a new one, `runs/RECIPE-1` or the next number.
        start: preset to fine-tune: its weights and its tokenizer.
        columns: names of a table's columns, or numbers if it has no header.
        languages: codes of source and target, for the card.
        seed: makes the training repeatable; 0 or more.
        precision: what it computes in; None for float32, or on a GPU mixed_bfloat16.
        choices: hyper-parameters to change, by the keys of `--set`, such as
            `{"epochs": 3, "model.hidden_dim": 128}`.

    Returns:
        The trained task, as `zoo.load` gives it.

    Raises:
        ValueError: for an unknown recipe, size or choice, or text that can't be used.
        OSError: if a file can't be read or written.
        FloatingPointError: if the loss is not finite.

    Example:
        ```python
        pairs = [("a dog", "ein Hund"), ("a cat", "eine Katze"), ...]
        translator = zoo.train("luong_local", pairs, size="tiny")
        translator.translate("a dog")
        ```
    """
    from zoo.presets.registry import load

    if recipe not in (paths := recipes()):
        raise ValueError(
            f"unknown recipe; allowed are [{', '.join(paths)}]. Received: {recipe!r}"
        )
    if output is None:
        folders = (Path("runs", f"{recipe}-{number}") for number in itertools.count(1))
        output = next(folder for folder in folders if not folder.exists())
    arguments = Arguments(
        Path(output),
        scale=size,
        seed=integer("seed", seed, 0),
        precision=one_of("precision", precision, (None, *PRECISIONS)),
        columns=_as_list(columns),
        languages=_as_list(languages),
        start=None if start is None else os.fspath(start),
        changes=[
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in (choices or {}).items()
        ],
    )
    found = load_recipe(paths[recipe]).RECIPE
    run_with(found, arguments, f"zoo.train({recipe!r}, …)", (data, valid, test))
    return load(arguments.output)


def _as_list(values):
    """One or several values as a list; None for none."""
    return [values] if isinstance(values, (str, int)) else values and list(values)
