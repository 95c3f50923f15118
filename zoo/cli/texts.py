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

from zoo.cli.common import (
    BadInput,
    add_presets,
    bad_input,
    option,
    progress,
    split_presets,
)
from zoo.cli.presets import load_task
from zoo.cli.prompt import answer_typed_lines, in_terminal
from zoo.files import lock
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
    inputs = arguments.input or [*STANDARD]
    typed = not texts and inputs == [*STANDARD] and sys.stdin.isatty()
    if typed:
        progress("type a line and press Enter; Ctrl-D ends")
    # What is typed is answered at once.
    size = 1 if typed else _BATCHES_AT_ONCE * arguments.batch_size
    done, began = 0, time.perf_counter()
    lines = _lines(texts, inputs)
    with open_output(arguments.output) as output:
        while chunk := list(itertools.islice(lines, size)):
            for answer in work(chunk):
                output.write(f"{answer}\n")
            output.flush()
            done += len(chunk)
            if not typed:
                seconds = time.perf_counter() - began
                progress(f"{counted(done, 'line')} in {seconds:.1f} s")
    if not done and not typed:
        names = " and ".join(STANDARD.get(path, path) for path in inputs)
        progress(f"nothing to do: {names} is empty")
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
        with bad_input():
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
        with bad_input(OSError, f"cannot read {path}"):
            os.stat(path)  # noqa: PTH116  # Path("") is the working folder
        if os.path.isdir(path):
            raise BadInput(f"cannot read {path}: it is a folder")
        if not os.access(path, os.R_OK):
            raise BadInput(f"cannot read {path}: no permission")
        for written in (output, output and _partial(output)):
            if written and os.path.exists(written) and os.path.samefile(path, written):
                raise BadInput(
                    f"--output would overwrite its own --input, received {path}"
                )
    if not output:
        return
    folder = str(Path(os.path.realpath(output)).parent)
    if not os.path.isdir(folder):
        raise BadInput(f"cannot write {output}: there is no such folder")
    if os.path.isdir(output):
        raise BadInput(f"cannot write {output}: it is a folder")
    for needed in (output, folder) if os.path.exists(output) else (folder,):
        if not os.access(needed, os.W_OK):
            raise BadInput(f"cannot write {output}: no permission to write {needed}")


def _partial(path):
    return f"{os.path.realpath(path)}.part"


@contextlib.contextmanager
def open_output(path: str | None) -> Iterator[Any]:
    """Opens the output file, or standard output.

    The file is written to `PATH.part`, which other processes cannot write meanwhile,
    and renamed once complete; an existing file is kept until then. A device or a pipe
    is written directly.
    """
    if not path:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        yield sys.stdout
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    part = Path(_partial(path))
    with os.fdopen(_lock(part), "w", encoding="utf-8", newline="\n") as file:
        file.truncate(0)
        try:
            yield file
            file.flush()
            if os.path.exists(path):
                shutil.copymode(path, part)
            part.replace(os.path.realpath(path))
        except BaseException:
            if part.stat().st_size:
                progress(f"{path} is unchanged; the partial output is in {part}")
            else:
                part.unlink()
            raise


def _lock(path):
    """Returns a descriptor of a file that other processes cannot write meanwhile."""
    for _ in range(9):
        try:
            descriptor = lock(path, os.O_RDWR | os.O_CREAT)
        except BlockingIOError:
            break
        # Another process may have finished and renamed the file.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)
    raise BadInput(f"another process is writing to {path}")
