"""Shared by all commands: exit codes, errors, progress, options."""

import argparse
import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from zoo.backend import BACKENDS

ErrorTypes = type[BaseException] | tuple[type[BaseException], ...]


class BadInput(Exception):
    """The user's input is unusable: exit code 2."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `BadInput`."""

    def error(self, message: str) -> NoReturn:
        """Raises `BadInput`."""
        raise BadInput(f"{message} (see {self.prog} --help)")


# === Running a command ===


def exit_code(command: Callable[[], int | None]) -> int:
    """Runs a function as a command, printing errors as one line.

    Args:
        command: function that returns an exit code, or None for 0.

    Returns:
        The exit code.
    """
    _open_closed_streams()
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
        return 141
    except Exception as error:
        if os.environ.get("ZOO_DEBUG") == "1":
            raise
        known = isinstance(error, (BadInput, ValueError, OSError, ImportError))
        message = str(error) if known else f"{type(error).__name__}: {error}"
        return _error(message, 2 if isinstance(error, BadInput) else 1)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            _discard(sys.stdout)  # Python would report it at exit


def _open_closed_streams():
    """Replaces standard streams that are closed (`>&-`).

    Otherwise the next opened file would get the stream's number, and its output. With
    the replacement, reading finds nothing, writing fails, and messages are dropped.
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
            os.set_inheritable(number, True)  # by a server or another child process
            mode = "r" if name == "stdin" else "w"
            file = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, file)


def _discard(stream):
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _error(message, code):
    progress(f"error: {message}")
    return code


def progress(message: object) -> None:
    """Prints a progress line on standard error."""
    try:
        print(f"zoo: {' '.join(str(message).split())}", file=sys.stderr, flush=True)
    except OSError:  # a full disk or a closed pipe must not stop the work
        _discard(sys.stderr)


@contextlib.contextmanager
def bad_input(
    take: ErrorTypes = ValueError, message: str | None = None, keep: ErrorTypes = ()
) -> Iterator[None]:
    """Converts errors of the types `take`, except those of `keep`, to `BadInput`.

    `message`, if given, precedes the error's own text.
    """
    try:
        yield
    except keep:
        raise
    except take as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{message}: {reason}" if message else error) from error


def print_json(value: Any) -> None:
    """Prints a result as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


# === Options ===


def option(
    command: argparse.ArgumentParser,
    form: str,
    text: str,
    kind: Any = None,
    **more: Any,
) -> None:
    """Adds an option as its help shows it: "--beam-size --beam K", "--json".

    Args:
        command: the command's parser.
        form: the option's names and, unless it is a switch, what stands for its value.
        text: its help.
        kind: the type of the value, or a tuple of the allowed ones.
        **more: further arguments of `add_argument`.
    """
    names = [word for word in form.split() if word.startswith("-")]
    if value := form.split()[len(names) :]:
        more["metavar"] = value[0]
    elif isinstance(kind, tuple):
        kind, more["choices"] = None, kind
    else:
        more["action"] = "store_true"
    command.add_argument(*names, help=text, **({"type": kind} if kind else {}), **more)


def as_options(names: Iterable[str]) -> str:
    """Formats argument names as options: ["beam_size"] to "--beam-size"."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def count(text: str) -> int:
    """Argument type: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"should be 1 or more, received {text!r}")
    return int(text)


def number(
    least: float, most: float = math.inf, above: bool = False
) -> Callable[[str], float]:
    """Returns an argument type: a finite number from `least`, or above it."""

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


penalty = number(0)


def add_presets(
    command: argparse.ArgumentParser, usage: str, several: bool = False
) -> None:
    """Adds PRESET, as an argument or `--preset`, and the words after it, as `usage`."""
    again = " [--preset ...]" if several else ""
    command.usage = (
        f"{command.prog} PRESET {usage} [option ...]\n"
        f"       {command.prog} --preset PRESET{again} {usage} [option ...]"
    )
    command.add_argument("words", metavar="PRESET", nargs="*", help=argparse.SUPPRESS)
    text = "name, folder (of a preset or of a run; of an export, to run it on texts) "
    text += "or handle" + "; may be repeated" * several
    option(command, "--preset PRESET", text, action="append")


