"""The command line of a recipe, made from the dataclass of a run's arguments."""

import argparse
import dataclasses
import inspect
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.backend import MODES, configured_backend
from zoo.training.config import UNRECORDED, ConfigurationError, read_configuration

Files = Sequence[str]
# Sizes of a model for a user's own text; see `zoo.training.recipes.user_text`.
SIZE_NAMES = ("tiny", "small", "medium", "paper")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """The arguments of a run, besides the choices of its recipe.

    Its fields are the options of the command line, its lines here their help.

    Attributes:
        output: folder of the run. Default: runs/NAME-SCALE; for your own text,
            runs/NAME-FILE.
        scale: what the choices are made from. Default: tiny; small for your own text.
        changes: hyper-parameter to change, as model.hidden_dim=512; may be repeated
            (an unknown key lists those that exist).
        seed: makes the run repeatable on one backend and machine. Default: 1.
        precision: what the model computes in; its weights are float32. Default:
            float32; for a translator on a GPU mixed_bfloat16.
        distribute: data parallelism: over all devices (auto, the default), none, or an
            error if there is only one device (data).
        finish: stop training and use the best weights so far.
        train: train on it; .gz is read, too. May be repeated.
        valid: what chooses the best epoch. Default: a part of --train, held out.
        test: scored at the end.
        columns: names of a table's columns, or numbers.
        languages: codes of source and target, as en:de. Default: by the files' names.
        start: fine-tune it: start from its weights, with its tokenizer and its model's
            arguments, of which --set may change those that don't change the weights'
            shapes.
    """

    output: str | os.PathLike[str]
    scale: str = "tiny"
    changes: Sequence[str] = ()
    seed: int = 1
    precision: str | None = None
    distribute: str = "none"
    finish: bool = False
    train: Sequence[Files] | None = None
    valid: Files | None = None
    test: Files | None = None
    columns: Sequence[str | int] | None = None
    languages: Sequence[str] | None = None
    start: str | None = None


def _absolute(name):
    """The absolute path of a folder, since a run may be resumed from elsewhere."""
    return str(Path(name).absolute()) if Path(name).is_dir() else name


PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
TEXT = ("train", "valid", "test", "columns", "languages")
# What argparse needs to know of options beyond their names and help.
_FLAGS = {"start": "--from", "changes": "--set"}
_FILES = {"metavar": "FILE", "nargs": "+", "type": os.path.abspath}
_WORDS: dict[str, dict[str, Any]] = {
    "output": {"metavar": "DIR"},
    "changes": {"metavar": "KEY=VALUE", "action": "append"},
    "seed": {"type": int},
    "precision": {"choices": PRECISIONS},
    "distribute": {"choices": MODES},
    "finish": {"action": "store_true"},
    "train": {**_FILES, "action": "append"},
    "valid": _FILES,
    "test": _FILES,
    "columns": {"metavar": "A,B", "type": lambda text: text.split(",")},
    "languages": {"metavar": "A:B", "type": lambda text: text.split(":")},
    "start": {"metavar": "PRESET", "type": _absolute},
}


def scale_names(recipe: Any) -> list[str]:
    """Returns the recipe's scales, and the sizes for own text if it takes any."""
    sizes = [n for n in SIZE_NAMES if n != "paper" or n in recipe.scales]
    return list(dict.fromkeys([*recipe.scales, *(sizes if recipe.user_text else ())]))


