"""Translates a large file with a preset on Ray, on one machine or on a cluster.

    pip install --editable ".[ray]"
    python recipes/bulk_translate.py luong_local corpus.en --output corpus.de

The input has a sentence a line, in UTF-8. The output has the same lines in the same
order, and appears once all of it is translated; the same command continues a run that
was stopped. Each worker is an actor that loads the preset once; if it dies, Ray starts
another one, which translates its lines again. Only the machine where the command is
given needs the file; the others of a cluster (--address) need zoo and the preset.
"""

import argparse
import collections
import contextlib
import hashlib
import importlib.util
import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import zoo
from zoo import presets
from zoo.cli.common import (
    BACKEND,
    SEARCH,
    BadInput,
    Parser,
    add_options,
    count,
    exit_code,
    given,
)
from zoo.files import lock, name_file_in_errors, sha256
from zoo.presets.card import digest

ATTEMPTS = 3  # workers that a part may cost
PART = 2000  # lines that a worker is given at a time


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return exit_code(lambda: run(_parser().parse_args(argv)))


def _parser():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = Parser("bulk_translate.py", None, __doc__, formatter_class=formatter)
    add = parser.add_argument
    add("preset", metavar="PRESET", help="name, folder or handle")
    add("input", metavar="INPUT", help="text file")
    add("--output", required=True, metavar="FILE")
    add("--workers", type=count, default=2, help="processes at work (default 2)")
    add("--cpus", type=count, default=1, help="cores of each worker (default 1)")
    add("--gpus", type=float, default=0, help="GPUs of each worker, as 1 or 0.5")
    add("--address", help="of a Ray cluster (default: Ray starts on this machine)")
    add_options(parser, [*SEARCH, BACKEND])
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Writes the translation of a file, resuming a run that was stopped."""
    if importlib.util.find_spec("ray") is None:
        raise BadInput("this needs Ray: pip install 'attention-zoo[ray]'")
    source, output = Path(arguments.input), Path(arguments.output)
    if output.is_dir() or output.resolve() == source.resolve():
        raise BadInput(f"--output must be another file. Received: {output}")
    folder = presets.locate(arguments.preset)
    if Path(arguments.preset).is_dir():
        arguments.preset = str(folder.resolve())
    arguments.backend = arguments.backend or os.environ.get("KERAS_BACKEND")

    with source.open(encoding="utf-8", newline="\n") as lines:
        for _ in lines:  # what isn't UTF-8 is found before any work
            pass
        lines.seek(0)
        preset = digest(folder)
        identity = [preset, sha256(source), given(arguments, SEARCH), arguments.backend]
        with unfinished(output, identity) as file:
            skip_finished(file, lines)
            for part in translate(parts(lines), preset, arguments):
                with name_file_in_errors(output):
                    file.write("".join(f"{line}\n" for line in part).encode())
                    file.flush()


@contextlib.contextmanager
def unfinished(output: Path, identity: Any) -> Iterator[IO[bytes]]:
    """Opens the file of a run that was stopped, or a new one; it becomes the output."""
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:8]
    path = output.with_name(f"{output.name}.{key}.part")
    with path.open("a+b") as file:
        try:
            descriptor = lock(path)
        except BlockingIOError:
            raise BadInput(f"another run is writing {output}") from None
        try:
            yield file
            os.fsync(file.fileno())
            path.replace(output)
        finally:
            os.close(descriptor)
            if path.exists() and not path.stat().st_size:
                path.unlink()


def skip_finished(file: IO[bytes], lines: Iterator[str]) -> None:
    """Skips lines whose translations are in a file, which keeps whole parts only."""
    file.seek(0)
    end = 0
    while len(part := list(itertools.islice(file, PART))) == PART:
        if part[-1].endswith(b"\n"):
            end = file.tell()
            list(itertools.islice(lines, PART))
    file.truncate(end)


def parts(lines: Iterable[str], size: int = PART) -> Iterator[list[str]]:
    """Yields a file's lines without their ends, `size` at a time."""
    lines = iter(lines)
    while part := list(itertools.islice(lines, size)):
        yield [line.rstrip("\r\n") for line in part]


def translate(
    parts: Iterable[list[str]], preset: str, arguments: argparse.Namespace
) -> Iterator[list[str]]:
    """Yields the translation of each part, in order; `preset` is the digest."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    local, count = arguments.address is None, arguments.workers
    ray.init(
        address="local" if local else arguments.address,
        num_cpus=count * arguments.cpus if local else None,
        logging_level="ERROR",
    )
    try:
        have = ray.cluster_resources()
        for name, each in (("CPU", arguments.cpus), ("GPU", arguments.gpus)):
            if count * each > have.get(name, 0):  # Ray would wait for ever
                raise BadInput(
                    f"{count} workers need {count * each:g} {name}s, and Ray has "
                    f"{have.get(name, 0):g}"
                )
        worker = ray.remote(Worker).options(
            num_cpus=arguments.cpus,
            num_gpus=arguments.gpus,
            max_restarts=-1,
            max_task_retries=ATTEMPTS - 1,
            runtime_env={"env_vars": _environment(arguments)},
        )
        values = arguments.preset, preset, given(arguments, SEARCH)
        workers = itertools.cycle([worker.remote(*values) for _ in range(count)])
        # Each worker has a part to go on with, while the first one is waited for.
        waiting: collections.deque[Any] = collections.deque()
        for part in parts:
            waiting.append(next(workers).translate.remote(part))
            if len(waiting) == 2 * count:
                yield ray.get(waiting.popleft())
        yield from map(ray.get, waiting)
    except ray.exceptions.RayError as error:  # its last line is the most specific
        raise RuntimeError(str(error).strip().splitlines()[-1]) from error
    finally:
        ray.shutdown()


class Worker:
    """A process that holds a preset, whose digest it checks, and translates."""

    def __init__(self, preset: str, expected: str, search: dict[str, Any]):
        from zoo.training.fast.process import start_backend, tune_process

        tune_process()
        start_backend()
        if (found := digest(presets.find(preset))) != expected:
            raise ValueError(
                f"the preset {preset} differs on this machine. Expected sha256 "
                f"{expected}. Received: {found}"
            )
        self.model, self.search = zoo.load(preset), search
        print(f"worker {os.getpid()} is ready", file=sys.stderr, flush=True)

    def translate(self, lines: list[str]) -> list[str]:
        """Translates the lines of a part; a blank one gives an empty one."""
        full = [line for line in lines if line.strip()]
        texts = iter(self.model.translate(full, **self.search) if full else ())
        # A translation stays on one line, whatever it contains.
        return [" ".join(next(texts).split("\n")) if x.strip() else "" for x in lines]


def _environment(arguments):
    """Environment of a worker: as many threads as cores, whatever the backend."""
    threads = ("OMP_NUM_THREADS", "NPROC")  # of PyTorch, and of XLA under JAX
    threads += ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    return {
        **dict.fromkeys(threads, str(arguments.cpus)),
        **({"KERAS_BACKEND": arguments.backend} if arguments.backend else {}),
        # Workers may share a GPU.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


if __name__ == "__main__":
    sys.exit(main())