def split_presets(
    arguments: argparse.Namespace, several: bool = False, default: str | None = None
) -> tuple[list[str], list[str]]:
    """Returns the presets of a command with `add_presets`, and the words after them.

    Without `--preset`, the first word is the preset.
    """
    words = list(arguments.words)
    names = arguments.preset or [words.pop(0) for _ in words[:1]]
    if not names and default:
        progress(f"no preset given: using {default} (zoo list shows others)")
        names = [default]
    if not names:
        raise BadInput(
            f"name a preset, as in zoo {arguments.command} NAME; zoo list shows them"
        )
    if len(names) > 1 and not several:
        raise BadInput(
            f"zoo {arguments.command} takes one preset, received {' '.join(names)}"
        )
    return names, words


def every_preset(arguments: argparse.Namespace) -> list[str]:
    """Returns the presets of a command whose words are all presets."""
    names, words = split_presets(arguments, several=True)
    return names + words


def no_words(words: Sequence[str], arguments: argparse.Namespace) -> None:
    """Raises `BadInput` for words that a command has no use for."""
    if words:
        raise BadInput(
            f"zoo {arguments.command} takes one preset and no more, received also "
            f"{' '.join(words)}"
        )


def add_model_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of every command that runs a model on texts."""
    option(
        command, "--batch-size N", "sentences at once (default 64)", count, default=64
    )
    option(command, "--backend", "default: Keras's own", BACKENDS)


# === Beam search ===

BEAM_SIZE = 5
# Passed on to `translate` under the same names, if given.
SEARCH_OPTIONS = (
    "beam_size",
    "length_penalty",
    "length_normalization",
    "coverage_penalty",
    "max_length",
    "min_length",
)


def add_beam_size(command: argparse.ArgumentParser) -> None:
    """Adds `--beam-size`."""
    text = f"hypotheses kept at each step (default {BEAM_SIZE})"
    option(command, "--beam-size --beam K", text, count)


def add_search(command: argparse.ArgumentParser) -> None:
    """Adds the options of beam search, and of the model that is searched."""
    add_beam_size(command)
    text = "alpha of Wu et al. 2016; 0 disables it (default 1)"
    option(command, "--length-penalty ALPHA", text, penalty)
    text = "divisor of a score: ((5 + length) / 6)^ALPHA (gnmt, the default) or "
    text += "length^ALPHA (plain)"
    option(command, "--length-normalization", text, ("gnmt", "plain"))
    text = "beta of Wu et al. 2016; 0 disables it (default 0)"
    option(command, "--coverage-penalty BETA", text, penalty)
    text = "longest translation in pieces (default: twice the source's, plus 10)"
    option(command, "--max-length N", text, count)
    option(command, "--min-length N", "shortest translation in pieces", count)
    add_model_options(command)


def no_search(arguments: argparse.Namespace, name: str, task: str) -> None:
    """Raises `BadInput` for options of beam search if a preset does not translate."""
    given = [x for x in SEARCH_OPTIONS if getattr(arguments, x) is not None]
    if given:
        raise BadInput(
            f"{name} ({task}) does not translate and takes no search options, received "
            f"{as_options(given)}"
        )


def check_search(arguments: argparse.Namespace, n_best: int = 1) -> None:
    """Raises `BadInput` for contradictory options of beam search."""
    beam_size = arguments.beam_size or BEAM_SIZE
    if n_best > beam_size:
        raise BadInput(
            f"--n-best can be at most --beam-size, received {n_best} and {beam_size}"
        )
    least = getattr(arguments, "min_length", None)
    if least and arguments.max_length and least > arguments.max_length:
        raise BadInput(
            "--min-length can be at most --max-length, received "
            f"{least} and {arguments.max_length}"
        )


def search_options(arguments: argparse.Namespace, *more: str) -> dict[str, Any]:
    """Returns the given options of beam search, and `more`, as those of `translate`."""
    options = {"beam_size": BEAM_SIZE, "batch_size": arguments.batch_size}
    given = {x: getattr(arguments, x, None) for x in (*SEARCH_OPTIONS, *more)}
    return options | {name: x for name, x in given.items() if x is not None}
