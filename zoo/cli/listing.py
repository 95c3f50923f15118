"""The command `zoo list`."""

import argparse
import re
import sys

from zoo.cli.common import BadInput, option, print_json
from zoo.presets import list_presets
from zoo.presets.card import SUMMARY, format_summary, format_task, short_paper

HELP = "list the presets that can be loaded by name"
EXAMPLE = "zoo list --licence apache-2.0"
_WIDE = ("name", "paper", *SUMMARY)
_WIDTH = 10_000  # no line is wrapped


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
    table = Table(box=None, pad_edge=False, padding=(0, 2 if wide else 1, 0, 0))
    for head in _WIDE if wide else ("name", "paper", "task", "licence", "score"):
        table.add_column(head, no_wrap=wide or head == "name")
    for card in cards:
        scores = [f"{score['metric']} {score['value']:.1f}" for score in card.scores]
        columns = (
            format_summary(card, f"{card.sizes['parameters']:,}")
            if wide
            else (format_task(card), card.license, "".join(scores[:1]))
        )
        table.add_row(card.name, short_paper(card), *columns)
    console = Console(
        file=sys.stdout,
        width=_WIDTH if wide else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    # Captured: rich would end a process whose output is closed in its own way.
    with console.capture() as capture:
        console.print(table)
        if not wide:
            console.print(
                "zoo info NAME prints a preset's card; zoo list --wide adds columns."
            )
    for line in capture.get().splitlines():
        print(line.rstrip())


def _licensed(cards, wanted):
    """Returns the cards under any of these licences, with a version or without."""
    if not wanted:
        return cards

    def spellings(card):
        licence = card.license.lower()
        return {licence, re.sub(r"-[0-9.]+$", "", licence)}

    for licence in wanted:
        if not any(licence.lower() in spellings(card) for card in cards):
            raise BadInput(
                f"there is no preset under the licence {licence!r}; there are those "
                f"under {', '.join(sorted({card.license for card in cards}))}"
            )
    wanted = {licence.lower() for licence in wanted}
    return [card for card in cards if wanted & spellings(card)]
