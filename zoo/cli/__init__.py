"""The command `zoo`.

Results go to standard output, everything else to standard error. Exit codes: 0 success,
1 failure, 2 bad usage or input, 130 interrupted, 141 closed standard output. Nothing
heavy is imported before a command needs it.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

import zoo
from zoo.cli import common, completion, train
from zoo.strings import did_you_mean

# The menu. A command's module has `HELP`, `EXAMPLE`, `add_arguments(parser)`, and
# `run(arguments)`, which returns the exit code, or None for 0.
_MENU = {
    "use a preset": ["translate", "tag", "generate", "classify", "caption"],
    "train your own": ["train", "report", "evaluate", "upload"],
    "serve": ["export", "serve"],
    "look": ["list", "info", "plot", "explore"],
    "set up": ["completion"],
}
_FILES = {"list": "listing"}  # a command's module, if it has another name
MODULES = {
    name: importlib.import_module(f"zoo.cli.{_FILES.get(name, name)}")
    for names in _MENU.values()
    for name in names
}
_EPILOG = """\
zoo COMMAND --help explains a command. Exit codes: 0 success, 1 failure, 2 bad
usage or input, 130 interrupted, 141 closed standard output.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command, or shows the menu.

    Args:
        argv: the arguments. Default: those of the process.

    Returns:
        The exit code.
    """

    def command():
        arguments = _parse(sys.argv[1:] if argv is None else list(argv))
        return arguments.run(arguments)

    return common.exit_code(command)


def _parse(argv):
    parser = _parser()
    completion.complete(parser)
    if argv[:1] == ["train"]:
        argv = ["train", *train.with_recipe(argv[1:])]
    if argv and not argv[0].startswith("-") and argv[0] not in MODULES:
        near = did_you_mean(argv[0], MODULES)
        raise common.BadInput(f"no command {argv[0]!r}{near} (see zoo --help)")
    arguments, rest = parser.parse_known_args(argv or ["--help"])
    # argparse does not parse words after an option that follows other words.
    if hasattr(arguments, "words") and not any(word.startswith("-") for word in rest):
        arguments.words += rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments


def _parser():
    layout = argparse.RawDescriptionHelpFormatter
    parser = common.Parser(
        prog="zoo",
        usage="zoo [-h] [--version] COMMAND ...",
        description="Classic sequence-to-sequence models on Keras 3.\n",
        epilog=_EPILOG,
        formatter_class=layout,
    )
    parser.add_argument("--version", action="version", version=zoo.__version__)
    commands = parser.add_subparsers(
        prog="zoo", required=True, dest="command", help=argparse.SUPPRESS
    )
    for title, names in _MENU.items():
        parser.description += f"\n{title}\n"
        for name in names:
            module = MODULES[name]
            parser.description += f"  {name:<11} {module.HELP}\n"
            parser.description += f"  {'':<11} {module.EXAMPLE}\n"
            command = commands.add_parser(
                name,
                help=module.HELP,
                description=module.HELP,
                epilog=f"example:\n  {module.EXAMPLE}",
                formatter_class=layout,
            )
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
