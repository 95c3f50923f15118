"""Passes text through a model line by line, from input to output."""

import argparse
import contextlib
import itertools
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from zoo.cli.common import BadInput, add_presets, option, progress, split_presets
from zoo.cli.presets import load_task
from zoo.cli.prompt import answer_typed_lines, in_terminal
from zoo.strings import counted

T = TypeVar("T")
Chunk = list[tuple[str, str]]  # lines and their places
STANDARD = {"-": "standard input"}
# Batches of lines held at once: enough to batch by length, without memory growing with
# the input.
_BATCHES_AT_ONCE = 64


def add_output(command: argparse.ArgumentParser) -> None:
    """Adds `--output`."""
    option(command, "--output FILE", "write here (default: standard output)")


def add_texts(command: argparse.ArgumentParser, several: bool = False) -> None:
    """Adds PRESET, TEXT, `--input` and `--output`."""
    add_presets(command, "[TEXT ...]", several)
    text = "texts, one per line, or gzip, bzip2 or xz of that, or - for standard input "
    text += "(the default without TEXT); may be repeated"
    option(command, "--input FILE", text, action="append")
    add_output(command)


def load_for_texts(arguments: argparse.Namespace, task: str) -> tuple[Any, list[str]]:
    """Returns the preset of a command with `add_texts`, loaded, and its texts."""
    (name,), texts = split_presets(arguments)
    check_texts(arguments, texts)
    return load_task(name, arguments.backend, task), texts


def check_texts(arguments: argparse.Namespace, texts: Sequence[str]) -> None:
    """Rejects unusable input and output before a model is loaded."""
    if texts and arguments.input:
        raise BadInput("give TEXT or --input, not both")
    check_files(arguments.input or [], arguments.output)


def run_texts(
    arguments: argparse.Namespace,
    texts: Sequence[str],
    work: Callable[[Chunk], Iterable[str]],
) -> None:
    """Reads lines and writes the answers in their order; in a terminal, a prompt does.

    Args:
        arguments: arguments with `input`, `output` and `batch_size`.
        texts: the texts on the command line; without them, the input is read.
        work: function of `(line, place)` pairs that returns the answers, without a
            newline at the end.
    """
    if not texts and in_terminal(arguments):
        return answer_typed_lines(work)
    done, began = 0, time.perf_counter()
    lines = _lines(texts, arguments.input or STANDARD)
    size = _BATCHES_AT_ONCE * arguments.batch_size
    with open_output(arguments.output) as output:
        while chunk := list(itertools.islice(lines, size)):
            output.writelines(f"{answer}\n" for answer in work(chunk))
            output.flush()
            done += len(chunk)
            seconds = time.perf_counter() - began
            progress(f"{counted(done, 'line')} in {seconds:.1f} s")
    if not done:
        progress("nothing to do: the input is empty")
    return None


def run_answers(
    arguments: argparse.Namespace, task: str, answer: Callable[[Any], str] = str
) -> None:
    """`run_texts` by the task's method, each of whose results `answer` formats."""
    model, texts = load_for_texts(arguments, task)

    def work(chunk):
        method, size = getattr(model, task), arguments.batch_size
        results = skip_empty(chunk, lambda lines: method(lines, batch_size=size))
        return ["" if result is None else answer(result) for result in results]

    run_texts(arguments, texts, work)


def skip_empty(
    chunk: Chunk, work: Callable[[list[str]], Iterable[T]]
) -> list[T | None]:
    """Answers the lines of a chunk by `work`; None for those that are empty."""
    from zoo.data.lines import tidy

    full = [(line, place) for line, place in chunk if tidy(line)]
    answers: Iterator[T] = iter(())
    if full:
        with places_in_warnings(lambda i: full[i][1]):
            answers = iter(work([line for line, _ in full]))
    return [next(answers) if tidy(line) else None for line, _ in chunk]


@contextlib.contextmanager
def places_in_warnings(place: Callable[[int], str]) -> Iterator[None]:
    """Replaces `texts[12]` in a model's warnings by `place(12)`."""
    with warnings.catch_warnings():
        # Warnings of two chunks may be equal before the replacement.
        warnings.filterwarnings("always", message=r".*\btexts\[\d+\]")
        show = warnings.showwarning

        def show_place(message, *rest):
            text = re.sub(r"texts\[(\d+)\]", lambda m: place(int(m[1])), str(message))
            show(text, *rest)

        warnings.showwarning = show_place
        yield


def _lines(texts, paths):
    """Yields the input's lines without their ends, and the place of each."""
    from zoo.data.lines import read_lines

    for number, text in enumerate(texts, start=1):
        yield " ".join(text.splitlines()), f"TEXT {number}"
    for path in () if texts else paths:
        name = STANDARD.get(path, path)
        file = sys.stdin.buffer if path in STANDARD else Path(path)
        lines = read_lines(file, name=name)
        for number, line in enumerate(lines, start=1):
            yield line, f"line {number} of {name}"


# === Files ===


def check_files(inputs: Sequence[str], output: str | None) -> None:
    """Rejects unusable files before a model is loaded.

    Nothing is read, since what is read from a pipe is gone.
    """
    for path in inputs:
        if path in STANDARD:
            continue
        if os.path.isdir(path) or not os.access(path, os.R_OK):
            raise BadInput(f"cannot read {path}: it is no file, or not readable")
        if output and os.path.exists(output) and os.path.samefile(path, output):
            raise BadInput(f"the output would overwrite its own input, received {path}")
    if output:
        folder = Path(os.path.realpath(output)).parent
        if os.path.isdir(output) or not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"cannot write {output}: it is a folder, or {folder} none")


@contextlib.contextmanager
def open_output(path: str | None) -> Iterator[Any]:
    """Opens the output file, or standard output.

    The file is written to `PATH.PROCESS.part` and renamed once complete; an existing
    file is kept until then. A device or a pipe is written directly.
    """
    if not path:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        yield sys.stdout
        return
    direct = os.path.exists(path) and not os.path.isfile(path)
    part = Path(path if direct else f"{os.path.realpath(path)}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            yield file
    except BaseException:
        if part.is_file() and not part.stat().st_size:
            part.unlink()
        elif not direct:
            progress(f"{path} is unchanged; the partial output is in {part}")
        raise
    if not direct:
        if os.path.exists(path):
            shutil.copymode(path, part)
        part.replace(os.path.realpath(path))
