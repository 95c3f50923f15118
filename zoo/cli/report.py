"""The command `zoo report`."""

import argparse

HELP = "write a run's curves, scores and samples"
EXAMPLE = "zoo report runs/mine"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo report` to its parser."""
    command.add_argument("folder", metavar="FOLDER", help="of a run, as runs/NAME")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo report`."""
    from zoo.training import write_report

    print(write_report(arguments.folder))
