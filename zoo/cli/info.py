"""The command `zoo info`."""

import argparse
import json
from pathlib import Path

from zoo import presets
from zoo.cli.common import (
    BadInput,
    add_presets,
    bad_input,
    no_words,
    option,
    print_json,
    progress,
    split_presets,
)
from zoo.cli.presets import find_preset
from zoo.presets.card import (
    UNSTATED,
    format_bytes,
    format_speed,
    format_task,
    read_card,
    unstated,
)
from zoo.presets.pages import write_card

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
    folder = find_preset(name)
    if arguments.license is not None or arguments.terms is not None:
        _state(name, folder, arguments)
    card = read_card(folder)
    if arguments.json:
        return print_json(card.to_dict())
    for label, value in _facts(card):
        print(f"{label:<11} {value}")
    if missing := unstated(card.to_dict()):
        progress(
            f"the card lacks {' and '.join(missing)}; state it by zoo info {name} "
            "--license ID --terms TEXT"
        )
    return None


def _state(name, folder, arguments):
    """Writes licence and terms into the card of a model of one's own."""
    if not Path(name).expanduser().is_dir():
        raise BadInput(
            f"--license and --terms are for a model of your own, in a folder, received "
            f"{name}"
        )
    card = read_card(folder).to_dict()
    del card["files"]
    unknown = [corpus for corpus in card["data"] if corpus["terms"] == UNSTATED]
    if arguments.license is not None:
        if card["license"] != UNSTATED:
            raise BadInput(
                f"the card of {name} has a licence already, {card['license']}: that of "
                f"the preset that it started from binds it. Received: "
                f"{arguments.license}"
            )
        card["license"] = arguments.license
    if arguments.terms is not None:
        if not unknown:
            raise BadInput(f"the card of {name} states the terms of all data already")
        for corpus in unknown:
            corpus["terms"] = arguments.terms
    with bad_input(presets.PresetError):
        write_card(folder, card)


def _facts(card):
    paper = card.paper
    lines = [
        ("name", card.name),
        ("title", card.title),
        ("paper", f"{paper['authors']}: {paper['title']}, {paper['year']}"),
        ("", paper["url"]),
        ("equations", card.equations),
        ("class", card.architecture),
        ("task", format_task(card)),
        ("parameters", f"{card.sizes['parameters']:,}"),
        ("vocabulary", f"{card.sizes['vocabulary']:,}"),
        ("size", format_bytes(card.bytes)),
        ("licence", card.license),
        *(("data", f"{corpus['name']}: {corpus['terms']}") for corpus in card.data),
        ("trained by", card.recipe),
        ("", f"seed {card.seed}, commit {card.commit}, {card.date}"),
        ("", f"{card.machine}, {card.training_time}"),
        ("with", json.dumps(card.configuration, ensure_ascii=False)),
    ]
    for score in card.scores:
        where = f"{score['data']} {score['split']}"
        lines.append(("score", f"{score['metric']} {score['value']:.2f} on {where}"))
        lines.append(("", score["signature"]))
        lines.append(("", score["command"]))
    if card.speed:
        lines.append(("speed", f"{format_speed(card)}, {card.speed['machine']}"))
        lines.append(("", card.speed["command"]))
    lines.append(("about", card.description))
    lines.append(("use", card.intended_use))
    lines += [("weakness", line) for line in card.weaknesses]
    for example in card.examples:
        lines.append(("bad output", example["source"]))
        lines.append(("  should be", example["reference"]))
        lines.append(("  comes out", example["output"]))
    return lines
