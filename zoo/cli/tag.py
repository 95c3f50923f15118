"""The command `zoo tag`."""

import argparse
from collections.abc import Iterable

from zoo.cli.common import add_model_options
from zoo.cli.texts import add_texts, run_answers

HELP = "tag each word of a text with its part of speech"
EXAMPLE = 'zoo tag birnn "A dog runs through the snow."'


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo tag` to its parser."""
    add_texts(command)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo tag`: prints `word/TAG word/TAG …` for each line."""
    run_answers(arguments, "tag", tagged_line)


def tagged_line(row: Iterable[tuple[str, str]]) -> str:
    """Formats a tagged sentence: `word/TAG word/TAG`."""
    return " ".join(f"{word}/{tag}" for word, tag in row)
