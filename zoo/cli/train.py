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
    "has all. Without RECIPE: --from PRESET [--train FILE ...], or --resume DIR "
    "[--epochs N] [--finish], or --list"
)


@command(
    "zoo train luong_local --train my.en my.de --output runs/mine",
    words("recipe", "RECIPE", "name, or path of a .py file"),
    words("options", "...", _OPTIONS, nargs=argparse.REMAINDER),
)
def train(arguments: argparse.Namespace) -> int | None:
    """Trains a model on a recipe's text or on your own; resumes a run."""
    options, known, name = arguments.words, recipes(), "no recipe"
    if options == ["--list"]:
        return print("\n".join(known))
    if options and not options[0].startswith("-"):
        name, *options = options
        found = Path(name) if name.endswith(".py") else known.get(name)
    else:  # a folder must not determine which other code runs
        found = next((known[x] for x in _names(options) if x in known), None)
    if found is None or not found.is_file():
        raise BadInput(
            f"a recipe is the path of a .py file or one of [{', '.join(known)}], as in "
            f"zoo train FILE.py {' '.join(options)}; received {name}"
        )
    recipe = getattr(load_recipe(found), "RECIPE", None)
    if recipe is None:
        raise BadInput(f"a recipe's file defines RECIPE, received {found}")
    return recipe.main(options)


def _names(options):
    """Returns what may name the recipe of `--resume DIR` or `--from PRESET`."""
    parser = Parser(prog="zoo train", add_help=False)
    parser.add_argument("--resume")
    parser.add_argument("--from", dest="start")
    given, _ = parser.parse_known_args(options)
    if given.resume is not None:
        return [read_configuration(given.resume)["recipe"]["name"]]
    # "python recipes/NAME.py …" or "zoo train NAME …" made it, or a script: its name.
    card = given.start and card_of(find_preset(given.start))
    return re.findall(r"\w+", f"{card.recipe} {card.name}") if card else []


@command("zoo report runs/mine", words("folder", "FOLDER", "of a run, as runs/NAME"))
def report(arguments: argparse.Namespace) -> None:
    """Writes a run's curves, scores and worst outputs."""
    from zoo.training import write_report

    print(write_report(arguments.folder))
