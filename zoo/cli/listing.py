"""The command `zoo list`."""

import argparse
import sys

from zoo.cli.common import BadInput, option, print_json
from zoo.presets import list_presets
from zoo.presets.card import SUMMARY, format_summary, format_task, short_paper

HELP = "list the presets that can be loaded by name"
EXAMPLE = "zoo list --licence apache-2.0"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo list` to its parser."""
    text = "all columns, one line per preset (the default without a terminal)"
    option(command, "--wide", text)
    text = "only presets under this licence, as apache-2.0; cc-by stands for all its "
    text += "versions (and not for cc-by-nc); may be repeated"
    option(command, "--licence --license ID", text, action="append")
    option(command, "--json", "print the cards as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo list`: prints a table of presets, wrapped to fit a terminal."""
    from rich.console import Console
    from rich.table import Table

    cards = _licensed(list_presets(), arguments.licence)
    if arguments.json:
        print_json([card.to_dict() for card in cards])
        return
    wide = arguments.wide or not sys.stdout.isatty()
    heads = SUMMARY if wide else ("task", "licence", "score")
    table = Table(box=None, pad_edge=False, padding=(0, 2 if wide else 1, 0, 0))
    for head in ("name", "paper", *heads):
        table.add_column(head, no_wrap=wide or head == "name")
    for card in cards:
        if wide:
            columns = format_summary(card, f"{card.sizes['parameters']:,}")
        else:
            scores = [f"{s['metric']} {s['value']:.1f}" for s in card.scores[:1]]
            columns = (format_task(card), card.license, *(scores or [""]))
        table.add_row(card.name, short_paper(card), *columns)
    # Captured: rich would end a process whose output is closed in its own way.
    console = Console(
        width=10_000 if wide else None, highlight=False, markup=False, emoji=False
    )
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


def _licensed(cards, wanted):
    """Returns the cards under any of these licences, with a version or without."""
    if not wanted:
        return cards
    wanted = {licence.lower() for licence in wanted}

    def fits(card):
        kind, _, version = card.license.lower().rpartition("-")
        versionless = {kind} if version.replace(".", "").isdigit() else set()
        return wanted & {card.license.lower(), *versionless}

    found = [card for card in cards if fits(card)]
    if not found:
        raise BadInput(
            f"there is no preset under {' or '.join(sorted(wanted))}; there are those "
            f"under {', '.join(sorted({card.license for card in cards}))}"
        )
    return found
