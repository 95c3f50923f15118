"""Shared by all commands: exit codes, errors, progress, types of arguments."""

import argparse
import contextlib
import json
import math
import os
import sys
import warnings

from zoo.backend import BACKENDS


class BadInput(Exception):
    """The user's input cannot be used: exit code 2."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `BadInput`."""

    def error(self, message):
        raise BadInput(f"{message} (see {self.prog} --help)")


# === Running a command ===


def exit_code(command):
    """Runs a function as a command: errors become one line, and the exit code.

    Args:
        command: function of no arguments that returns an exit code, or None for 0.

    Returns:
        int. The exit code.
    """
    _open_closed_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: progress(f"warning: {message}")
            code = command() or 0
        sys.stdout.flush()  # a reader that has gone shows here, not at exit
        return code
    except SystemExit as stop:  # --help and --version, and the parser of a recipe
        if isinstance(stop.code, str):
            return _error(stop.code, 1)
        return stop.code or 0
    except KeyboardInterrupt:
        return _error("interrupted", 130)
    except BrokenPipeError:
        return 141
    except Exception as error:
        if os.environ.get("ZOO_DEBUG") == "1":
            raise
        return _error(_reason(error), 2 if isinstance(error, BadInput) else 1)
    finally:
        _drop_what_cannot_be_written()


def _open_closed_streams():
    """Puts something in the place of standard streams that are closed (`>&-`).

    The next file that is opened would otherwise take the number of the stream, and get
    what is written to it. Reading then finds nothing, writing fails, and messages go
    nowhere.
    """
    for number, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, "stdout", os.O_RDONLY),  # writing to it is an error
        (2, "stderr", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)  # by a server, or another process of ours
            mode = "r" if name == "stdin" else "w"
            file = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, file)


def _drop_what_cannot_be_written():
    """Python flushes standard output once more at exit, and says what went wrong."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error(message, code):
    progress(f"error: {message}")
    return code


def _reason(error):
    if isinstance(error, (BadInput, ValueError, OSError, ImportError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def progress(message):
    """Prints one line for the person who waits, on standard error."""
    try:
        print(f"zoo: {' '.join(str(message).split())}", file=sys.stderr, flush=True)
    except OSError:  # a full disk, a reader that has gone: the work goes on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


@contextlib.contextmanager
def bad_input(take=ValueError, message=None, keep=()):
    """Takes errors of the types `take` as the user's, except those of `keep`.

    `message`, if there is one, is said before what the error says.
    """
    try:
        yield
    except keep:
        raise
    except take as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{message}: {reason}" if message else error) from error


def counted(number, name):
    """A count with its noun, as "1 line" and "2 lines"."""
    return f"{number:,} {name}" + ("" if number == 1 else "s")


def print_json(value):
    """Prints a result as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


# === Arguments ===


