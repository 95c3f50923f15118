"""Shared by all commands: exit codes, messages, options."""

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from zoo.backend import BACKENDS
from zoo.presets.card import PresetError


class BadInput(ValueError):
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
    """Returns whether it is the input's fault, not a file's or the network's."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return True
    failed = isinstance(error, (OSError, PresetError))
    failed = failed and not isinstance(error, FileNotFoundError)
    return isinstance(error, ValueError) and not failed


def _error(message, code):
    progress(f"error: {message}")
    return code


def progress(message: object) -> None:
    """Prints a progress line on standard error."""
    try:
        print(f"zoo: {' '.join(str(message).split())}", file=sys.stderr, flush=True)
    except OSError:  # a full disk or a closed pipe must not stop the work
        _discard(sys.stderr)


def _discard(stream):
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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


def number(text: str) -> float:
    """Argument type: a finite number from 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0 <= value < math.inf:
        return value
    raise argparse.ArgumentTypeError(f"should be a number from 0, received {text!r}")


def given_options(arguments: argparse.Namespace, names: Iterable[str]) -> dict:
    """Returns the options that were given, of these names."""
    values = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


# === Presets ===


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
    arguments: argparse.Namespace, several: bool = False
) -> tuple[list[str], list[str]]:
    """Returns the presets of a command with `add_presets`, and the words after them.

    Without `--preset`, the first word is the preset.
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


# === Models ===

# Passed on to `translate` under the same names, if given.
SEARCH_OPTIONS = (
    "beam_size",
    "length_penalty",
    "length_normalization",
    "coverage_penalty",
    "max_length",
    "min_length",
    "batch_size",
)


def add_model_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of every command that runs a model on texts."""
    option(
        command, "--batch-size N", "sentences at once (default 64)", count, default=64
    )
    option(command, "--backend", "default: Keras's own", BACKENDS)


def add_beam_size(command: argparse.ArgumentParser) -> None:
    """Adds `--beam-size`."""
    text = "hypotheses kept at each step (default 5)"
    option(command, "--beam-size --beam K", text, count)


def add_search(command: argparse.ArgumentParser) -> None:
    """Adds the options of beam search, and of the model that is searched."""
    add_beam_size(command)
    text = "alpha of Wu et al. 2016; 0 disables it (default 1)"
    option(command, "--length-penalty ALPHA", text, number)
    text = "divisor of a score: ((5 + length) / 6)^ALPHA (gnmt, the default) or "
    text += "length^ALPHA (plain)"
    option(command, "--length-normalization", text, ("gnmt", "plain"))
    text = "beta of Wu et al. 2016; 0 disables it (default 0)"
    option(command, "--coverage-penalty BETA", text, number)
    text = "longest translation in pieces (default: twice the source's, plus 10)"
    option(command, "--max-length N", text, count)
    option(command, "--min-length N", "shortest translation in pieces", count)
    add_model_options(command)


def search_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the given options of beam search, as those of `translate`."""
    return given_options(arguments, SEARCH_OPTIONS)
