"""Translates large files with a preset on Ray, on one machine or several.

    pip install --editable ".[ray]"
    python recipes/bulk_translate.py luong_local corpus.en --output corpus.de

Inputs are text files, one sentence a line, in UTF-8, plain or gzip-compressed (.gz).
The output has the same lines in the same order; for several inputs it is a folder.
Each worker is an actor that loads the preset once; if it dies, Ray starts another one
that translates its partition of the lines. Finished partitions are kept in OUTPUT.parts
until all are done: the same command continues a run that was stopped. Only the machine
where it is given needs the files; the others of a cluster (--address) need zoo and the
preset.
"""

import argparse
import glob
import gzip
import importlib.util
import itertools
import json
import os
import shutil
import sys
import warnings
import zlib
from collections.abc import Iterator
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
    number,
    progress,
)
from zoo.files import atomic_write, sha256, write_bytes
from zoo.presets.card import digest
from zoo.training.config import only_run_in

ATTEMPTS = 3  # workers that a partition may cost
_DAMAGED = (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error)


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return exit_code(lambda: run(_parser().parse_args(argv)))


def _parser():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = Parser("bulk_translate.py", None, __doc__, formatter_class=formatter)
    add = parser.add_argument
    add("preset", metavar="PRESET", help="name, folder or handle")
    add("input", metavar="INPUT", nargs="+", help="text file, or gzip (.gz)")
    add("--output", required=True, help="file, or folder for several inputs")
    add("--workers", type=count, default=2, help="processes at work (default 2)")
    add("--cpus", type=count, default=1, help="cores of each worker (default 1)")
    add("--gpus", type=number, default=0, help="GPUs of each worker, as 1 or 0.5")
    lines = "lines of a partition; a worker that dies loses one (default 2000)"
    add("--partition-lines", type=count, default=2000, metavar="N", help=lines)
    add("--address", help="of a Ray cluster (default: Ray starts on this machine)")
    add("--restart", action="store_true", help="discard unfinished work")
    add_options(parser, [*SEARCH, BACKEND])
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Translates the missing partitions, then joins all of them."""
    if importlib.util.find_spec("ray") is None:
        raise BadInput("this needs Ray: pip install 'attention-zoo[ray]'")
    outputs = _outputs(arguments.input, Path(arguments.output))
    arguments.backend = arguments.backend or os.environ.get("KERAS_BACKEND")
    folder = presets.locate(arguments.preset)
    if Path(arguments.preset).is_dir():
        arguments.preset = str(folder.resolve())
    work = Path(f"{Path(arguments.output)}.parts")  # no last slash
    identity = {"preset": digest(folder), "lines": arguments.partition_lines}
    identity |= {"search": given(arguments, SEARCH), "backend": arguments.backend}
    with only_run_in(work):
        for path in work.iterdir() if arguments.restart else ():
            path.unlink()
        identity["inputs"] = [[name, sha256(name)] for name in outputs]
        _check_identity(work / "manifest.json", identity)
        missing = (
            (name, number, lines)
            for name in outputs
            for number, lines in _partitions(name, arguments.partition_lines)
            if not _part(work, outputs[name], number).exists()
        )
        for done in translate(missing, identity["preset"], arguments):
            name, number, lines, told = done
            text = "".join(f"{line}\n" for line in lines)
            write_bytes(_part(work, outputs[name], number), text.encode())
            for message in told:
                part = f"{name}, {len(lines)} lines from line {number} on"
                progress(f"{part}: {message}")
        for output in outputs.values():
            atomic_write(
                output, lambda aside, output=output: _join(work, output, aside)
            )
        shutil.rmtree(work)
    progress(f"{arguments.output} is complete")


def translate(
    partitions: Iterator[tuple[str, int, list[str]]],
    preset: str,
    arguments: argparse.Namespace,
) -> Iterator[tuple[str, int, list[str], list[str]]]:
    """Translates partitions on Ray.

    Args:
        partitions: name of the file, number of its first line, and lines of each.
        preset: digest of the preset.
        arguments: those of the command.

    Yields:
        The same of each partition that is done, its lines translated, and messages.
    """
    first = next(partitions, None)
    if first is None:
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.util import ActorPool

    cores, local = arguments.cpus, arguments.address is None
    ray.init(
        address="local" if local else arguments.address,
        num_cpus=arguments.workers * cores if local else None,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        have = ray.cluster_resources()
        for name, each in (("CPU", cores), ("GPU", arguments.gpus)):
            needed = arguments.workers * each
            if needed > have.get(name, 0):  # Ray would wait for ever
                raise BadInput(
                    f"{arguments.workers} workers need {needed:g} {name}s, and Ray has "
                    f"{have.get(name, 0):g}"
                )
        worker = ray.remote(Worker).options(
            num_cpus=cores,
            num_gpus=arguments.gpus,
            max_restarts=-1,
            max_task_retries=ATTEMPTS - 1,
            runtime_env={"env_vars": _environment(arguments)},
        )
        model = arguments.preset, preset, given(arguments, SEARCH)
        pool = ActorPool([worker.remote(*model) for _ in range(arguments.workers)])
        for partition in itertools.chain([first], partitions):
            if not pool.has_free():
                yield pool.get_next_unordered()
            pool.submit(lambda actor, p: actor.translate.remote(*p), partition)
        while pool.has_next():
            yield pool.get_next_unordered()
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

    def translate(
        self, name: str, number: int, lines: list[str]
    ) -> tuple[str, int, list[str], list[str]]:
        """Translates a partition, a line each; a blank line gives an empty one."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            full = [line for line in lines if line.strip()]
            texts = iter(self.model.translate(full, **self.search) if full else ())
        # A translation stays on one line, whatever it contains.
        done = [" ".join(next(texts).split("\n")) if x.strip() else "" for x in lines]
        told = [f"done by process {os.getpid()} on {os.uname().nodename}"]
        return name, number, done, told + [f"warning: {x.message}" for x in caught]


