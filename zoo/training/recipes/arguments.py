"""The command line of a recipe, and the arguments of a run."""

import argparse
import dataclasses
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.backend import MODES
from zoo.training.config import (
    FREE,
    ConfigurationError,
    choose_backend,
    read_configuration,
    source_digest,
)

# Sizes of a model for a user's own text; see `zoo.training.recipes.sizes`.
SIZE_NAMES = ("tiny", "small", "medium", "paper")
TEXT = ("train", "valid", "test", "columns", "languages", "keep_all", "start")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """The arguments of a run, besides the choices of its recipe.

    Attributes:
        output: folder of the run.
        scale: "tiny", "small", …: the scale that its choices were made from.
        seed: makes the run repeatable on one backend and machine.
        limit: number of examples to train on; None for all.
        precision: dtype policy of the model; its weights are float32.
        distribute: see `zoo.training.distribute.start`.
        changes: the "key=value" by which its choices differ from the scale's.
        restart: whether what an earlier run left in the folder is removed.
        finish: whether training stops at the checkpoint, which then must exist.
        train, valid, test, columns, languages, keep_all: a user's own text; see
            `zoo.data.own.read_pairs`. None for the recipe's own data.
        start: the preset whose weights and tokenizer training starts from; None for
            new ones.
    """

    output: str | os.PathLike[str]
    scale: str = "tiny"
    seed: int = 1
    limit: int | None = None
    precision: str = "float32"
    distribute: str = "none"
    changes: Sequence[str] = ()
    restart: bool = False
    finish: bool = False
    train: Sequence[Sequence[str]] | None = None
    valid: Sequence[str] | None = None
    test: Sequence[str] | None = None
    columns: Sequence[str | int] | None = None
    languages: Sequence[str] | None = None
    keep_all: bool = False
    start: str | None = None


# Options whose name is not that of the argument.
_FLAGS = {"start": "from", "keep_all": "keep-all"}
_JOINED = {"columns": ",", "languages": ":"}  # several values in one word


def parse(recipe: Any, argv: Sequence[str]) -> Arguments:
    """Reads the command line of a recipe.

    `--resume DIR` takes the arguments from the run in DIR, and its backend, unless the
    environment or an imported Keras asks for another.

    Args:
        recipe: a `Recipe`.
        argv: the command line, without the program's name.

    Raises:
        ConfigurationError: if DIR holds no run of this recipe, or a run of another
            backend.
        SystemExit: for `--help`, and with code 2 for bad arguments.
    """
    parser = _parser(recipe)
    options = _options(recipe, parser, argv)
    if options.resume is not None:
        options = _options(recipe, parser, _resume(recipe, options))
    changes = [*options.set, *([f"epochs={options.epochs}"] * bool(options.epochs))]
    # If a key is repeated, the last value counts.
    changes = list({text.partition("=")[0]: text for text in changes}.values())
    names = ("output", "restart", "finish", *recipe.arguments)
    given = {name: getattr(options, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    if "distribute" in recipe.arguments:
        given.setdefault("distribute", "auto")
    if given.get("train"):
        given.setdefault("scale", "small")
    scale = given.get("scale", Arguments.scale)
    if not given.get("output"):  # nor the working folder, for an empty variable
        files = given.get("train")
        name = Path(files[0][0]).name.split(".")[0] if files else scale
        given["output"] = str(Path("runs") / f"{recipe.name}-{name}")
    return Arguments(**given, changes=changes)


def _parser(recipe):
    parser = argparse.ArgumentParser(
        prog=recipe.name, description=f"Runs the recipe {recipe.name}."
    )
    add = parser.add_argument
    add(
        "--scale",
        choices=scale_names(recipe),
        help="default: tiny; small for your own text",
    )
    add(
        "--output",
        metavar="DIR",
        help="default: runs/NAME-SCALE; of your own text, runs/NAME-FILE",
    )
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a hyper-parameter, as in model.hidden_dim=512, "
        "optimizer.learning_rate=1e-3 or loss.smoothing=0.1; may be repeated (an "
        "unknown key lists those that exist)",
    )
    add("--seed", type=int, help="default: 1")
    add("--epochs", type=int, help="replaces the recipe's number")
    if "limit" in recipe.arguments:
        add("--limit", type=int, help="train on the first LIMIT pairs only")
    add(
        "--precision",
        choices=PRECISIONS,
        help="what the model computes in; its weights are float32 (default: float32)",
    )
    add("--restart", action="store_true", help="start afresh")
    add(
        "--resume",
        metavar="DIR",
        help="continue the run in DIR as its config.json says; "
        "--epochs changes the number of epochs",
    )
    add(
        "--finish",
        action="store_true",
        help="stop training and use the best weights so far",
    )
    if recipe.own:
        _add_text(parser.add_argument_group("your own text"), recipe.own.files)
    if "distribute" in recipe.arguments:
        add(
            "--distribute",
            choices=MODES,
            help="data parallelism: over all devices (auto, the default), none, or an "
            "error if there is only one device (data)",
        )
    return parser


def scale_names(recipe: Any) -> list[str]:
    """Returns the recipe's scales, and the sizes for a user's own text if it has any.

    Args:
        recipe: the `Recipe`.
    """
    sizes = [n for n in SIZE_NAMES if n != "paper" or n in recipe.scales]
    return list(dict.fromkeys([*recipe.scales, *(sizes if recipe.own else ())]))


def _add_text(group, files):
    add = group.add_argument
    add(
        "--train",
        nargs="+",
        action="append",
        metavar="FILE",
        help=f"train on it: {files}; .gz, .bz2 and .xz are read, too. May be "
        "repeated; FILE:2 at the end counts its text twice",
    )
    add(
        "--valid",
        nargs="+",
        metavar="FILE",
        help="what chooses the best epoch (default: a part of --train, held out)",
    )
    add("--test", nargs="+", metavar="FILE", help="scored at the end")
    add("--columns", metavar="A,B", help="names of a table's columns, or numbers")
    add(
        "--languages",
        metavar="A:B",
        help="codes of source and target, as en:de (default: by the files' names)",
    )
    add(
        "--keep-all",
        action="store_true",
        default=None,
        help="keep lines that look wrong: overlong, or of unlike lengths",
    )
    add(
        "--from",
        dest="start",
        metavar="PRESET",
        help="fine-tune it: start from its weights, with its tokenizer",
    )


def _check_text(parser, options, scales):
    """Makes paths absolute, for a run that is resumed from elsewhere."""
    given = options.train
    for name in ("valid", "test", "columns", "languages", "keep_all", "start"):
        if getattr(options, name, None) is not None and not given:
            parser.error(f"--{_FLAGS.get(name, name)} needs --train, your own text")
    if not given:
        if options.scale not in (None, *scales):
            parser.error(f"--scale {options.scale} is for your own text: give --train")
        return
    if options.start is not None and options.scale is not None:
        parser.error("--from keeps the preset's sizes and takes no --scale")
    for name, separator in _JOINED.items():
        if text := getattr(options, name, None):
            setattr(options, name, text.split(separator))
    options.train = [list(map(os.path.abspath, files)) for files in given]
    for name in ("valid", "test"):
        if files := getattr(options, name):
            setattr(options, name, list(map(os.path.abspath, files)))
    if options.start and Path(options.start).is_dir():
        options.start = str(Path(options.start).absolute())


def _options(recipe, parser, argv):
    """The parsed and checked options; None where one was not given."""
    options = parser.parse_args(argv)
    for name, least in (("epochs", 1), ("limit", 1), ("seed", 0)):
        value = getattr(options, name, None)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}. Received: {value}")
    if options.seed is not None and options.seed >= 2**32:
        parser.error(f"--seed must be below 2 ** 32. Received: {options.seed}")
    if recipe.own:
        _check_text(parser, options, recipe.scales)
    if options.resume is not None:
        names = {*recipe.arguments, "output"} - {"distribute"}
        given = (name for name in names if getattr(options, name) is not None)
        refused = sorted(_FLAGS.get(name, name) for name in given)
        refused += ["restart"] * options.restart
        refused += [
            text for text in options.set if re.split("[.=]", text)[0] not in FREE
        ]
        if refused:
            parser.error(
                "--resume keeps the run's own choices: it takes --epochs, "
                f"--finish, {'--distribute, ' * ('distribute' in recipe.arguments)}"
                f"and --set of {', '.join(FREE)}. Received: {refused[0]}"
            )
    return options


