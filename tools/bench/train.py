"""Measures training on CPU cores: zoo on each backend, other libraries, the limit.

    python -m tools.bench.train --work FOLDER --json FILE

Reference work: Multi30k English to German as words (13a, cased), a vocabulary of 6,000
a side, a bidirectional LSTM encoder of 2 x 128, an LSTM decoder of 256, embeddings of
256, general attention, input feeding, no dropout, Adam, batches of 64 sentences. zoo
trains with its own `fit`, each peer with its own command, in an environment of its own
that is made in FOLDER once. All read the same words. What is counted is real target
tokens, the end token included; padding is not. Of each run the beginning is left out,
with all that is compiled in it. `tools/bench/workers/limit.py` says what the limit is.

Variables that set threads or memory allocation are taken out of the environment: every
system gets its own defaults.
"""

import argparse
import dataclasses
import json
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.bench import peers
from tools.bench.core import (
    Bench,
    add_names,
    last_object,
    module,
    note,
    processor,
    summary,
)
from tools.bench.data import write_data
from tools.markdown import table
from zoo.backend import BACKENDS
from zoo.cli.common import count

# === Runs ===


@dataclasses.dataclass(frozen=True)
class System:
    """Something to measure: a command, and how its output is read.

    Attributes:
        name: as it is printed.
        command: function to the arguments.
        read: function of the output to (rates of the windows, other facts).
        environment: variables of its own.
    """

    name: str
    command: Callable[[], list[str]]
    read: Callable[[str], tuple[list[float], dict]]
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


def zoo_system(backend, work, args):
    options = {"model": args.model, "steps": args.steps, "windows": args.windows}
    command = module("workers.train", data=work / "data", **options)

    def read(output):
        found = last_object(output)
        return found.pop("windows"), found

    variables = {"KERAS_BACKEND": backend}
    return System(f"zoo {backend}", lambda: command, read, variables)


def peer_system(name, work, args):
    peer, steps = peers.PEERS[name], (args.windows + 1) * args.steps

    def command():
        return peers.prepare(peer, name, work, work / "data", steps, args.steps)

    def read(output):
        return peers.rates(peer, output)[1:], {"versions": peers.versions(peer, work)}

    return System(name, command, read)


def interleave(zoo, others):
    """zoo, peer, zoo, peer, …, so that a machine that slows down shows in both."""
    order = []
    for place in range(max(len(zoo), len(others))):
        order += zoo[place : place + 1] + others[place : place + 1]
    return order


def rate_table(rates, references):
    """A table in Markdown: one row for each system, a column for each ratio.

    Args:
        rates: dict of system -> list of target tokens per second.
        references: dict of column -> target tokens per second, or None.
    """
    columns = [name for name, value in references.items() if value]
    heads = ["system", "target tokens/s", "spread", *(f"/ {c}" for c in columns)]
    rows = []
    for name, values in rates.items():
        found = summary(values)
        if found is None:
            rows.append([name, "failed"] + [""] * (len(heads) - 2))
            continue
        rows.append(
            [
                name,
                f"{found['median']:,.0f}",
                f"{found['least']:,.0f} – {found['most']:,.0f}",
                *(f"{found['median'] / references[c]:.2f}" for c in columns),
            ]
        )
    return table(heads, rows)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--work",
        type=Path,
        required=True,
        help="folder for environments, data and logs",
    )
    add_names(parser, "--backends", BACKENDS, "of zoo; or none")
    add_names(parser, "--peers", peers.PEERS, "or none")
    parser.add_argument(
        "--model",
        choices=("luong", "bahdanau", "transformer"),
        default="luong",
        help="zoo's; the limit is luong's work in each case",
    )
    parser.add_argument("--rounds", type=count, default=2, help="runs of each system")
    parser.add_argument("--windows", type=count, default=3, help="timed in each run")
    parser.add_argument("--steps", type=count, default=100, help="of a window")
    parser.add_argument("--cores", type=count, default=2)
    parser.add_argument("--quick", action="store_true", help="a check, not a figure")
    parser.add_argument("--json", type=Path, help="file for everything measured")
    args = parser.parse_args(argv)
    if args.quick:
        args.rounds, args.windows, args.steps = 1, 2, 10
    return args


def main(argv=None):
    args = parse(argv)
    # So that what runs at that moment ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(args.work, args.cores)
    work, cores = bench.work, bench.cores
    facts = write_data(work / "data")
    bench.print_machine(
        f"{facts['pairs']:,} pairs, {facts['source']:.2f} source words and "
        f"{facts['target']:.2f} target tokens each (end token counted), "
        f"{64 * facts['target']:.0f} target tokens a batch of 64"
    )

    for name in list(args.peers):
        try:
            peers.install(peers.PEERS[name], work)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} cannot be installed: {error}", file=sys.stderr, flush=True)
            args.peers.remove(name)
    systems = interleave(
        [zoo_system(name, work, args) for name in args.backends],
        [peer_system(name, work, args) for name in args.peers],
    )
    rates = {system.name: [] for system in systems}
    details, limits, runs = {}, [], []

    def measure(system):
        result, load = bench.measure(**vars(system))
        more = {"error": load} if result is None else load
        runs.append({"system": system.name, **more})
        return result, load

    lengths = {side: facts[side] for side in ("source", "target")}
    seconds = 0.2 if args.quick else 1.0
    command = module("workers.limit", **lengths, seconds=seconds)
    limit_system = System("limit", lambda: command, last_object)

    def measure_limit():
        result, load = measure(limit_system)
        if result:
            limits.append(result)
            say("limit (luong)", load, f"{result['limit']:,.0f}")

    def say(name, load, text):
        print(f"{name:20} {text}  ({load['seconds']:.0f} s){note(load)}", flush=True)

    for _ in range(args.rounds):
        measure_limit()
        for system in systems:
            result, load = measure(system)
            if result:
                windows, more = result
                rates[system.name] += windows
                details[system.name] = more
                say(system.name, load, " ".join(f"{rate:,.0f}" for rate in windows))
    measure_limit()

    limit = statistics.median([found["limit"] for found in limits]) if limits else None
    medians = {
        name: (summary(values) or {}).get("median") for name, values in rates.items()
    }
    bench.print_load("after")
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
    print(rate_table(rates, {**references, "limit": limit}))
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