# === Files ===


def _outputs(inputs, output):
    """The path of each input's output."""
    paths = [output / Path(name).name for name in inputs] if inputs[1:] else [output]
    for name in inputs:
        if not Path(name).is_file():
            raise BadInput(f"an input must be a file. Received: {name}")
    whole = [Path(path).resolve() for path in (*inputs, *paths)]
    if len(set(whole)) < len(whole):
        raise BadInput(f"{output}: two files would have the same path")
    if not output.absolute().parent.is_dir() or (not inputs[1:] and output.is_dir()):
        raise BadInput(f"cannot write {output}: no such folder, or it is one")
    if inputs[1:]:
        output.mkdir(exist_ok=True)
    return dict(zip(inputs, paths, strict=True))


def _part(work, output, number):
    return work / f"{output.name}.{number:010}"


def _join(work, output, aside):
    """Writes an output from its finished partitions."""
    open_file = gzip.open if output.suffix == ".gz" else open
    with open_file(aside, "wb") as file:
        for path in sorted(work.glob(f"{glob.escape(output.name)}.{'[0-9]' * 10}")):
            file.write(path.read_bytes())


def _partitions(name, most):
    """Yields the number of the first line, and the lines, of parts of a file."""
    open_file: Any = gzip.open if name.endswith(".gz") else open
    with open_file(name, "rt", encoding="utf-8", newline="\n") as file:
        for number in itertools.count(1, most):
            try:
                lines = list(itertools.islice(file, most))
            except _DAMAGED as error:
                raise BadInput(f"{name}, after line {number - 1}: {error}") from error
            if not lines:
                return
            yield number, [line.rstrip("\r\n") for line in lines]


def _check_identity(path, identity):
    """Refuses unfinished work of other inputs, options or weights."""
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
        for key, value in json.loads(json.dumps(identity)).items():
            if stored.get(key) != value:
                raise BadInput(
                    f"{path.parent} holds unfinished work with another {key}: "
                    f"{stored.get(key)}; --restart removes it. Received: {value}"
                )
    write_bytes(path, json.dumps(identity).encode())


def _environment(arguments):
    """Environment of a worker: as many threads as cores, whatever the backend."""
    names = ("OMP_NUM_THREADS", "NPROC")  # of PyTorch, and of XLA under JAX
    names += ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    return {
        **dict.fromkeys(names, str(arguments.cpus)),
        **({"KERAS_BACKEND": arguments.backend} if arguments.backend else {}),
        # Workers may share a GPU.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


if __name__ == "__main__":
    sys.exit(main())
