"""Translates a large file with a preset on Ray, on one machine or on a cluster.

    pip install --editable ".[ray]"
    python recipes/bulk_translate.py luong_local corpus.en --output corpus.de

The input has a sentence a line, in UTF-8. The output has the same lines in the same
order, and appears once all of it is translated. Each worker is an actor that loads the
preset once; if it dies, Ray starts another one, which translates its lines again. Only
the machine where the command is given needs the file; the others of a cluster
(--address) need zoo and the preset. Split a file whose translation takes days.
"""

import argparse
import importlib.util
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

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
from zoo.files import atomic_write
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
    """Writes the translation of a file."""
    if importlib.util.find_spec("ray") is None:
        raise BadInput("this needs Ray: pip install 'attention-zoo[ray]'")
    if Path(arguments.output).resolve() == Path(arguments.input).resolve():
        raise BadInput(f"--output must be another file. Received: {arguments.output}")
    folder = presets.locate(arguments.preset)
    if Path(arguments.preset).is_dir():
        arguments.preset = str(folder.resolve())

    with Path(arguments.input).open(encoding="utf-8", newline="\n") as lines:

        def write(aside):
            with Path(aside).open("w", encoding="utf-8", newline="\n") as file:
                for part in translate(parts(lines), digest(folder), arguments):
                    file.writelines(f"{line}\n" for line in part)

        atomic_write(arguments.output, write)


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
    from ray.util import ActorPool

    local, workers = arguments.address is None, arguments.workers
    ray.init(
        address="local" if local else arguments.address,
        num_cpus=workers * arguments.cpus if local else None,
        logging_level="ERROR",
    )
    try:
        have = ray.cluster_resources()
        for name, each in (("CPU", arguments.cpus), ("GPU", arguments.gpus)):
            if workers * each > have.get(name, 0):  # Ray would wait for ever
                raise BadInput(
                    f"{workers} workers need {workers * each:g} {name}s, and Ray has "
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
        pool = ActorPool([worker.remote(*values) for _ in range(workers)])
        for part in parts:
            if not pool.has_free():
                yield pool.get_next()
            pool.submit(lambda actor, part: actor.translate.remote(part), part)
        while pool.has_next():
            yield pool.get_next()
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
        """Translates lines; a blank one gives an empty one."""
        full = [line for line in lines if line.strip()]
        texts = iter(self.model.translate(full, **self.search) if full else ())
        # A translation stays on one line, whatever it contains.
        return [" ".join(next(texts).split("\n")) if x.strip() else "" for x in lines]


def _environment(arguments):
    """Environment of a worker: as many threads as cores, whatever the backend."""
    threads = ("OMP_NUM_THREADS", "NPROC")  # of PyTorch, and of XLA under JAX
    threads += ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    backend = arguments.backend or os.environ.get("KERAS_BACKEND")
    return {
        **dict.fromkeys(threads, str(arguments.cpus)),
        **({"KERAS_BACKEND": backend} if backend else {}),
        # Workers may share a GPU.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


if __name__ == "__main__":
    sys.exit(main())
