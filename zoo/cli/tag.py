"""The command `zoo tag`."""

import argparse
from collections.abc import Iterable

from zoo.cli.common import add_model_options, add_presets
from zoo.cli.texts import add_texts, load_for_texts, run_answers

HELP = "tag each word of a text with its part of speech"
EXAMPLE = 'zoo tag birnn "A dog runs through the snow."'


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo tag` to its parser."""
    add_presets(command, "[TEXT ...]")
    add_texts(command)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo tag`: prints `word/TAG word/TAG …` for each line.

    Raises:
        BadInput: if the preset does not exist or tag, or a file cannot be used.
    """
    task, texts = load_for_texts(arguments, "tag")

    def tag(lines):
        tagged = task.tag(lines, batch_size=arguments.batch_size)
        return [tagged_line(row) for row in tagged]

    run_answers(arguments, texts, tag)


def tagged_line(row: Iterable[tuple[str, str]]) -> str:
    """Formats a tagged sentence: `word/TAG word/TAG`."""
    return " ".join(f"{word}/{tag}" for word, tag in row)
