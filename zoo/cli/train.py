"""The commands `train`, which finds a recipe by name, path or run, and `report`."""

import argparse
import re
from pathlib import Path

from zoo.cli.common import BadInput, Parser, command, words
from zoo.cli.presets import find_preset
from zoo.presets.card import card_of
from zoo.training.config import read_configuration
from zoo.training.recipe import load_recipe, recipes

_OPTIONS = (
    "of the recipe, as --scale small, or --train my.en my.de; zoo train RECIPE --help "
    "has all. Without RECIPE: --from PRESET --train FILE ..., or --resume DIR "
    "[--epochs N] [--finish], or --list"
)


@command(
    "zoo train luong_local --train my.en my.de --output runs/mine",
    words("recipe", "RECIPE", "name, or path of a .py file"),
    words("options", "...", _OPTIONS, nargs=argparse.REMAINDER),
)
def train(arguments: argparse.Namespace) -> int | None:
    """Trains a model on a recipe's text or on your own; resumes a run."""
    name, options = "", arguments.words  # not parsed: the recipe does that
    if options and not options[0].startswith("-"):
        name, *options = options
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
    parser.add_argument("--resume")
    parser.add_argument("--from", dest="start")
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


@command("zoo report runs/mine", words("folder", "FOLDER", "of a run, as runs/NAME"))
def report(arguments: argparse.Namespace) -> None:
    """Writes a run's curves, scores and samples."""
    from zoo.training import write_report

    print(write_report(arguments.folder))
