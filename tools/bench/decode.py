"""Measures translation on CPU cores: zoo on each backend, and other libraries.

    python -m tools.bench.decode --work FOLDER --json FILE

Reference work: the 1,000 English sentences of Multi30k test_2016_flickr as words (13a),
64 at a time, greedy and beam 5, every translation 15 words long, so that all do as
many steps (zoo one more, for the end token); float32. The recurrent model is that of
`tools.bench.train`: a bidirectional LSTM encoder of 2 x 128, an LSTM decoder of 256,
embeddings of 256, general attention, input feeding, a vocabulary of 6,000 a side. The
Transformer, beside CTranslate2's, has 3 layers of 256 with 4 heads and inner layers of
1,024.

Each peer is installed into an environment of its own in FOLDER, and trains for a few
steps to have a model. Each is timed by its own Python API, from lines of words to lines
of words; loading and a first translation, with all that it compiles, are told apart.
Medians of `--runs` translations of everything, in one process after another.
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from tools.bench import peers
from tools.bench.core import (
    Bench,
    add_names,
    counts,
    execute,
    module,
    note,
    processor,
)
from tools.bench.data import write_data, write_test
from tools.markdown import table
from zoo.backend import BACKENDS
from zoo.cli.common import count

MODELS = ("luong", "transformer")


def transformer(data, folder, steps, window):
    """OpenNMT-py's configuration of the Transformer that CTranslate2 runs."""
    files = peers.opennmt_py(data, folder, steps, window)
    config = json.loads(files["config.yaml"])
    for name in ("rnn_type", "global_attention", "input_feed"):
        del config[name]
    changes = {
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": 3,
        "heads": 4,
        "transformer_ff": 1024,
        "position_encoding": True,
        "self_attn_type": "scaled-dot",  # what CTranslate2 converts
        "param_init_glorot": True,
        "param_init": 0.0,
    }
    return {**files, "config.yaml": json.dumps({**config, **changes}, indent=2)}


@dataclasses.dataclass(frozen=True)
class Job:
    """One system and precision.

    Attributes:
        name: as it is printed.
        model: "luong" or "transformer": jobs of one model can be compared.
        command: the arguments, without beam, length and runs.
        environment: variables of its own.
    """

    name: str
    model: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)


def zoo_job(backend, model, precision, work):
    data, options = work / "data", {"model": model, "precision": precision}
    command = module(
        "workers.decode", data=data, source=data / "test.source", **options
    )
    variables = {"KERAS_BACKEND": backend}
    return Job(f"zoo {backend} {precision}", model, command, variables)


# name -> the peer that has the environment, the model, configuration, precisions.
PEERS = {
    "opennmt-py": ("opennmt-py", "luong", peers.opennmt_py, ["float32"]),
    "joeynmt": ("joeynmt", "luong", peers.joeynmt("luong"), ["float32"]),
    "opennmt-tf": ("opennmt-tf", "luong", peers.opennmt_tf, ["float32"]),
    "ctranslate2": ("opennmt-py", "transformer", transformer, ["float32", "int8"]),
}


def train_peer(name, bench, data, changes):
    """A model of few steps in a folder, unless it is there."""
    work, run = bench.work, f"{data.name}-{name}"
    place, _, configure, _ = PEERS[name]
    peer = dataclasses.replace(peers.PEERS[place], configure=configure)
    folder = work / "runs" / run
    if (folder / "trained").exists():
        return folder
    print(f"training {name} for a few steps", file=sys.stderr, flush=True)
    steps = 4
    command = peers.prepare(peer, run, work, data, steps, 2)
    config = folder / "config.yaml"
    text = {**json.loads(config.read_text()), **changes}
    if "save_checkpoint_steps" in text:  # OpenNMT-py's
        text["save_checkpoint_steps"] = steps
    elif "train" in text:  # OpenNMT-tf's
        text["train"]["save_checkpoints_steps"] = steps
    else:  # JoeyNMT's saves when it validates
        text["training"] = {**text["training"], "updates": steps, "validation_freq": 2}
    config.write_text(json.dumps(text, indent=2))
    cores = len(os.sched_getaffinity(0))
    execute(command, bench.environment, bench.log(f"train-{name}"), cores)
    (folder / "trained").touch()
    return folder