def count(text):
    """A type of argument: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"should be 1 or more, received {text!r}")
    return int(text)


def number(least, most=math.inf, above=False):
    """A type of argument: a finite number.

    Args:
        least: the smallest that is allowed; with `above`, the number that it is above.
        most: the largest that is allowed.
        above: whether `least` itself is refused.
    """

    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        low = value > least if above else value >= least
        if low and value <= most and math.isfinite(value):
            return value
        limit = f" to {most:g}" if math.isfinite(most) else ""
        raise argparse.ArgumentTypeError(
            f"should be a finite number {'above' if above else 'from'} {least:g}{limit}"
            f", received {text!r}"
        )

    return read


penalty = number(0)  # of a search


def add_presets(command, usage, several=False):
    """Adds PRESET to a command, an argument or `--preset`, and the words behind it.

    Args:
        command: the command's parser.
        usage: str. What stands behind PRESET in the command's usage.
        several: whether the option may be repeated.
    """
    again = " [--preset PRESET ...]" if several else ""
    command.usage = (
        f"{command.prog} PRESET {usage} [option ...]\n"
        f"       {command.prog} --preset PRESET{again} {usage} [option ...]"
    )
    command.add_argument("words", metavar="PRESET", nargs="*", help=argparse.SUPPRESS)
    text = "name, folder (of a preset or of a run) or handle"
    if several:
        text += "; may be repeated"
    command.add_argument("--preset", metavar="PRESET", action="append", help=text)


def split_presets(arguments, several=False):
    """The presets of a command with `add_presets`, and the words behind them.

    Returns:
        (list of str, list of str). The first word is the preset where there is no
        `--preset`.

    Raises:
        BadInput: if there is no preset, or several where one is allowed.
    """
    words = list(arguments.words)
    names = arguments.preset or [words.pop(0) for _ in words[:1]]
    if not names:
        raise BadInput(
            f"name a preset, as in zoo {arguments.command} NAME; zoo list shows them"
        )
    if len(names) > 1 and not several:
        raise BadInput(
            f"zoo {arguments.command} takes one preset, received {' '.join(names)}"
        )
    return names, words


def every_preset(arguments):
    """The presets of a command whose words are presets too; see `split_presets`."""
    names, words = split_presets(arguments, several=True)
    return names + words


def no_words(words, arguments):
    """Refuses words that a command has no use for."""
    if words:
        raise BadInput(
            f"zoo {arguments.command} takes one preset and no more, received also "
            f"{' '.join(words)}"
        )


def add_model_options(command):
    """Adds the arguments of every command that runs a model on texts."""
    command.add_argument(
        "--batch-size", type=count, default=64, help="sentences at once (default 64)"
    )
    command.add_argument("--backend", choices=BACKENDS, help="default: Keras's own")


BEAM_SIZE = 5


def add_search(command):
    """Adds the arguments of a beam search to a parser."""
    command.add_argument(
        "--beam-size",
        "--beam",
        type=count,
        metavar="K",
        help=f"hypotheses kept at each step (default {BEAM_SIZE})",
    )
    command.add_argument(
        "--length-penalty",
        type=penalty,
        metavar="ALPHA",
        help="of Wu et al. 2016; 0 for none (default 1)",
    )
    command.add_argument(
        "--length-normalization",
        choices=("gnmt", "plain"),
        help="what divides a score: ((5 + length) / 6)^ALPHA (gnmt, the default) or "
        "length^ALPHA (plain)",
    )
    command.add_argument(
        "--coverage-penalty",
        type=penalty,
        metavar="BETA",
        help="of Wu et al. 2016 (default 0, none)",
    )
    command.add_argument(
        "--max-length",
        type=count,
        metavar="N",
        help="longest translation in pieces (default: twice the source's, plus 10)",
    )
    command.add_argument(
        "--min-length", type=count, metavar="N", help="shortest translation in pieces"
    )
    add_model_options(command)


# Arguments that go to `translate` by their own names, where they are given.
SEARCH_OPTIONS = (
    "beam_size",
    "length_penalty",
    "length_normalization",
    "coverage_penalty",
    "max_length",
    "min_length",
)


def as_options(names):
    """Arguments as a user writes them: ["beam_size"] to "--beam-size"."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def no_search(arguments, name, task):
    """Refuses arguments of a beam search for a preset that doesn't translate.

    Args:
        arguments: `argparse.Namespace` with what `add_search` adds.
        name, task: str. The preset, and what it does.
    """
    given = [x for x in SEARCH_OPTIONS if getattr(arguments, x) is not None]
    if given:
        raise BadInput(
            f"{name} ({task}) translates nothing and takes no options of a search, "
            f"received {as_options(given)}"
        )


def check_search(arguments, n_best=1):
    """Refuses arguments of a beam search that contradict each other."""
    beam_size = arguments.beam_size or BEAM_SIZE
    if n_best > beam_size:
        raise BadInput(
            f"--n-best can be at most --beam-size, received {n_best} and {beam_size}"
        )
    least, most = arguments.min_length, arguments.max_length
    if least and most and least > most:
        raise BadInput(
            f"--min-length can be at most --max-length, received {least} and {most}"
        )


def search_options(arguments, *more):
    """The arguments of `translate` that a command was given.

    Args:
        arguments: `argparse.Namespace` with what `add_search` adds.
        *more: str. Names of further arguments to pass on.
    """
    options = {"beam_size": BEAM_SIZE, "batch_size": arguments.batch_size}
    given = {x: getattr(arguments, x, None) for x in (*SEARCH_OPTIONS, *more)}
    return options | {name: x for name, x in given.items() if x is not None}
