"""The command line of a recipe, made from the dataclass of a run's arguments."""

import argparse
import dataclasses
import inspect
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.backend import MODES
from zoo.training.config import (
    MAY_CHANGE_ON_RESUME,
    ConfigurationError,
    choose_backend,
    read_configuration,
    say,
    source_digest,
)

Files = Sequence[str]
# Sizes of a model for a user's own text; see `zoo.training.recipes.sizes`.
SIZE_NAMES = ("tiny", "small", "medium", "paper")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """The arguments of a run, besides the choices of its recipe.

    Its fields are the options of the command line, its lines here their help.

    Attributes:
        output: folder of the run. Default: runs/NAME-SCALE; for your own text,
            runs/NAME-FILE.
        scale: what the choices are made from. Default: tiny; small for your own text.
        changes: hyper-parameters to change, as model.hidden_dim=512,
            optimizer.learning_rate=1e-3 or loss.smoothing=0.1; may be repeated (an
            unknown key lists those that exist).
        seed: makes the run repeatable on one backend and machine. Default: 1.
        limit: train on the first LIMIT examples only.
        precision: what the model computes in; its weights are float32, the default.
        distribute: data parallelism: over all devices (auto, the default), none, or an
            error if there is only one device (data).
        restart: start afresh; what an earlier run left in the folder is removed.
        finish: stop training and use the best weights so far.
        train: train on it; .gz, .bz2 and .xz are read, too. May be repeated; FILE:2 at
            the end counts its text twice.
        valid: what chooses the best epoch. Default: a part of --train, held out.
        test: scored at the end.
        columns: names of a table's columns, or numbers.
        languages: codes of source and target, as en:de. Default: by the files' names.
        keep_all: keep lines that look wrong: overlong, or of unlike lengths.
        start: fine-tune it: start from its weights, with its tokenizer.
    """

    output: str | os.PathLike[str]
    scale: str = "tiny"
    changes: Sequence[str] = ()
    seed: int = 1
    limit: int | None = None
    precision: str = "float32"
    distribute: str = "none"
    restart: bool = False
    finish: bool = False
    train: Sequence[Files] | None = None
    valid: Files | None = None
    test: Files | None = None
    columns: Sequence[str | int] | None = None
    languages: Sequence[str] | None = None
    keep_all: bool = False
    start: str | None = None


def _whole(least):
    """Reads a whole number that is not below the least one."""

    def integer(text):
        if int(text) < least:
            message = f"must be at least {least}. Received: {text}"
            raise argparse.ArgumentTypeError(message)
        if int(text) >= 2**32:
            raise argparse.ArgumentTypeError(f"must be below 2 ** 32. Received: {text}")
        return int(text)

    return integer


def _absolute(name):
    """The absolute path of a folder, since a run may be resumed from elsewhere."""
    return str(Path(name).absolute()) if Path(name).is_dir() else name


TEXT = ("train", "valid", "test", "columns", "languages", "keep_all", "start")
_UNRECORDED = ("output", "changes", "restart", "finish")  # not kept in config.json
# What argparse needs to know of options beyond their names and help.
_FLAGS = {"start": "from", "keep_all": "keep-all", "changes": "set"}
_JOINED = {"columns": ",", "languages": ":"}  # several values in one word
_FILES = {"metavar": "FILE", "nargs": "+", "type": os.path.abspath}
_WORDS: dict[str, dict[str, Any]] = {
    "output": {"metavar": "DIR"},
    "changes": {"metavar": "KEY=VALUE", "action": "append"},
    "seed": {"type": _whole(0)},
    "limit": {"type": _whole(1)},
    "precision": {"choices": ("float32", "mixed_bfloat16", "mixed_float16")},
    "distribute": {"choices": MODES},
    "restart": {"action": "store_true"},
    "finish": {"action": "store_true"},
    "train": {**_FILES, "action": "append"},
    "valid": _FILES,
    "test": _FILES,
    "columns": {"metavar": "A,B", "type": lambda text: text.split(",")},
    "languages": {"metavar": "A:B", "type": lambda text: text.split(":")},
    "keep_all": {"action": "store_true"},
    "start": {"metavar": "PRESET", "type": _absolute},
}


def options_of(recipe: Any) -> list[str]:
    """Returns the fields of `Arguments` that are options of a recipe."""
    only = {"limit", "distribute"}.difference(recipe.options)
    only |= set() if recipe.user_text else set(TEXT)
    names = (field.name for field in dataclasses.fields(Arguments))
    return [name for name in names if name not in only]


def recorded_options(recipe: Any) -> list[str]:
    """Returns those of them that `config.json` keeps."""
    return [name for name in options_of(recipe) if name not in _UNRECORDED]


def scale_names(recipe: Any) -> list[str]:
    """Returns the recipe's scales, and the sizes for own text if it takes any."""
    sizes = [n for n in SIZE_NAMES if n != "paper" or n in recipe.scales]
    return list(dict.fromkeys([*recipe.scales, *(sizes if recipe.user_text else ())]))