def _resume(recipe, options):
    """The command line that continues the run in a folder."""
    folder = options.resume
    configuration = read_configuration(folder)
    recipe_name, backend = configuration["recipe"]["name"], configuration["backend"]
    if recipe_name != recipe.name:
        raise ConfigurationError(
            f"{folder} holds a run of the recipe {recipe_name}. Received: {recipe.name}"
        )
    if str(configuration["command"]).startswith("zoo.train("):
        raise ConfigurationError(
            f"the text of the run in {folder} came from a Python program: call "
            "zoo.train again with the same arguments"
        )
    if choose_backend(backend, folder):
        _say(recipe, f"KERAS_BACKEND={backend}, as the run began")
    if configuration["recipe"]["sha256"] != source_digest(recipe):
        _say(recipe, "the recipe's file has changed since the run began")
    # Anything else in the file is ignored: it must not become an option.
    recorded = configuration["arguments"]
    arguments = {name: recorded.get(name) for name in recipe.arguments}
    if arguments.get("start"):
        del arguments["scale"]  # the preset's own
    if getattr(options, "distribute", None) is not None:
        arguments["distribute"] = options.distribute
    argv = [f"--output={folder}", *(["--finish"] * options.finish)]
    for name, value in arguments.items():
        argv += words_of(name, value)
    argv += [f"--set={text}" for text in (*configuration["set"], *options.set)]
    return argv + [f"--epochs={options.epochs}"] * bool(options.epochs)


def words_of(name: str, value: Any) -> list[str]:
    """Returns the words of the command line that give an argument.

    Args:
        name: of the argument.
        value: its value; None or False for none.
    """
    flag = f"--{_FLAGS.get(name, name)}"
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if name == "train":
        return [word for files in value for word in (flag, *files)]
    if name in _JOINED:
        value = _JOINED[name].join(map(str, value))
    return [flag, *value] if isinstance(value, list) else [f"{flag}={value}"]


def _say(recipe, text):
    print(f"[{recipe.name}] {text}", file=sys.stderr, flush=True)
