"""Parts that benchmarks share: timing, processes, the load (Linux), arguments."""

import argparse
import functools
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from tools import ROOT

BUSY = 0.3  # cores used by others that are worth a note
SETTINGS = re.compile(
    r"OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|MALLOC_|GLIBC_TUNABLES|LD_PRELOAD|XLA_FLAGS|"
    r"TF_(?!CPP_)|JAX_|TORCH|KERAS_BACKEND|PYTHONPATH"
)


# === Times ===


def timed(call):
    """Calls a function. Returns (its result, the seconds that it took)."""
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def repeated(call, runs):
    """Calls a function once, which compiles, and then `runs` times.

    Returns:
        (the first result, seconds of the first call, list of those of the others).
    """
    result, first = timed(call)
    return result, first, [timed(call)[1] for _ in range(runs)]


# === Processes ===


def last_object(output):
    """The last line that is a JSON object: backends may write before and after it."""
    lines = [line for line in output.split("\n") if line.startswith("{")]
    if not lines:
        raise ValueError(f"no result in the output: {output[-500:]!r}")
    return json.loads(lines[-1])


def module(name, *arguments, **options):
    """The command of a module of `tools.bench`, to be run in `ROOT`."""
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", f"tools.bench.{name}", *arguments, *flags]


def execute(command, environment, log, cores):
    """Runs a command in `ROOT` on `cores` cores, with its output in a file. Returns the
    output.

    Raises:
        RuntimeError: if it fails; the end of its output is in the message.
    """
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    with open(log, "w", encoding="utf-8") as file:
        result = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        )
    text = log.read_text("utf-8", errors="replace")
    if result.returncode:
        raise RuntimeError(f"exit code {result.returncode}; see {log}\n{text[-2000:]}")
    return text


def clean_environment(environment):
    """(What children get, names of what was taken out)."""
    removed = sorted(name for name in environment if SETTINGS.match(name))
    return {k: v for k, v in environment.items() if k not in removed}, removed


class Bench:
    """Runs commands on the same cores, each with its log, without the caller's settings
    of threads and memory.

    Args:
        work: path of the folder for logs and whatever else is made.
        cores: int, at most.
    """

    def __init__(self, work, cores):
        self.work = work.resolve()
        (self.work / "logs").mkdir(parents=True, exist_ok=True)
        self.environment, self._removed = clean_environment(os.environ)
        self.cores = min(cores, len(os.sched_getaffinity(0)))

    def print_machine(self, *lines):
        """Prints what the figures are of: the machine, and these lines."""
        print(f"{processor()}, {self.cores} cores, Python {platform.python_version()}")
        for line in lines:
            print(line)
        print("taken out of the environment:", ", ".join(self._removed) or "nothing")
        self.print_load("before")

    def print_load(self, when):
        print(f"load average {when}:", *(f"{x:.2f}" for x in os.getloadavg()))

    def measure(self, name, command, environment, read=last_object):
        """Runs a command with variables of its own, and meters it.

        Returns:
            (what `read` finds in its output, the load by `metered`). Where it fails,
            which is printed, (None, the error's message).
        """
        log = self.work / "logs" / f"{re.sub('[ /:]+', '-', name)}.log"
        environment = {**self.environment, **environment}
        try:
            run = functools.partial(execute, command, environment, log, self.cores)
            output, load = metered(run)
            return read(output), load
        except (RuntimeError, ValueError, OSError) as error:
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)
            return None, str(error)


# === The machine ===


def metered(call):
    """Calls a function. Returns (its result, seconds and the CPU used meanwhile by this
    process with its children and by everything else, in cores)."""
    began = _used()
    result = call()
    wall, own, busy, steal = (b - a for a, b in zip(began, _used(), strict=True))
    load = {"seconds": wall, "own_cores": own / wall}
    load["other_cores"] = max(0.0, busy - own) / wall
    return result, {**load, "stolen_cores": steal / wall}


def _used():
    own = sum(os.times()[:4])  # user's and system's, those of children too
    with open("/proc/stat") as file:
        return time.monotonic(), own, *processor_times(file.readline())


def processor_times(line, ticks=None):
    """Seconds (in use, stolen by the machine's host) from the first line of /proc/stat.

    Its fields are user, nice, system, idle, iowait, irq, softirq and steal.
    """
    ticks = ticks or os.sysconf("SC_CLK_TCK")
    user, nice, system, _, _, irq, softirq, steal = map(int, line.split()[1:9])
    return (user + nice + system + irq + softirq) / ticks, steal / ticks


def note(load):
    """A warning to put behind a figure if others kept the machine busy."""
    other = load.get("other_cores", 0.0) + load.get("stolen_cores", 0.0)
    return f"  NOTE: others used {other:.2f} cores" if other > BUSY else ""


def processor():
    """The CPU's name, where Linux has one."""
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def versions(*packages):
    """The versions of packages, by name."""
    return {name: importlib.metadata.version(name) for name in packages}


def peak_memory():
    """The most memory that this process has had, in MB."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 2**10


# === Workers that translate ===


def add_search(parser):
    """Adds the arguments of all workers that translate."""
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64, help="sentences at a time")
    parser.add_argument("--length", type=int, default=15, help="words of each")
    parser.add_argument("--runs", type=int, default=5)


def print_report(translate, began, runs, packages):
    """Times a function that returns translations, loaded since `began`, and prints what
    `last_object` reads."""
    load = time.perf_counter() - began
    found, first, seconds = repeated(translate, runs)
    report = {"seconds": seconds, "load": load, "first": first, "sentences": len(found)}
    report |= {"peak_memory": peak_memory(), "versions": versions(*packages)}
    print(json.dumps(report))


# === Arguments ===


def add_names(parser, option, allowed, text=None):
    """Adds an option that takes some of these names, commas between them, or "none";
    all by default."""

    def read(text):
        chosen = [] if text == "none" else text.split(",")
        if not set(chosen) <= set(allowed):
            raise argparse.ArgumentTypeError(
                f"takes {', '.join(allowed)}. Received: {text}"
            )
        return chosen

    parser.add_argument(option, type=read, default=",".join(allowed), help=text)


def counts(text):
    """A type of argument: numbers of at least 1 with commas between them."""
    if not all(part.isdecimal() and int(part) for part in text.split(",")):
        raise argparse.ArgumentTypeError(
            f"takes numbers of at least 1. Received: {text}"
        )
    return [int(part) for part in text.split(",")]
