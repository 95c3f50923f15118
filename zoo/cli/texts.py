"""Passes text through a model line by line, from input to output."""

import argparse
import contextlib
import itertools
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from zoo.cli.common import BACKEND, BadInput, option, progress, words
from zoo.strings import counted

STANDARD = {"-": "standard input"}
# Batches of lines held at once: enough to batch by length, without memory growing with
# the input.
_BATCHES_AT_ONCE = 64
OUTPUT = option("--output FILE", "write here (default: standard output)")


# The arguments of a command on texts, after PRESET.
TEXTS = (
    words(
        "texts",
        "TEXT",
        "without it the input is read; in a terminal, a prompt asks for lines",
        nargs="*",
    ),
    option(
        "--input FILE",
        "texts, one per line (.gz, too), or - for standard input "
        "(the default without TEXT); may be repeated",
        action="append",
    ),
    OUTPUT,
    BACKEND,
)


def check_texts(arguments: argparse.Namespace) -> None:
    """Rejects unusable input and output before a model is loaded."""
    if arguments.texts and arguments.input:
        raise BadInput("give TEXT or --input, not both")
    check_files(arguments.input or [], arguments.output)


def in_terminal(arguments: argparse.Namespace) -> bool:
    """Returns whether a prompt asks for the texts: nothing is given or redirected."""
    given = arguments.texts or arguments.input or arguments.output
    return not given and sys.stdin.isatty() and sys.stdout.isatty()


def run_texts(
    arguments: argparse.Namespace,
    work: Callable[[list[str]], Sequence[Any]],
    form: Callable[[int, Any], str] = lambda _, result: result or "",
    skip: bool = True,
) -> None:
    """Writes the answers to the input's lines in their order.

    `work` returns a result for each of some lines, `form` the output for the line's
    number, from 0, and its result. With `skip`, an empty line's result is None.
    """
    from zoo.data.lines import tidy

    def answers(lines, first):
        full = [i for i, line in enumerate(lines) if tidy(line) or not skip]
        results = dict.fromkeys(range(len(lines)))
        if full:
            with _lines_in_warnings([first + i + 1 for i in full]):
                found = work([lines[i] for i in full])
            results.update(zip(full, found, strict=True))
        return [form(first + i, result) for i, result in results.items()]

    if in_terminal(arguments):
        return _prompt(answers)
    done, began = 0, time.perf_counter()
    lines = _lines(arguments.texts, arguments.input or STANDARD)
    size = _BATCHES_AT_ONCE * arguments.batch_size
    with open_output(arguments.output) as output:
        while chunk := list(itertools.islice(lines, size)):
            output.writelines(f"{answer}\n" for answer in answers(chunk, done))
            output.flush()
            done += len(chunk)
            seconds = time.perf_counter() - began
            progress(f"{counted(done, 'line')} in {seconds:.1f} s")
    if not done:
        progress("nothing to do: the input is empty")
    return None


def _prompt(answers):
    """Answers each line that is typed; Ctrl-D ends it."""
    with contextlib.suppress(ImportError):  # it lets `input` edit and recall lines
        import readline  # noqa: F401
    progress("type a line and press Enter; Ctrl-D ends")
    with contextlib.suppress(EOFError):
        for number in itertools.count():
            line = input("> ")
            try:
                print(*answers([line], number), sep="\n")
            except ValueError as error:
                progress(f"error: {error}")


@contextlib.contextmanager
def _lines_in_warnings(numbers):
    """Replaces `texts[3]` in a model's warnings by the number of the input's line."""
    with warnings.catch_warnings():
        # Warnings of two chunks may be equal before the replacement.
        warnings.filterwarnings("always", message=r".*\btexts\[\d+\]")
        show = warnings.showwarning

        def show_line(message, *rest):
            line = lambda match: f"line {numbers[int(match[1])]}"  # noqa: E731
            show(re.sub(r"texts\[(\d+)\]", line, str(message)), *rest)

        warnings.showwarning = show_line
        yield


def _lines(texts, paths):
    """Yields the input's lines without their ends."""
    from zoo.data.lines import read_lines

    yield from (" ".join(text.splitlines()) for text in texts)
    for path in () if texts else paths:
        file = sys.stdin.buffer if path in STANDARD else Path(path)
        yield from read_lines(file, name=STANDARD.get(path, path))


# === Files ===


def check_files(inputs: Sequence[str], output: str | None) -> None:
    """Rejects unusable files before a model is loaded.

    Nothing is read, since what is read from a pipe is gone.
    """
    for path in inputs:
        if path in STANDARD:
            continue
        if os.path.isdir(path) or not os.access(path, os.R_OK):
            raise BadInput(f"cannot read {path}: it is not a readable file")
        if output and os.path.exists(output) and os.path.samefile(path, output):
            raise BadInput(f"the output would overwrite its own input, received {path}")
    if output:
        place = output if _is_device(output) else Path(output).resolve().parent
        if os.path.isdir(output) or not os.access(place, os.W_OK):
            raise BadInput(
                f"cannot write {output}: it is a folder, or {place} is not writable"
            )


def _is_device(path):
    return os.path.exists(path) and not os.path.isfile(path)


@contextlib.contextmanager
def open_output(path: str | None) -> Iterator[Any]:
    """Opens standard output, or a file that replaces the old one once it is complete.

    A device or a pipe is written directly.
    """
    if not path:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        yield sys.stdout
        return
    # A pipe's name is none of a file, once resolved.
    whole = Path(path) if _is_device(path) else Path(path).resolve()
    part = whole if _is_device(path) else Path(f"{whole}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            yield file
    except BaseException:
        progress(f"{path} is incomplete; the output so far is in {part}")
        raise
    if part != whole:
        part.replace(whole)
