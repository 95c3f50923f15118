"""Shared by all commands: exit codes, messages, options."""

import argparse
import dataclasses
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from zoo.analysis.figure import printable
from zoo.backend import BACKENDS
from zoo.presets.card import PresetError


class BadInput(ValueError):
    """The user's input is unusable: exit code 2."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `BadInput`."""

    def error(self, message: str) -> NoReturn:
        """Raises `BadInput`."""
        raise BadInput(f"{message} (see {self.prog} --help)")


def exit_code(command: Callable[[], int | None]) -> int:
    """Runs a function as a command, printing errors as one line.

    Args:
        command: function that returns an exit code, or None for 0.

    Returns:
        The exit code.
    """
    # Closed streams, as by `>&-`: reading finds nothing, and printing results fails.
    for name, mode in (("stdin", "r"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: progress(f"warning: {message}")
            code = command() or 0
        sys.stdout.flush()  # a closed pipe is reported here, not at exit
        return code
    except SystemExit as stop:  # --help, --version, or a recipe's parser
        if isinstance(stop.code, str):
            return _error(stop.code, 1)
        return stop.code or 0
    except KeyboardInterrupt:
        return _error("interrupted", 130)
    except BrokenPipeError:
        _discard(sys.stdout)  # Python would report it once more at exit
        return 141
    except Exception as error:
        if os.environ.get("ZOO_DEBUG") == "1":
            raise
        known = isinstance(error, (ValueError, OSError, ImportError))
        message = str(error) if known else f"{type(error).__name__}: {error}"
        return _error(message, 2 if _is_bad_input(error) else 1)


def _is_bad_input(error):
    """Returns whether it is the input's fault, not a preset's or the network's."""
    if isinstance(error, FileNotFoundError):
        return bool(error.filename) or isinstance(error, ValueError)
    failed = isinstance(error, (OSError, PresetError))
    return isinstance(error, ValueError) and not failed


def _error(message, code):
    progress(f"error: {message}")
    return code


def progress(message: object) -> None:
    """Prints a progress line on standard error, without control characters."""
    line = printable(" ".join(str(message).split()))
    try:
        print(f"zoo: {line}", file=sys.stderr, flush=True)
    except OSError:  # a full disk or a closed pipe must not stop the work
        _discard(sys.stderr)


def _discard(stream):
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# === Commands ===

# The arguments of `add_argument`: a name and the rest.
Option = tuple[str, dict[str, Any]]


@dataclasses.dataclass
class Command:
    """A command: its help, an example, its options, and the function that runs it."""

    help: str
    example: str
    options: Sequence[Option]
    run: Callable[[argparse.Namespace], int | None]


COMMANDS: dict[str, Command] = {}


def command(example: str, *options: Option) -> Callable[[Any], Any]:
    """Registers a function as the command of its name, with its docstring as help."""

    def register(run):
        text = run.__doc__.split("\n\n")[0]
        COMMANDS[run.__name__.rstrip("_")] = Command(text, example, options, run)
        return run

    return register


def add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    """Adds options to a parser."""
    for name, more in options:
        parser.add_argument(name, **more)


def option(form: str, text: str, kind: Any = None, **more: Any) -> Option:
    """Returns an option, from how its help shows it: "--beam-size K", "--json".

    Args:
        form: the option's name and, unless it is a switch, what stands for its value.
        text: its help.
        kind: the type of the value, or a tuple of the allowed ones.
        **more: further arguments of `add_argument`.
    """
    name, _, value = form.partition(" ")
    if value:
        more["metavar"] = value
    elif isinstance(kind, tuple):
        kind, more["choices"] = None, kind
    else:
        more["action"] = "store_true"
    return name, {"help": text, **({"type": kind} if kind else {}), **more}


def words(name: str, metavar: str, text: str, **more: Any) -> Option:
    """Returns a positional argument; `nargs` says how many words it takes."""
    return name, {"metavar": metavar, "help": text, **more}


def preset(more: str = "", **options: Any) -> Option:
    """Returns the argument PRESET, with `more` as the end of its help."""
    text = f"name, folder of a preset or of a run, or handle{more}"
    return words("preset", "PRESET", text, **options)


def count(text: str) -> int:
    """Argument type: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"should be 1 or more, received {text!r}")
    return int(text)


def given(arguments: argparse.Namespace, options: Sequence[Option]) -> dict[str, Any]:
    """Returns the values of those of these options that were given, by name."""
    names = (more.get("dest", name[2:]).replace("-", "_") for name, more in options)
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


BACKEND = option("--backend", "default: Keras's own", BACKENDS)
BATCH = option("--batch-size N", "sentences at once (default 64)", count, default=64)
BEAM = option("--beam-size K", "hypotheses kept at each step (default 5)", count)
# Arguments of `translate`.
SEARCH = (
    BEAM,
    option("--length-penalty ALPHA", "of Wu et al. 2016; 0: none (default 1)", float),
    option("--coverage-penalty BETA", "of Wu et al. 2016; 0: none (default 0)", float),
    option(
        "--max-length N",
        "longest translation in pieces (default: twice the source's, plus 10)",
        count,
    ),
    option("--min-length N", "shortest translation in pieces", count),
    BATCH,
)
