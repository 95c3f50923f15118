"""Measures training on CPU cores: zoo on each backend, other libraries, the limit.

    python tools/bench_train.py --work FOLDER --json FILE

Reference work: Multi30k English to German as words (13a, cased), a vocabulary of 6,000
a side, a bidirectional LSTM encoder of 2 x 128, an LSTM decoder of 256, embeddings of
256, general attention, input feeding, no dropout, Adam, batches of 64 sentences. zoo
trains with its own `fit`, each peer with its own command, in an environment of its own
that is made in FOLDER once. All read the same words. What is counted is real target
tokens, the end token included; padding is not. Of each run the beginning is left out,
with all that is compiled in it. `tools/bench_train_limit.py` says what the limit is.

Variables that set threads or memory allocation are taken out of the environment: every
system gets its own defaults.
"""

import argparse
import dataclasses
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bench_train_peers as peers_
from bench_train_data import write_data
from bench_train_report import Meter, processor, summary, table

from zoo.backend import BACKENDS

ROOT = Path(__file__).resolve().parent.parent
BUSY = 0.3  # cores used by others that are worth a note
SETTINGS = re.compile(
    r"OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|MALLOC_|GLIBC_TUNABLES|LD_PRELOAD|XLA_FLAGS|"
    r"TF_(?!CPP_)|JAX_|TORCH|KERAS_BACKEND|PYTHONPATH"
)


# === Runs ===


@dataclasses.dataclass(frozen=True)
class System:
    """Something to measure: a command, and how its output is read.

    Attributes:
        name: as it is printed.
        command: function of (steps, steps of a window) to the arguments.
        read: function of the output to (rates of the windows, other facts).
        environment: variables of its own.
    """

    name: str
    command: Callable[[int, int], list[str]]
    read: Callable[[str], tuple[list[float], dict]]
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


def clean_environment(environment):
    """(What children get, names of what was taken out)."""
    removed = sorted(name for name in environment if SETTINGS.match(name))
    return {k: v for k, v in environment.items() if k not in removed}, removed


def execute(command, environment, log, cores):
    """Runs a command on `cores` cores, with its output in a file. Returns the output.

    Raises:
        RuntimeError: if it fails; the end of its output is in the message.
    """
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    with open(log, "w", encoding="utf-8") as file:
        result = subprocess.run(
            command,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        )
    text = log.read_text("utf-8", errors="replace")
    if result.returncode:
        raise RuntimeError(f"exit code {result.returncode}; see {log}\n{text[-2000:]}")
    return text


def last_object(output):
    """The last line that is a JSON object: backends may write before and after it."""
    lines = [line for line in output.split("\n") if line.startswith("{")]
    if not lines:
        raise ValueError(f"no result in the output: {output[-500:]!r}")
    return json.loads(lines[-1])


