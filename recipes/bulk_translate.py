"""Translates large files with a preset on Ray Data, on one machine or several.

    pip install --editable ".[ray]"
    python recipes/bulk_translate.py luong_local corpus.en --output corpus.de

Inputs are text files, one sentence a line, in UTF-8, plain or gzip-compressed (.gz).
The output has the same lines in the same order; for several inputs it is a folder.
Inputs are cut into partitions. Each worker is an actor that loads the preset once; if
it dies, Ray starts another one that translates its partition. Finished partitions are
kept in OUTPUT.parts until all are done: the same command continues a run that was
stopped. Only the machine where it is given needs the files; the others of a cluster
(--address) need zoo and the preset.
"""

import argparse
import dataclasses
import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo import presets
from zoo.cli import bulk_job as bulk
from zoo.cli.common import (
    BEAM_SIZE,
    SEARCH_OPTIONS,
    BadInput,
    Parser,
    add_search,
    bad_input,
    check_search,
    count,
    exit_code,
    penalty,
    progress,
)

_SEARCH = ("batch_size", *SEARCH_OPTIONS)
_ATTEMPTS = 3  # workers that a partition may cost


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return exit_code(lambda: run(_parser().parse_args(argv)))


def _parser():
    parser = Parser(
        prog="bulk_translate.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("preset", metavar="PRESET", help="name, folder or handle")
    add("input", metavar="INPUT", nargs="+", help="text file, or gzip (.gz)")
    add("--output", required=True, help="file, or folder for several inputs")
    add("--workers", type=count, default=2, help="processes at work (default 2)")
    add(
        "--cpus",
        type=count,
        default=1,
        help="CPU cores, and threads, of each worker (default 1)",
    )
    add("--gpus", type=penalty, default=0, help="GPUs of each worker, as 1 or 0.5")
    add(
        "--partition-lines",
        type=count,
        default=2000,
        metavar="N",
        help="lines of a partition; a worker that dies loses one (default 2000)",
    )
    add("--address", help="of a Ray cluster (default: Ray starts on this machine)")
    add("--restart", action="store_true", help="discard unfinished work")
    add_search(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Translates the missing partitions, then joins all of them."""
    if importlib.util.find_spec("ray") is None:
        raise BadInput("this needs Ray: pip install 'attention-zoo[ray]'")
    check_search(arguments)
    with bad_input(keep=(presets.PresetError, OSError)):
        folder = presets.locate(arguments.preset)
    if Path(arguments.preset).expanduser().is_dir():
        arguments.preset = str(folder.resolve())
    digest = bulk.preset_digest(folder)
    search = {name: getattr(arguments, name) for name in _SEARCH}
    search["beam_size"] = search["beam_size"] or BEAM_SIZE
    backend = arguments.backend or os.environ.get("KERAS_BACKEND")
    with bulk.Job(
        arguments.input,
        arguments.output,
        arguments.partition_lines,
        {"preset sha256": digest, "backend": backend, **search},
        arguments.restart,
    ) as job:
        missing = {partition.number: partition for partition in job.missing()}
        finished = len(job.partitions) - len(missing)
        progress(
            f"{sum(p.lines for p in job.partitions)} lines in {len(job.partitions)} "
            f"partitions"
            + (f", {finished} of them finished before" if finished else "")
        )
        began, lines = time.perf_counter(), 0
        try:
            for row in translate(missing.values(), digest, search, arguments):
                job.write(missing[row["number"]], row["text"])
                for message in row["warnings"].splitlines():
                    progress(f"warning: {message}")
                lines += missing[row["number"]].lines
                seconds = time.perf_counter() - began
                speed = f"{lines / seconds:.1f} sentences/s"
                progress(f"{lines} lines in {seconds:.1f} s, {speed}")
        except BaseException:
            progress(f"{job.folder} keeps what is finished: the same command continues")
            raise
        job.join()
    progress(f"{arguments.output} is complete")


def translate(
    partitions: Any, digest: str, search: dict[str, Any], arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Translates partitions on Ray.

    Yields:
        For each partition, in the order in which they finish, a dict with its
        "number", the "text", and "warnings", one a line.
    """
    if not partitions:
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DATA_LOG_LEVEL", "ERROR")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    import ray
    import ray.data

    local = arguments.address is None
    ray.init(
        address="local" if local else arguments.address,
        num_cpus=arguments.workers * arguments.cpus if local else None,
        include_dashboard=False if local else None,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        _check_resources(ray.cluster_resources(), arguments)
        ray.data.DataContext.get_current().enable_progress_bars = False
        here = {f"node:{ray.util.get_node_ip_address()}": 0.001}
        attempts = ray.remote(num_cpus=0, resources=here)(Attempts).remote()
        rows = [dataclasses.asdict(partition) for partition in partitions]
        work = (
            ray.data.from_items(rows, override_num_blocks=len(rows))
            .map(_read, num_cpus=0, resources=here)
            .map_batches(
                Worker,
                fn_constructor_args=(arguments.preset, digest, search, attempts),
                batch_size=1,
                batch_format="numpy",
                compute=ray.data.ActorPoolStrategy(
                    size=arguments.workers, max_tasks_in_flight_per_actor=2
                ),
                num_cpus=arguments.cpus,
                num_gpus=arguments.gpus or None,
                runtime_env={"env_vars": _environment(arguments)},
            )
        )
        seen = set()
        for row in work.iter_rows():
            if row["worker"] not in seen:
                seen.add(row["worker"])
                progress(f"at work: {row['worker']}")
            if row["error"]:
                raise RuntimeError(row["error"])
            if row["attempt"] > 1:
                progress(
                    f"partition {row['number']} was started again: its worker died"
                )
            yield row
    except ray.exceptions.RayError as error:  # its last line is the most specific
        raise RuntimeError(str(error).strip().splitlines()[-1]) from error
    finally:
        ray.shutdown()


def _read(row):
    partition = bulk.Partition(**row)
    place = {"name": partition.name, "first": partition.first}
    return {"number": partition.number, **place, "text": partition.read()}


class Worker(bulk.Translator):
    """A `bulk.Translator` as Ray Data calls it: one partition a batch."""

    def __init__(self, preset: str, digest: str, search: dict[str, Any], attempts: Any):
        super().__init__(preset, digest, search)
        self._attempts = attempts

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Translates one partition."""
        import ray

        number, name, first, text = (
            batch[key][0] for key in ("number", "name", "first", "text")
        )
        row = {"number": number, "text": b"", "warnings": "", "error": ""}
        row["attempt"] = ray.get(self._attempts.begin.remote(int(number)))
        row["worker"] = f"process {os.getpid()} on {os.uname().nodename}"
        try:
            if row["attempt"] > _ATTEMPTS:
                raise RuntimeError(f"it has cost {_ATTEMPTS} workers (out of memory?)")
            row["text"], warnings = self.translate(bytes(text), str(name), int(first))
            row["warnings"] = "\n".join(warnings)
        except Exception as error:  # as text: not every error can be sent
            reason = f"{type(error).__name__}: {error}"
            row["error"] = f"partition {number}, from line {first} of {name}: {reason}"
        return {key: [value] for key, value in row.items()}


class Attempts:
    """Counts how often each partition was started; it outlives the workers."""

    def __init__(self):
        self._counts = {}

    def begin(self, number: int) -> int:
        """Counts one attempt and returns how many there were."""
        self._counts[number] = self._counts.get(number, 0) + 1
        return self._counts[number]


def _check_resources(have, arguments):
    """Refuses what Ray can't provide: it would wait for ever."""
    for name, each in (("CPU", arguments.cpus), ("GPU", arguments.gpus)):
        needed = arguments.workers * each
        if needed > have.get(name, 0):
            raise BadInput(
                f"{arguments.workers} workers need {needed:g} {name}s, and Ray has "
                f"{have.get(name, 0):g}"
            )


def _environment(arguments):
    """Environment of a worker: as many threads as cores, whatever the backend."""
    cores = str(arguments.cpus)
    environment = {
        "OMP_NUM_THREADS": cores,  # torch
        "NPROC": cores,  # XLA under JAX
        "TF_NUM_INTRAOP_THREADS": cores,
        "TF_NUM_INTEROP_THREADS": cores,
        "OMP_WAIT_POLICY": "PASSIVE",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    if arguments.backend:
        environment["KERAS_BACKEND"] = arguments.backend
    if 0 < arguments.gpus < 1:  # nobody takes all of a shared GPU's memory
        environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    return environment


if __name__ == "__main__":
    sys.exit(main())
