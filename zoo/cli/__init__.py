"""The command `zoo`.

Results go to standard output, everything else to standard error. Exit codes: 0 success,
1 failure, 2 bad usage or input, 130 interrupted, 141 closed standard output. Nothing
heavy is imported before a command needs it.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import zoo
from zoo.cli import answers, evaluate, export, look, train  # noqa: F401
from zoo.cli.common import COMMANDS, BadInput, Parser, add_options, exit_code
from zoo.strings import did_you_mean

_EPILOG = """\
zoo COMMAND --help explains a command. Exit codes: 0 success, 1 failure, 2 bad
usage or input, 130 interrupted, 141 closed standard output.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command, or shows the menu; returns the exit code."""

    def command():
        arguments = _parse(sys.argv[1:] if argv is None else list(argv))
        return COMMANDS[arguments.command].run(arguments)

    return exit_code(command)


def _parse(argv):
    parser, commands = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks, since TAB was pressed
        _complete(parser)
    if argv[:1] == ["train"] and argv[1:2] not in (["-h"], ["--help"]):
        return argparse.Namespace(command="train", words=argv[1:])  # a recipe's
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        near = did_you_mean(argv[0], COMMANDS)
        raise BadInput(f"no command {argv[0]!r}{near} (see zoo --help)")
    name, *words = argv or ["--help"]
    if name not in COMMANDS or name == "train":
        return parser.parse_args([name, *words])  # help, version or an error
    # Options may stand anywhere: "zoo export NAME --format onnx FOLDER".
    arguments = commands[name].parse_intermixed_args(words)
    arguments.command, arguments.argv = name, argv
    return arguments


def _parser():
    options = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    about = "Classic sequence-to-sequence models on Keras 3."
    parser = Parser(prog="zoo", description=about, epilog=_EPILOG, **options)
    parser.usage = "zoo [-h] [--version] COMMAND ..."
    parser.add_argument("--version", action="version", version=zoo.__version__)
    commands = parser.add_subparsers(
        prog="zoo", required=True, dest="command", title="commands", metavar="COMMAND"
    )
    for name, each in COMMANDS.items():
        end = f"example:\n  {each.example}"
        command = commands.add_parser(
            name, help=each.help, description=each.help, epilog=end, **options
        )
        add_options(command, each.options)
    return parser, commands.choices


def _complete(parser):
    """Answers a shell: names, where a metavar says so, choices or files; then ends."""
    import argcomplete
    from argcomplete.completers import FilesCompleter

    from zoo import data, presets
    from zoo.training.recipe import recipes

    names = {
        "PRESET": lambda: [card.name for card in presets.list_presets()],
        "RECIPE": recipes,
        "CORPUS": lambda: [*data.list_corpora(), "ptb", "sst", "ud_english_ewt"],
    }

    def complete(prefix, action, **_):
        known = names.get(action.metavar, list)()
        return [x for x in known if x.startswith(prefix)] or FilesCompleter()(prefix)

    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=complete
    )
