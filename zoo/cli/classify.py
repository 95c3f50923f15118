"""The command `zoo classify`."""

import argparse

from zoo.cli.common import add_model_options
from zoo.cli.texts import add_texts, run_answers

HELP = "classify texts with a preset"
EXAMPLE = "zoo classify runs/mine --input reviews.txt"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo classify` to its parser."""
    add_texts(command)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo classify`: prints the most probable class of each line."""
    run_answers(arguments, "classify")
