"""The command `zoo classify`."""

import argparse

from zoo.cli.common import add_model_options, add_presets
from zoo.cli.texts import add_texts, load_for_texts, run_answers

HELP = "classify texts with a preset"
EXAMPLE = "zoo classify runs/mine --input reviews.txt"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo classify` to its parser."""
    add_presets(command, "[TEXT ...]")
    add_texts(command)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo classify`: prints the most probable class of each line.

    Raises:
        BadInput: if the preset does not exist or classify, or a file cannot be used.
    """
    task, texts = load_for_texts(arguments, "classify")

    def classify(lines):
        return task.classify(lines, batch_size=arguments.batch_size)

    run_answers(arguments, texts, classify)
