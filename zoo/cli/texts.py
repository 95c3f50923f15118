"""Text that goes through a model, line by line: input, output, and what is between."""

import contextlib
import gzip
import itertools
import os
import re
import shutil
import sys
import time
import warnings
import zlib

from zoo.cli.common import BadInput, bad_input, counted, progress
from zoo.files import lock

# Lines held at once are this many batches: enough to batch by length, and the
# memory that a translation takes does not grow with its input.
_BATCHES_AT_ONCE = 64
_GZIP = b"\x1f\x8b"  # how such a file begins


def add_texts(command):
    """Adds `--input` and `--output` to a command whose words are texts."""
    command.add_argument(
        "--input",
        metavar="FILE",
        action="append",
        help="text, one a line, or gzip of that; may be repeated (without TEXT and "
        "--input: standard input)",
    )
    command.add_argument(
        "--output", metavar="FILE", help="write here (default: standard output)"
    )


def check_texts(arguments, texts):
    """Refuses input and output that cannot be, before a model is loaded."""
    if texts and arguments.input:
        raise BadInput("give TEXT or --input, not both")
    check_files(arguments.input or [], arguments.output)


def run_texts(arguments, texts, work):
    """Reads lines, has each answered, writes the answers in the order of the lines.

    Args:
        arguments: `argparse.Namespace` with `input`, `output` and `batch_size`.
        texts: list of str. The texts of the command line; else the input is read.
        work: function of a list of `(line, place)`, both str, to as many answers: str
            without their last newline.
    """
    typed = not texts and not arguments.input and sys.stdin.isatty()
    if typed:
        progress("type a line and press Enter; Ctrl-D ends")
    # Somebody who types waits for an answer to each line.
    size = 1 if typed else _BATCHES_AT_ONCE * arguments.batch_size
    done, began = 0, time.perf_counter()
    lines = _lines(texts, arguments.input or ["-"], typed)
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
        names = " and ".join(arguments.input or ["standard input"])
        progress(f"there was nothing to do: {names} is empty")


def run_answers(arguments, texts, answer):
    """`run_texts` with one answer a line, and an empty one for an empty line.

    Args:
        arguments, texts: see `run_texts`.
        answer: function of a list of lines with text in them to a list of str.
    """

    def work(chunk):
        return [found or "" for found in skip_empty(chunk, answer)]

    run_texts(arguments, texts, work)


def skip_empty(chunk, work):
    """Answers of a chunk whose empty lines no model is asked about.

    Args:
        chunk: list of `(line, place)`, both str.
        work: function of the lines with text in them to a list of their answers.

    Returns:
        List of an answer a line; None for an empty one.
    """
    full = [(line, place) for line, place in chunk if line.strip()]
    answers = iter(())
    if full:
        with places_in_warnings(lambda i: full[i][1]):
            answers = iter(work([line for line, _ in full]))
    return [next(answers) if line.strip() else None for line, _ in chunk]


@contextlib.contextmanager
def places_in_warnings(place):
    """Says `place(12)` where a warning of the model's speaks of `texts[12]`."""
    with warnings.catch_warnings():
        # Those of two chunks may be the same before the place is put in.
        warnings.filterwarnings("always", message=r".*\btexts\[\d+\]")
        show = warnings.showwarning

        def show_place(message, *rest):
            text = re.sub(r"texts\[(\d+)\]", lambda m: place(int(m[1])), str(message))
            show(text, *rest)

        warnings.showwarning = show_place
        yield


# === Input ===


def check_files(inputs, output):
    """Says what is wrong with a file before a model is loaded. Nothing is read: what
    has been read from a pipe is gone."""
    for path in inputs:
        with bad_input(OSError, f"cannot read {path}"):
            os.stat(path)
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
    folder = os.path.dirname(os.path.realpath(output))
    if not os.path.isdir(folder):
        raise BadInput(f"cannot write {output}: there is no such folder")
    if os.path.isdir(output):
        raise BadInput(f"cannot write {output}: it is a folder")
    for path in (output, folder) if os.path.exists(output) else (folder,):
        if not os.access(path, os.W_OK):
            raise BadInput(f"cannot write {output}: no permission to write {path}")


def _lines(texts, paths, typed):
    """Yields the input's lines without their ends, and where each one stands.

    Only a newline ends a line.
    """
    for number, text in enumerate(texts, start=1):
        yield " ".join(text.splitlines()), f"TEXT {number}"
    if texts:
        return
    wrong = (gzip.BadGzipFile, zlib.error, EOFError)
    for path in paths:
        name = "standard input" if path == "-" else path
        with (
            _open_input(path) as file,
            bad_input(wrong, f"{name} is damaged, or not gzip after all"),
        ):
            for number, line in enumerate(_prompted(file) if typed else file, start=1):
                place = f"line {number} of {name}"
                with bad_input(UnicodeDecodeError, f"{place} is not UTF-8 text"):
                    text = line.decode("utf-8").rstrip("\r\n")
                yield text, place


@contextlib.contextmanager
def _open_input(path):
    if path == "-":
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        packed = file.peek(2)[:2] == _GZIP
        with gzip.GzipFile(fileobj=file) if packed else file as text:
            yield text


def _prompted(file):
    lines = iter(file)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        try:
            yield next(lines)
        except StopIteration:
            print(file=sys.stderr)
            return


# === Output ===


def _partial(path):
    return f"{os.path.realpath(path)}.part"


@contextlib.contextmanager
def open_output(path):
    """The file to write, or standard output.

    The file takes its name only when all is written: until then it is `PATH.part`,
    which no other process can write meanwhile, and what stood at `PATH` before stays. A
    device or a pipe is written directly.
    """
    if not path:
        sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    part = _partial(path)
    with open(_lock(part), "w", encoding="utf-8", newline="\n") as file:
        file.truncate(0)
        try:
            yield file
            file.flush()
            if os.path.exists(path):
                shutil.copymode(path, part)
            os.replace(part, os.path.realpath(path))
        except BaseException:
            if os.path.getsize(part):
                progress(f"{path} was not touched; what was done is in {part}")
            else:
                os.remove(part)
            raise


def _lock(path):
    """A descriptor of a file that no other process writes meanwhile."""
    for _ in range(9):
        try:
            descriptor = lock(path, os.O_RDWR | os.O_CREAT)
        except BlockingIOError:
            break
        # Another one may have finished, and renamed what was opened here.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)
    raise BadInput(f"another process writes to {path}")