def parse(recipe: Any, argv: Sequence[str]) -> Arguments:
    """Reads the command line of a recipe, without the program's name.

    `--resume DIR` takes the arguments from the run in DIR, and its backend.

    Raises:
        ConfigurationError: if DIR holds no run of this recipe, or one of another
            backend than the environment or an imported Keras asks for.
        SystemExit: for `--help`, and with code 2 for bad arguments.
    """
    parser = _parser(recipe)
    options = vars(parser.parse_args(argv))
    given = {name: value for name, value in options.items() if value is not None}
    if (folder := given.pop("resume", None)) is not None:
        if "output" in given:
            parser.error("--resume takes no --output")
        old = _read_run(recipe, folder)
        # Anything else in the file is ignored: it must not become an option.
        names = options.keys() - {*UNRECORDED, "resume"}
        told = {name: old["arguments"].get(name) for name in names}
        kept = {name: value for name, value in told.items() if value is not None}
        changes = [*old["set"], *given.get("changes", ())]
        given = {**kept, **given, "output": folder, "changes": changes}
    files = given.get("train")
    if "start" in given and files and options["scale"]:
        parser.error("--from with --train keeps the preset's sizes: no --scale")
    if without := [name for name in TEXT if given.get(name) and not files]:
        parser.error(f"{flag(without[0])} needs --train, your own text")
    if (options["seed"] or 0) < 0:
        parser.error(f"--seed must be 0 or more. Received: {options['seed']}")
    if recipe.several_devices:
        given.setdefault("distribute", "auto")
    scale = given.setdefault("scale", "small" if files else "tiny")
    if not given.get("output"):  # nor the working folder, for an empty variable
        name = Path(files[0][0]).name.split(".")[0] if files else scale
        given["output"] = str(Path("runs") / f"{recipe.name}-{name or scale}")
    # If a key is repeated, the last value counts.
    last = {text.partition("=")[0]: text for text in given.pop("changes", ())}
    return Arguments(**given, changes=list(last.values()))


def _parser(recipe):
    parser = argparse.ArgumentParser(
        prog=recipe.name, description=f"Runs the recipe {recipe.name}."
    )
    add, text = parser.add_argument, "replaces the recipe's number, as --set epochs=N"
    options = {"type": "epochs={}".format, "action": "append", "metavar": "N"}
    add("--epochs", dest="changes", help=text, **options)
    text = "continue the run in DIR as its config.json says, with other --epochs or not"
    add("--resume", metavar="DIR", help=text)
    told = inspect.cleandoc(Arguments.__doc__ or "").partition("Attributes:")[2]
    told = dict(re.findall(r"^    (\w+): ((?:.|\n     )*)", told, re.M))
    own = recipe.user_text and parser.add_argument_group(
        "your own text", recipe.user_text.files
    )
    scales = {"scale": {"metavar": "|".join(scale_names(recipe))}}
    able = {"distribute": recipe.several_devices, "start": "model" in recipe.classes}
    for name, text in told.items():
        group = own if name in TEXT else parser
        if group and able.get(name, True):
            words = {"help": " ".join(text.split()), **(_WORDS | scales).get(name, {})}
            group.add_argument(flag(name), dest=name, default=None, **words)
    return parser


def _read_run(recipe, folder):
    """The configuration of the run in a folder; chooses its backend."""
    configuration = read_configuration(folder)
    name, backend = configuration["recipe"]["name"], configuration["backend"]
    if name != recipe.name:
        raise ConfigurationError(
            f"{folder} holds a run of the recipe {name}. Received: {recipe.name}"
        )
    if str(configuration.get("command")).startswith("zoo.train("):
        raise ConfigurationError(
            f"the text of the run in {folder} came from a Python program: call "
            "zoo.train again with the same arguments"
        )
    chosen = "keras" in sys.modules or os.environ.get("KERAS_BACKEND")
    if chosen and configured_backend() != backend:
        raise ConfigurationError(
            f"the run in {folder} began under {backend}: resume it with "
            f"KERAS_BACKEND={backend}. Received: {configured_backend()}"
        )
    os.environ["KERAS_BACKEND"] = backend
    return configuration


def words_of(arguments: Arguments, *names: str) -> list[str]:
    """Returns the words of a command line that give some arguments.

    Files and folders are named without the folders that hold them.
    """
    words = []
    for name in names:
        value: Any = getattr(arguments, name)
        if value is None:
            continue
        if separator := {"columns": ",", "languages": ":"}.get(name):
            value = separator.join(map(str, value))
        for each in value if name in ("train", "changes") else [value]:
            several = each if isinstance(each, (list, tuple)) else [str(each)]
            if name in ("train", "valid", "test", "start"):
                several = [Path(file).name for file in several]
            words += [flag(name), *several]
    return words


def flag(name: str) -> str:
    """Returns the option of the command line that sets an argument."""
    return _FLAGS.get(name, f"--{name}")
