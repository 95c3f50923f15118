"""The command `zoo info`."""

import argparse
from pathlib import Path

from zoo.cli.common import (
    BadInput,
    add_presets,
    no_words,
    option,
    print_json,
    progress,
    split_presets,
)
from zoo.cli.presets import find_preset
from zoo.presets.card import UNSTATED, read_card, unstated
from zoo.presets.pages import readme, write_card

HELP = "print a preset's card"
EXAMPLE = "zoo info luong_local"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo info` to its parser."""
    add_presets(command, "[--json]")
    option(command, "--json", "print it as JSON")
    text = "state the licence of your own model's weights, as cc-by-4.0"
    option(command, "--license ID", text)
    option(command, "--terms TEXT", "state the terms of the text it was trained on")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo info`: prints a preset's card, or states in it what was unknown."""
    (name,), words = split_presets(arguments)
    no_words(words, arguments)
    if arguments.license is not None or arguments.terms is not None:
        _state(name, arguments)
    card = read_card(find_preset(name))
    if arguments.json:
        return print_json(card.to_dict())
    print(readme(card))
    if missing := unstated(card.to_dict()):
        progress(
            f"the card lacks {' and '.join(missing)}; state it by zoo info {name} "
            "--license ID --terms TEXT"
        )
    return None


def _state(name, arguments):
    """Writes licence and terms into the card of a model of one's own."""
    if not Path(name).expanduser().is_dir():
        raise BadInput(f"--license and --terms are for a folder, received {name}")
    folder = find_preset(name)
    card = read_card(folder).to_dict()
    del card["files"]
    if arguments.license is not None:
        if card["license"] != UNSTATED:
            raise BadInput(
                f"the card of {name} has a licence already, {card['license']}: that of "
                f"the preset that it started from binds it. Received: "
                f"{arguments.license}"
            )
        card["license"] = arguments.license
    if arguments.terms is not None:
        unknown = [corpus for corpus in card["data"] if corpus["terms"] == UNSTATED]
        if not unknown:
            raise BadInput(f"the card of {name} states the terms of all data already")
        for corpus in unknown:
            corpus["terms"] = arguments.terms
    write_card(folder, card)
