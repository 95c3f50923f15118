"""The command `zoo list`."""

import sys

from zoo.cli.common import print_json
from zoo.presets import list_presets
from zoo.presets.card import (
    format_bytes,
    format_scores,
    format_speed,
    short_machine,
    short_paper,
)

HELP = "list the presets that can be loaded by name"


def add_arguments(command):
    """Adds the arguments of `zoo list` to its parser."""
    command.add_argument(
        "--wide",
        action="store_true",
        help="all columns, one line a preset (as where the output is no terminal)",
    )
    command.add_argument("--json", action="store_true", help="print the cards as JSON")


def run(arguments):
    """Runs `zoo list`.

    Args:
        arguments: `argparse.Namespace` of the command.
    """
    cards = list_presets()
    if arguments.json:
        print_json([card.to_dict() for card in cards])
    elif arguments.wide or not sys.stdout.isatty():
        _print_wide(cards)
    else:
        _print_table(cards)


def _print_table(cards):
    """Prints a table as wide as the terminal: long cells are wrapped."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("name", "paper", "task", "score"):
        table.add_column(head, no_wrap=head == "name")
    for card in cards:
        task = f"{card.task} {'-'.join(card.languages)}"
        scores = [f"{score['metric']} {score['value']:.1f}" for score in card.scores]
        table.add_row(card.name, short_paper(card), task, "".join(scores[:1]))
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.print(table)
    console.print("zoo info NAME prints a preset's card; zoo list --wide adds columns.")


def _print_wide(cards):
    heads = ("name", "paper", "task", "parameters", "size", "scores", "training")
    rows = [(*heads, "CPU speed")]
    for card in cards:
        rows.append(
            (
                card.name,
                short_paper(card),
                f"{card.task} {'-'.join(card.languages)}",
                f"{card.sizes['parameters']:,}",
                format_bytes(card.bytes),
                format_scores(card),
                f"{card.training_time}, {short_machine(card)}",
                format_speed(card),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
