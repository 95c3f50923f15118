"""The command `zoo`.

Results go to standard output, everything else to standard error. Exit codes: 0 success,
1 failure, 2 bad usage or input, 130 interrupted, 141 closed standard output. Nothing
heavy is imported before a command needs it.
"""

import sys
from collections.abc import Sequence

import zoo
from zoo.cli import (
    classify,
    common,
    evaluate,
    export,
    generate,
    info,
    listing,
    plot,
    report,
    serve,
    tag,
    train,
    translate,
)

# Each module has `HELP`, `add_arguments(parser)`, and `run(arguments)`, which returns
# the exit code, or None for 0.
_COMMANDS = {
    "list": listing,
    "info": info,
    "translate": translate,
    "tag": tag,
    "generate": generate,
    "classify": classify,
    "train": train,
    "report": report,
    "plot": plot,
    "evaluate": evaluate,
    "export": export,
    "serve": serve,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

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
    parser = common.Parser(
        prog="zoo", description="Classic sequence-to-sequence models on Keras 3."
    )
    parser.add_argument("--version", action="version", version=zoo.__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    if argv[:1] == ["train"]:
        argv = ["train", *train.with_recipe(argv[1:])]
    arguments, rest = parser.parse_known_args(argv)
    # argparse does not parse words after an option that follows other words.
    if hasattr(arguments, "words") and not any(word.startswith("-") for word in rest):
        arguments.words += rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments
