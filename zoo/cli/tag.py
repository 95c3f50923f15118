"""The command `zoo tag`."""

from zoo.cli.common import add_model_options, add_presets, split_presets
from zoo.cli.presets import load_task
from zoo.cli.texts import add_texts, check_texts, run_answers

HELP = "tag each word of a text with its part of speech"


def add_arguments(command):
    """Adds the arguments of `zoo tag` to its parser."""
    add_presets(command, "[TEXT ...]")
    add_texts(command)
    add_model_options(command)


def run(arguments):
    """Runs `zoo tag`: prints `word/TAG word/TAG …`, one line a line of the input.

    Args:
        arguments: `argparse.Namespace` of the command.

    Raises:
        BadInput: if there is no such preset, it doesn't tag, or a file cannot be used.
    """
    (name,), texts = split_presets(arguments)
    check_texts(arguments, texts)
    task = load_task(name, arguments.backend, "tag")

    def tag(lines):
        found = task.tag(lines, batch_size=arguments.batch_size)
        return [tagged_line(row) for row in found]

    run_answers(arguments, texts, tag)


def tagged_line(row):
    """A tagged sentence as it is printed: `word/TAG word/TAG`."""
    return " ".join(f"{word}/{tag}" for word, tag in row)
