"""An interactive prompt that answers each line, with a history."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable

from zoo.cli.common import progress
from zoo.files import cache_folder

HISTORY = "history"  # a file in the cache folder
_HELP = """\
:help   show this
:quit   end, as Ctrl-D does
Ctrl-C drops the line. The arrow keys edit it and recall earlier ones."""


def in_terminal(arguments: argparse.Namespace) -> bool:
    """Returns whether a command reads from and writes to a terminal."""
    redirected = arguments.input or arguments.output
    return not redirected and sys.stdin.isatty() and sys.stdout.isatty()


def answer_typed_lines(work: Callable[[list[tuple[str, str]]], Iterable[str]]) -> None:
    """Reads lines from a terminal and prints their answers until the user ends it.

    Args:
        work: see `zoo.cli.texts.run_texts`; called for one line at a time. What it
            refuses is told and ends nothing.
    """
    progress("type a line and press Enter; :help shows what else there is")
    number = 0
    with _history():
        while True:
            try:
                line = input("> ").strip()
                if line == ":quit":
                    break
                if line == ":help":
                    print(_HELP)
                elif line:
                    number += 1
                    for answer in work([(line, f"line {number}")]):
                        print(answer)
            except EOFError:
                print()
                break
            except KeyboardInterrupt:
                print()
            except ValueError as error:
                progress(f"error: {error}")


@contextlib.contextmanager
def _history():
    """Lets `input` edit lines and recall those of earlier prompts."""
    try:
        import readline
    except ImportError:  # as on Windows: lines are read without a history
        yield
        return
    path = cache_folder() / HISTORY
    with contextlib.suppress(OSError):  # none yet
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_history_length(1000)
        with contextlib.suppress(OSError):  # a folder that cannot be written
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
