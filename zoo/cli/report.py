"""The command `zoo report`."""

import argparse
import os

from zoo.cli.common import BadInput, bad_input

HELP = "write a run's curves, scores and samples"
EXAMPLE = "zoo report runs/mine"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo report` to its parser."""
    command.add_argument("folder", metavar="FOLDER", help="of a run, as runs/NAME")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo report`."""
    if not os.path.isdir(arguments.folder):
        raise BadInput(f"no folder {arguments.folder}")
    from zoo.training import write_report

    with bad_input((ValueError, OSError)):
        path = write_report(arguments.folder)
    print(path)
