"""Measures translation on CPU cores: zoo on each backend, exports, other libraries.

    python -m tools.bench.decode --work FOLDER --json FILE
    python -m tools.bench.decode luong_local exports/onnx/luong_local --work FOLDER

Reference work: the 1,000 English sentences of Multi30k test_2016_flickr, 64 at a time,
greedy and beam 5, every translation 15 words long, so that all do as many steps (zoo
one more, for the end token). By default it is in float32, and the models have the sizes
of `tools.bench.train` and are not trained; they read words (13a). The recurrent one: a
bidirectional LSTM encoder of 2 x 128, an LSTM decoder of 256, embeddings of 256,
general attention, input feeding, a vocabulary of 6,000 a side; the Transformer, beside
CTranslate2's, 3 layers of 256 with 4 heads and inner layers of 1,024. Presets and
exports read text, and have no other library beside them.

Each peer is installed into an environment of its own in FOLDER, and trains for a few
steps to have a model. Each is timed by its own Python API; loading and a first
translation, with all that it compiles, are told apart. Medians of `--runs` translations
of everything, in one process after another.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
from pathlib import Path

from tools.bench import peers
from tools.bench.core import Bench, add_names, counts, execute, module, note, processor
from tools.bench.data import write_data, write_test
from tools.markdown import table
from zoo.backend import BACKENDS
from zoo.cli.common import count
from zoo.cli.presets import is_export

MODELS = ("luong", "transformer")
PRECISIONS = ("float32", "bfloat16", "int8")
# Decoder -> the peer that has its environment and trains its model, the model of
# `MODELS` beside it, its precisions.
PEERS = {
    "opennmt-py": ("opennmt-py", "luong", ["float32"]),
    "ctranslate2": ("opennmt-transformer", "transformer", ["float32", "int8"]),
}


def systems(args, bench):
    """Yields (model, name, environment, command without beam, length and runs) of all
    that is measured."""
    data = bench.work / "data"
    for model in args.models:
        title = Path(model).name
        if is_export(model):
            command = module("workers.decode", model, data=data, threads=args.threads)
            yield title, "ONNX", {}, command
            continue
        for backend, precision in itertools.product(args.backends, args.precisions):
            command = module("workers.decode", model, data=data, precision=precision)
            name, environment = f"zoo {backend} {precision}", {"KERAS_BACKEND": backend}
            yield title, name, environment, command
    # CTranslate2's converter reads a checkpoint of OpenNMT-py.
    environment = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    for name in args.peers:
        place, model, precisions = PEERS[name]
        if model not in args.models:
            continue
        try:
            folder = train_peer(place, bench)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
            continue
        for precision in precisions:
            command = module(
                *("workers.decode_peer", name),
                model=folder,
                source=data / "test.source",
                precision=precision,
            )
            command[0] = str(peers.program(bench.work, "python"))
            title = name if len(precisions) == 1 else f"{name} {precision}"
            yield model, title, environment, command


def train_peer(name, bench):
    """A model of few steps in a folder, unless it is there."""
    folder = bench.work / "runs" / f"decode-{name}"
    if not (folder / "trained").exists():
        print(f"training {name} for a few steps", file=sys.stderr, flush=True)
        command = peers.prepare(
            name, folder.name, bench.work, steps=4, window=2, save=4
        )
        log = bench.work / "logs" / f"train-{name}.log"
        execute(command, bench.environment, log, bench.cores)
        (folder / "trained").touch()
    return folder


def times_table(found):
    """Markdown: a row for each system, the fastest first, with ratios to the peers'
    medians."""
    median = {name: statistics.median(row["seconds"]) for name, row in found.items()}
    others = [name for name in found if name != "ONNX" and not name.startswith("zoo ")]
    heads = ["", "seconds", "range", "sentences/s", "load", "first", "peak MB"]
    rows = [
        [
            name,
            f"{median[name]:.2f}",
            f"{min(found[name]['seconds']):.2f} – {max(found[name]['seconds']):.2f}",
            f"{found[name]['sentences'] / median[name]:,.0f}",
            *(f"{found[name][key]:.1f}" for key in ("load", "first")),
            f"{found[name]['peak_memory']:,.0f}",
            *(f"{median[other] / median[name]:.2f}" for other in others),
        ]
        for name in sorted(found, key=median.get)
    ]
    return table([*heads, *(f"× {name}" for name in others)], rows)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = f"{', '.join(MODELS)}, presets, folders of exports (default: the first two)"
    parser.add_argument("models", nargs="*", default=MODELS, help=text)
    parser.add_argument("--work", type=Path, required=True, help="folder to work in")
    add_names(parser, "--backends", BACKENDS, "of zoo; or none")
    add_names(parser, "--peers", PEERS, "or none")
    parser.add_argument("--beams", type=counts, default="1,5")
    parser.add_argument("--batch", type=count, default=64, help="sentences at a time")
    parser.add_argument("--length", type=count, default=15, help="words of each")
    parser.add_argument("--runs", type=count, default=5)
    parser.add_argument("--cores", type=count, default=2)
    parser.add_argument("--threads", type=count, default=1, help="of an export")
    add_names(parser, "--precisions", PRECISIONS, "of zoo's models (default float32)")
    parser.set_defaults(precisions="float32")
    parser.add_argument("--json", type=Path, help="file for everything measured")
    args = parser.parse_args(argv)
    # Workers run elsewhere.
    args.models = [str(Path(x).resolve()) if is_export(x) else x for x in args.models]
    return args


def main(argv=None):
    args = parse(argv)
    bench = Bench(args.work, args.cores)
    write_data(bench.work / "data")
    write_test(bench.work / "data")
    bench.print_machine()
    found, failed, versions = {}, False, {}
    options = [
        f"--{name}={getattr(args, name)}" for name in ("length", "runs", "batch")
    ]
    planned = list(systems(args, bench))
    for beam in args.beams:
        for model, name, environment, command in planned:
            title = f"{model} beam {beam}"
            command = [*command, f"--beam={beam}", *options]
            result, load = bench.measure(f"{title}: {name}", command, environment)
            if result is None:
                failed = True
                continue
            versions |= result["versions"]
            found.setdefault(title, {})[name] = {**load, **result}
            times = " ".join(f"{second:.2f}" for second in result["seconds"])
            print(f"{title}: {name:20} {times} s{note(load)}", flush=True)
    bench.print_load("after")
    print("versions:", ", ".join(f"{k} {v}" for k, v in sorted(versions.items())))
    for title, rows in found.items():
        print(f"\n{title}\n\n{times_table(rows)}")
    if args.json:
        facts = {"processor": processor(), "cores": bench.cores, "results": found}
        args.json.write_text(json.dumps(facts, indent=2) + "\n")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
