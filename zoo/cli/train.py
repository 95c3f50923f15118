"""The command `zoo train`: finds a recipe, by name, path or run, and runs it."""

import argparse
import re
from pathlib import Path

from zoo.cli.common import BadInput, Parser
from zoo.cli.presets import card_of, find_preset
from zoo.training.config import read_configuration
from zoo.training.recipe import load_recipe
from zoo.training.train_by_name import recipes

HELP = "train a model on a recipe's text or on your own; resume a run"
EXAMPLE = "zoo train luong_local --train my.en my.de --output runs/mine"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo train` to its parser."""
    command.usage = (
        "zoo train RECIPE [--scale SCALE] [--set KEY=VALUE ...] [...]\n"
        "       zoo train RECIPE --train my.en my.de [--valid FILE ...] [--test ...]\n"
        "       zoo train --from PRESET --train my.en my.de [...]\n"
        "       zoo train --resume DIR [--epochs N] [--finish]\n"
        "       zoo train --list"
    )
    command.add_argument("recipe", metavar="RECIPE", help="name, or path of a .py file")
    text = "arguments of the recipe; zoo train RECIPE --help describes them"
    command.add_argument("options", metavar="...", nargs=argparse.REMAINDER, help=text)


def with_recipe(words: list[str]) -> list[str]:
    """Inserts an empty recipe name before options without a recipe.

    argparse passes options on only after a positional argument.
    """
    if words[:1] in (["-h"], ["--help"]):
        return words
    return [""] * (not words or words[0].startswith("-")) + words


def run(arguments: argparse.Namespace) -> int | None:
    """Runs `zoo train`; returns the recipe's exit code."""
    name, options = arguments.recipe, arguments.options
    if not name and options == ["--list"]:
        return print("\n".join(recipes()))
    path = _recipe(name or _recipe_of_options(options))
    recipe = getattr(load_recipe(path), "RECIPE", None)
    if recipe is None:
        raise BadInput(f"a recipe's file defines RECIPE, received {path}")
    return recipe.main(options)


def _recipe(name):
    if name.endswith(".py") and Path(name).is_file():
        return Path(name)
    if name not in recipes():
        raise BadInput(
            f"a recipe is the path of a .py file or one of [{', '.join(recipes())}], "
            f"received {name!r}"
        )
    return recipes()[name]


def _recipe_of_options(options):
    """Returns the recipe's name for `--resume DIR` or `--from PRESET`."""
    parser = Parser(prog="zoo train", add_help=False)
    parser.add_argument("--resume", metavar="DIR")
    parser.add_argument("--from", dest="start", metavar="PRESET")
    given, names = parser.parse_known_args(options)[0], []
    if given.resume is not None:
        names = [read_configuration(given.resume)["recipe"]["name"]]
    elif given.start is not None:
        # The command that trained it: "python recipes/NAME.py …" or "zoo train NAME …".
        card = card_of(find_preset(given.start))
        names = re.findall(r"\w+", card.recipe) if card else []
    for word in names:
        if word in recipes():
            return word
    # A folder must not determine which other code runs.
    raise BadInput(
        "give the recipe, as in zoo train FILE.py "
        f"{' '.join(options)}; zoo's are [{', '.join(recipes())}]"
    )