def parse(recipe: Any, argv: Sequence[str]) -> Arguments:
    """Reads the command line of a recipe, without the program's name.

    `--resume DIR` takes the arguments from the run in DIR, and its backend, unless the
    environment or an imported Keras asks for another.

    Raises:
        ConfigurationError: if DIR holds no run of this recipe, or a run of another
            backend.
        SystemExit: for `--help`, and with code 2 for bad arguments.
    """
    parser = _parser(recipe)
    options = _checked(recipe, parser, parser.parse_args(argv))
    if options.resume is not None:
        argv = _words_to_resume(recipe, options)
        options = _checked(recipe, parser, parser.parse_args(argv))
    epochs = [f"epochs={options.epochs}"] * bool(options.epochs)
    # If a key is repeated, the last value counts.
    changes = {t.partition("=")[0]: t for t in [*(options.changes or ()), *epochs]}
    given = {name: getattr(options, name) for name in options_of(recipe)}
    given = {k: v for k, v in given.items() if v is not None}
    given["changes"] = list(changes.values())
    if "distribute" in recipe.options:
        given.setdefault("distribute", "auto")
    if files := given.get("train"):
        given.setdefault("scale", "small")
    if not given.get("output"):  # nor the working folder, for an empty variable
        name = Path(files[0][0]).name.split(".")[0] if files else None
        name = name or given.get("scale", Arguments.scale)
        given["output"] = str(Path("runs") / f"{recipe.name}-{name}")
    return Arguments(**given)


def _parser(recipe):
    parser = argparse.ArgumentParser(
        prog=recipe.name, description=f"Runs the recipe {recipe.name}."
    )
    parser.add_argument("--epochs", type=_whole(1), help="replaces the recipe's number")
    parser.add_argument(
        "--resume",
        metavar="DIR",
        help="continue the run in DIR as its config.json says; --epochs changes the "
        "number of epochs",
    )
    told = inspect.cleandoc(Arguments.__doc__ or "").partition("Attributes:")[2]
    told = dict(re.findall(r"^    (\w+): ((?:.|\n     )*)", told, re.M))
    text = recipe.user_text and parser.add_argument_group(
        "your own text", recipe.user_text.files
    )
    for name in options_of(recipe):
        words = {"help": " ".join(told.get(name, "").split()), **_WORDS.get(name, {})}
        if name == "scale":
            words["choices"] = scale_names(recipe)
        group = text if name in TEXT else parser
        group.add_argument(_flag(name), dest=name, default=None, **words)
    return parser


def _checked(recipe, parser, options):
    """The options, each None if it wasn't given, if they go together."""
    if recipe.user_text:
        _check_text(parser, options, recipe.scales)
    if options.resume is not None:
        _check_resume(recipe, parser, options)
    return options


def _check_text(parser, options, scales):
    if not options.train:
        for name in TEXT:
            if getattr(options, name) is not None:
                parser.error(f"{_flag(name)} needs --train, your own text")
        if options.scale not in (None, *scales):
            parser.error(f"--scale {options.scale} is for your own text: give --train")
    elif options.start is not None and options.scale is not None:
        parser.error("--from keeps the preset's sizes and takes no --scale")


def _check_resume(recipe, parser, options):
    kept = [n for n in options_of(recipe) if n not in ("changes", "finish")]
    given = (n for n in kept if n != "distribute" and getattr(options, n) is not None)
    refused = sorted(_flag(name)[2:] for name in given)
    keys = {text: re.split("[.=]", text)[0] for text in options.changes or ()}
    refused += [text for text, key in keys.items() if key not in MAY_CHANGE_ON_RESUME]
    if refused:
        parser.error(
            "--resume keeps the run's own choices: it takes --epochs, --finish, "
            f"{'--distribute, ' * ('distribute' in recipe.options)}and --set of "
            f"{', '.join(MAY_CHANGE_ON_RESUME)}. Received: {refused[0]}"
        )


def _words_to_resume(recipe, options):
    """The command line that continues the run in a folder."""
    folder = options.resume
    configuration = read_configuration(folder)
    name, backend = configuration["recipe"]["name"], configuration["backend"]
    if name != recipe.name:
        raise ConfigurationError(
            f"{folder} holds a run of the recipe {name}. Received: {recipe.name}"
        )
    if str(configuration["command"]).startswith("zoo.train("):
        raise ConfigurationError(
            f"the text of the run in {folder} came from a Python program: call "
            "zoo.train again with the same arguments"
        )
    if choose_backend(backend, folder):
        say(recipe.name, f"KERAS_BACKEND={backend}, as the run began")
    if configuration["recipe"]["sha256"] != source_digest(recipe):
        say(recipe.name, "the recipe's file has changed since the run began")
    # Anything else in the file is ignored: it must not become an option.
    kept = configuration["arguments"]
    arguments = {name: kept.get(name) for name in recorded_options(recipe)}
    if arguments.get("start"):
        del arguments["scale"]  # the preset's own
    if getattr(options, "distribute", None) is not None:
        arguments["distribute"] = options.distribute
    argv = [f"--output={folder}", *(["--finish"] * bool(options.finish))]
    argv += [word for item in arguments.items() for word in words_of(*item)]
    changes = (*configuration["set"], *(options.changes or ()))
    argv += [f"--set={text}" for text in changes]
    return argv + [f"--epochs={options.epochs}"] * bool(options.epochs)


def words_of(name: str, value: Any) -> list[str]:
    """Returns the words of the command line that give an argument its value."""
    if value is None or value is False:
        return []
    flag = _flag(name)
    if value is True:
        return [flag]
    if name == "train":
        return [word for files in value for word in (flag, *files)]
    if name in _JOINED:
        value = _JOINED[name].join(map(str, value))
    return [flag, *value] if isinstance(value, list) else [f"{flag}={value}"]


def _flag(name):
    return f"--{_FLAGS.get(name, name)}"
