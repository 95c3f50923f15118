"""The command `zoo info`."""

import argparse
import json

from zoo.cli.common import add_presets, no_words, print_json, split_presets
from zoo.cli.presets import find_preset
from zoo.presets.card import format_bytes, format_speed, format_task, read_card

HELP = "print a preset's card"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo info` to its parser."""
    add_presets(command, "[--json]")
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo info`: prints a preset's card.

    Raises:
        BadInput: if there is no such preset.
    """
    (name,), words = split_presets(arguments)
    no_words(words, arguments)
    card = read_card(find_preset(name))
    if arguments.json:
        return print_json(card.to_dict())
    for label, value in _facts(card):
        print(f"{label:<11} {value}")
    return None


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