def zoo_system(backend, data, model):
    def command(steps, window):
        return [
            *(sys.executable, str(ROOT / "tools" / "bench_train_zoo.py")),
            *("--data", str(data), "--model", model, "--steps", str(window)),
            *("--windows", str(steps // window - 1)),
        ]

    def read(output):
        found = last_object(output)
        return found.pop("windows"), found

    environment = {"KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)}
    return System(f"zoo {backend}", command, read, environment)


def peer_system(name, work, data):
    peer = peers_.PEERS[name]

    def command(steps, window):
        return peers_.prepare(peer, name, work, data, steps, window)

    def read(output):
        return peers_.rates(peer, output)[1:], {"versions": peers_.versions(peer, work)}

    return System(name, command, read)


def interleave(zoo, peers):
    """zoo, peer, zoo, peer, …, so that a machine that slows down shows in both."""
    order = []
    for place in range(max(len(zoo), len(peers))):
        order += zoo[place : place + 1] + peers[place : place + 1]
    return order


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--work",
        type=Path,
        required=True,
        help="folder for environments, data and logs",
    )
    parser.add_argument(
        "--backends", default=",".join(BACKENDS), help="of zoo; or none"
    )
    parser.add_argument("--peers", default=",".join(peers_.PEERS), help="or none")
    parser.add_argument(
        "--model",
        choices=("luong", "bahdanau"),
        default="luong",
        help="zoo's; the limit is luong's work in either case",
    )
    parser.add_argument("--rounds", type=int, default=2, help="runs of each system")
    parser.add_argument("--windows", type=int, default=3, help="timed in each run")
    parser.add_argument("--steps", type=int, default=100, help="of a window")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a check, not a figure")
    parser.add_argument("--json", type=Path, help="file for everything measured")
    args = parser.parse_args(argv)
    for name, known in (("backends", BACKENDS), ("peers", peers_.PEERS)):
        value = getattr(args, name)
        chosen = [] if value == "none" else value.split(",")
        if not set(chosen) <= set(known):
            parser.error(f"--{name} takes {', '.join(known)}. Received: {value}")
        setattr(args, name, chosen)
    for name in ("rounds", "windows", "steps", "cores"):
        if getattr(args, name) < 1:
            parser.error(
                f"--{name} must be at least 1. Received: {getattr(args, name)}"
            )
    if args.quick:
        args.rounds, args.windows, args.steps = 1, 2, 10
    return args


def main(argv=None):
    args = parse(argv)
    # So that what runs at that moment ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = args.work.resolve()
    (work / "logs").mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT))
    facts = write_data(work / "data")
    environment, removed = clean_environment(os.environ)
    cores = min(args.cores, len(os.sched_getaffinity(0)))
    print(f"{processor()}, {cores} cores, Python {platform.python_version()}")
    print(
        f"{facts['pairs']:,} pairs, {facts['source']:.2f} source words and "
        f"{facts['target']:.2f} target tokens each (end token counted), "
        f"{64 * facts['target']:.0f} target tokens a batch of 64"
    )
    print("taken out of the environment:", ", ".join(removed) or "nothing")
    print("load average before:", *(f"{x:.2f}" for x in os.getloadavg()))

    for name in list(args.peers):
        try:
            peers_.install(peers_.PEERS[name], work)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} cannot be installed: {error}", file=sys.stderr, flush=True)
            args.peers.remove(name)
    systems = interleave(
        [zoo_system(name, work / "data", args.model) for name in args.backends],
        [peer_system(name, work, work / "data") for name in args.peers],
    )
    rates = {system.name: [] for system in systems}
    details, limits, runs = {}, [], []

    def measure(name, command, variables, read):
        log = work / "logs" / f"{name.replace(' ', '-')}.log"
        try:
            with Meter() as meter:
                output = execute(command(), {**environment, **variables}, log, cores)
            found = read(output)
        except (RuntimeError, ValueError, OSError) as error:
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)
            runs.append({"system": name, "error": str(error)})
            return None
        runs.append({"system": name, **meter.found})
        return found, meter.found

    def measure_limit():
        command = [
            *(sys.executable, str(ROOT / "tools" / "bench_train_limit.py")),
            *("--source", str(facts["source"]), "--target", str(facts["target"])),
            *("--seconds", "0.2" if args.quick else "1.0"),
        ]
        found = measure("limit", lambda: command, {}, last_object)
        if found:
            limits.append(found[0])
            say("limit (luong)", found[1], f"{found[0]['limit']:,.0f}")

    def say(name, load, text):
        other = load.get("other_cores", 0.0) + load.get("stolen_cores", 0.0)
        note = f"  NOTE: others used {other:.2f} cores" if other > BUSY else ""
        print(f"{name:20} {text}  ({load['seconds']:.0f} s){note}", flush=True)

    steps = (args.windows + 1) * args.steps
    for _ in range(args.rounds):
        measure_limit()
        for system in systems:
            found = measure(
                system.name,
                lambda system=system: system.command(steps, args.steps),
                system.environment,
                system.read,
            )
            if found:
                (windows, more), load = found
                rates[system.name] += windows
                details[system.name] = more
                say(system.name, load, " ".join(f"{rate:,.0f}" for rate in windows))
    measure_limit()

    limit = statistics.median([found["limit"] for found in limits]) if limits else None
    medians = {
        name: (summary(values) or {}).get("median") for name, values in rates.items()
    }
    print("load average after:", *(f"{x:.2f}" for x in os.getloadavg()))
    for name, more in details.items():
        versions = ", ".join(f"{k} {v}" for k, v in more["versions"].items())
        padding = f", {more['padding']:.1%} padding" if "padding" in more else ""
        print(f"{name}: {versions}{padding}")
    if limits:
        large = summary([rate / 1e9 for found in limits for rate in found["large"]])
        print(
            f"limit: {limit:,.0f} target tokens/s = {large['median']:.0f} GFLOP/s "
            f"({large['least']:.0f} – {large['most']:.0f}) / "
            f"{limits[0]['operations_per_token'] / 1e6:.1f} MFLOP; "
            f"{statistics.median([f['limit_at_own_shapes'] for f in limits]):,.0f} "
            "with each product at the rate of its own shape"
        )
    references = {name: medians.get(name) for name in ("opennmt-py", "joeynmt")}
    print(table(rates, {**references, "limit": limit}))
    if args.json:
        report = {
            "processor": processor(),
            "cores": cores,
            "data": facts,
            "rates": rates,
            "summary": {name: summary(values) for name, values in rates.items()},
            "details": details,
            "limits": limits,
            "runs": runs,
            "arguments": {k: str(v) for k, v in vars(args).items()},
        }
        args.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if all(rates.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