def peer_jobs(name, bench, data, **changes):
    """The jobs of a peer.

    Args:
        name: key of `PEERS`.
        bench: a `Bench`.
        data: folder of the text.
        **changes: of the configuration, the sizes of its model.
    """
    place, model, _, precisions = PEERS[name]
    work, folder = bench.work, train_peer(name, bench, data, changes)
    python = peers.program(peers.PEERS[place], work, "python")
    for precision in precisions:
        command = module(
            "workers.decode_peer",
            name,
            python=python,
            model=folder,
            source=data / "test.source",
            precision=precision,
        )
        # CTranslate2's converter reads a checkpoint of OpenNMT-py.
        own = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
        title = name if len(precisions) == 1 else f"{name} {precision}"
        yield Job(title, model, command, own)


def times_table(found, beam, model):
    """Markdown: a row for each job of a model, with ratios to the peers' medians."""
    rows = {
        name: result
        for (name, own, width), result in found.items()
        if (own, width) == (model, beam)
    }
    others = [name for name in rows if not name.startswith("zoo")]
    median = {name: statistics.median(row["seconds"]) for name, row in rows.items()}
    heads = ["", "seconds", "least – most", "first", "words", "peak MB"]
    lines = []
    for name in sorted(rows, key=median.get):
        row = rows[name]
        memory = f"{row['peak_memory']:,.0f}" if "peak_memory" in row else ""
        lines.append(
            [
                name,
                f"{median[name]:.2f}",
                f"{min(row['seconds']):.2f} – {max(row['seconds']):.2f}",
                f"{row['first']:.1f}",
                f"{row['tokens']:,}",
                memory,
                *(f"{median[other] / median[name]:.2f}" for other in others),
            ]
        )
    return table([*heads, *(f"× {name}" for name in others)], lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder to work in")
    add_names(parser, "--backends", BACKENDS, "of zoo; or none")
    add_names(parser, "--peers", PEERS, "or none")
    add_names(parser, "--models", MODELS)
    parser.add_argument("--beams", type=counts, default="1,5")
    parser.add_argument("--length", type=count, default=15, help="words of each")
    parser.add_argument("--runs", type=count, default=5)
    parser.add_argument("--cores", type=count, default=2)
    parser.add_argument("--int8", action="store_true", help="zoo in int8 too")
    parser.add_argument("--json", type=Path, help="file for everything measured")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    bench = Bench(args.work, args.cores)
    write_data(bench.work / "data")
    write_test(bench.work / "data")
    bench.print_machine()
    precisions = ["float32", "int8"] if args.int8 else ["float32"]
    jobs = [
        zoo_job(backend, model, precision, bench.work)
        for backend in args.backends
        for model in args.models
        for precision in precisions
    ]
    for name in args.peers:
        if PEERS[name][1] not in args.models:
            continue
        try:
            peers.install(peers.PEERS[PEERS[name][0]], bench.work)
            jobs += peer_jobs(name, bench, bench.work / "data")
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
    found, failed = {}, False
    for beam in args.beams:
        options = [f"--beam={beam}", f"--length={args.length}", f"--runs={args.runs}"]
        for job in jobs:
            result, load = bench.measure(
                job.name,
                lambda job=job, options=options: [*job.command, *options],
                job.environment,
                log=f"{job.name}-{job.model}-{beam}",
            )
            if result is None:
                failed = True
                continue
            found[job.name, job.model, beam] = {**load, **result}
            times = " ".join(f"{second:.2f}" for second in result["seconds"])
            text = f"{job.model} beam {beam}: {job.name:20} {times} s{note(load)}"
            print(text, flush=True)
    bench.print_load("after")
    versions = {}
    for result in found.values():
        versions |= result["versions"]
    print("versions:", ", ".join(f"{k} {v}" for k, v in sorted(versions.items())))
    for model in args.models:
        for beam in args.beams:
            print(f"\n{model}, {'greedy' if beam == 1 else f'beam {beam}'}\n")
            print(times_table(found, beam, model))
    if args.json:
        report = [
            {"system": name, "model": model, "beam": beam, **result}
            for (name, model, beam), result in found.items()
        ]
        facts = {"processor": processor(), "cores": bench.cores, "results": report}
        args.json.write_text(json.dumps(facts, indent=2) + "\n")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
