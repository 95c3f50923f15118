"""Measures training on CPU cores: zoo on each backend, other libraries.

    python -m tools.bench.train --work FOLDER --json FILE

Reference work: Multi30k English to German as words (13a, cased), a vocabulary of 6,000
a side, a bidirectional LSTM encoder of 2 x 128, an LSTM decoder of 256, embeddings of
256, general attention, input feeding, no dropout, Adam, batches of 64 sentences. zoo
trains with its own `fit`, each peer with its own command, in an environment of its own
that is made in FOLDER once. All read the same words. What is counted is real target
tokens, the end token included; padding is not. Of each run the beginning is left out,
with all that is compiled in it.

Variables that set threads or memory allocation are taken out of the environment: every
system gets its own defaults.
"""

import argparse
import itertools
import json
import signal
import statistics
import subprocess
import sys
from pathlib import Path

from tools.bench import peers
from tools.bench.core import Bench, add_names, last_object, module, note, processor
from tools.bench.data import write_data
from tools.markdown import table
from zoo.backend import BACKENDS
from zoo.cli.common import count

# On a CPU TensorFlow trains no faster in bfloat16.
SYSTEMS = (*BACKENDS, "jax-bfloat16", "torch-bfloat16")
MODELS = ("luong", "bahdanau", "transformer")


class Measurements:
    """The results of a benchmark's runs.

    Attributes:
        rates: system -> target tokens a second of each window.
        details: system -> the other facts of its last run.
        runs: every run with its load, or its error.
    """

    def __init__(self, bench, args):
        self.bench, self.args = bench, args
        # zoo, peer, zoo, peer, …: a machine that slows down shows in both.
        names = itertools.zip_longest([f"zoo {x}" for x in args.backends], args.peers)
        self.rates = {name: [] for pair in names for name in pair if name}
        self.details, self.runs = {}, []

    def train(self, name):
        run = self._peer(name) if name in peers.PEERS else self._zoo(name)
        found, load = self.bench.measure(name, *run)
        if found is None:
            self.runs.append({"system": name, "error": load})
            return
        self.runs.append({"system": name, **load})
        windows = found.pop("windows")
        self.details[name] = found
        self.rates[name] += windows
        text = " ".join(f"{rate:,.0f}" for rate in windows)
        print(f"{name:20} {text}  ({load['seconds']:.0f} s){note(load)}", flush=True)

    # Each returns the command, its environment, and what reads its output.

    def _zoo(self, name):
        backend, _, half = name.removeprefix("zoo ").partition("-")
        options = {x: getattr(self.args, x) for x in ("model", "steps", "windows")}
        options["precision"] = f"mixed_{half}" if half else "float32"
        command = module("workers.train", data=self.bench.work / "data", **options)
        return command, {"KERAS_BACKEND": backend}, last_object

    def _peer(self, name):
        work, window = self.bench.work, self.args.steps

        def read(log):
            return {"windows": peers.rates(log)[1:], "versions": peers.versions(work)}

        steps = (self.args.windows + 1) * window
        return peers.prepare(name, name, work, steps, window), {}, read


def rate_table(rates):
    """A table in Markdown: one row for each system, a column for each ratio.

    Args:
        rates: dict of system -> list of target tokens per second.
    """
    others = {x: statistics.median(rates[x]) for x in peers.PEERS if rates.get(x)}
    heads = ["system", "target tokens/s", "spread", *(f"/ {name}" for name in others)]
    rows = []
    for name, found in rates.items():
        if not found:
            rows.append([name, "failed"] + [""] * (len(heads) - 2))
            continue
        median = statistics.median(found)
        spread = f"{min(found):,.0f} – {max(found):,.0f}"
        ratios = [f"{median / other:.2f}" for other in others.values()]
        rows.append([name, f"{median:,.0f}", spread, *ratios])
    return table(heads, rows)


def report(measured):
    """Prints versions and the table."""
    for name, more in measured.details.items():
        versions = ", ".join(f"{k} {v}" for k, v in more["versions"].items())
        padding = f", {more['padding']:.1%} padding" if "padding" in more else ""
        print(f"{name}: {versions}{padding}")
    print(rate_table(measured.rates))


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = "folder for environments, data and logs"
    parser.add_argument("--work", type=Path, required=True, help=text)
    add_names(parser, "--backends", SYSTEMS, "of zoo; or none")
    add_names(parser, "--peers", peers.PEERS, "or none")
    parser.add_argument("--model", choices=MODELS, default="luong", help="zoo's")
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
    facts = write_data(bench.work / "data")
    bench.print_machine(
        f"{facts['pairs']:,} pairs, {facts['source']:.2f} source words and "
        f"{facts['target']:.2f} target tokens each (end token counted), "
        f"{64 * facts['target']:.0f} target tokens a batch of 64"
    )
    for name in list(args.peers):
        try:
            peers.install(bench.work)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} cannot be installed: {error}", file=sys.stderr, flush=True)
            args.peers.remove(name)
    measured = Measurements(bench, args)
    for _ in range(args.rounds):
        for name in measured.rates:
            measured.train(name)
    bench.print_load("after")
    report(measured)
    if args.json:
        found = {"processor": processor(), "cores": bench.cores, "data": facts}
        found |= {"arguments": {k: str(v) for k, v in vars(args).items()}}
        found |= {k: getattr(measured, k) for k in "rates details runs".split()}
        args.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if all(measured.rates.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
