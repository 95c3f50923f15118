"""Measures translation on CPU cores: zoo on each backend, and other libraries.

    python tools/bench_decode.py --work FOLDER --json FILE

Reference work: the 1,000 English sentences of Multi30k test_2016_flickr as words (13a),
64 at a time, greedy and beam 5, every translation 15 words long, so that all do as
many steps (zoo one more, for the end token); float32. The recurrent model is that of
`tools/bench_train.py`: a bidirectional LSTM encoder of 2 x 128, an LSTM decoder of 256,
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
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import bench_train_peers as peers_
from bench_train import BACKENDS, BUSY, clean_environment, execute, last_object
from bench_train_data import write_data
from bench_train_report import Meter, processor

ROOT = Path(__file__).resolve().parent.parent
SOURCES = 1000


def transformer(data, folder, steps, window):
    """OpenNMT-py's configuration of the Transformer that CTranslate2 runs."""
    files = peers_.opennmt_py(data, folder, steps, window)
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
    command = [sys.executable, ROOT / "tools" / "bench_decode_zoo.py"]
    command += ["--data", work / "data", "--source", work / "data" / "test.source"]
    command += ["--model", model, "--precision", precision]
    environment = {"KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)}
    return Job(f"zoo {backend} {precision}", model, command, environment)


# name -> the peer that has the environment, the model, configuration, precisions.
PEERS = {
    "opennmt-py": ("opennmt-py", "luong", peers_.opennmt_py, ["float32"]),
    "joeynmt": ("joeynmt", "luong", peers_.joeynmt("luong"), ["float32"]),
    "opennmt-tf": ("opennmt-tf", "luong", peers_.opennmt_tf, ["float32"]),
    "ctranslate2": ("opennmt-py", "transformer", transformer, ["float32", "int8"]),
}


def train_peer(name, work, environment):
    """A model of few steps in a folder, unless it is there."""
    place, _, configure, _ = PEERS[name]
    peer = dataclasses.replace(peers_.PEERS[place], configure=configure)
    folder = work / "runs" / f"decode-{name}"
    if (folder / "trained").exists():
        return folder
    print(f"training {name} for a few steps", file=sys.stderr, flush=True)
    steps = 4
    command = peers_.prepare(peer, f"decode-{name}", work, work / "data", steps, 2)
    config = folder / "config.yaml"
    text = json.loads(config.read_text())
    if "save_checkpoint_steps" in text:  # OpenNMT-py's
        text["save_checkpoint_steps"] = steps
    elif "train" in text:  # OpenNMT-tf's
        text["train"]["save_checkpoints_steps"] = steps
    else:  # JoeyNMT's saves when it validates
        text["training"] = {**text["training"], "updates": steps, "validation_freq": 2}
    config.write_text(json.dumps(text, indent=2))
    log = work / "logs" / f"train-{name}.log"
    execute(command, environment, log, len(os.sched_getaffinity(0)))
    (folder / "trained").touch()
    return folder


def peer_jobs(name, work, environment):
    place, model, _, precisions = PEERS[name]
    folder = train_peer(name, work, environment)
    python = work / f"venv-{peers_.PEERS[place].name.lower()}" / "bin" / "python"
    for precision in precisions:
        command = [python, ROOT / "tools" / "bench_decode_peers.py", name]
        command += ["--model", folder, "--source", work / "data" / "test.source"]
        # CTranslate2's converter reads a checkpoint of OpenNMT-py.
        own = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
        title = name if len(precisions) == 1 else f"{name} {precision}"
        yield Job(title, model, [*command, "--precision", precision], own)


def write_test(work):
    """The sentences to translate, and as many lines for peers that want a target."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    from zoo import data

    pairs = data.load("multi30k", "en", "de", "test_2016_flickr")
    tokenize = Tokenizer13a()
    for side, lines in (("source", pairs.sources), ("target", pairs.sources)):
        text = "".join(f"{tokenize(line)}\n" for line in lines[:SOURCES])
        (work / "data" / f"test.{side}").write_text(text, encoding="utf-8")


def table(found, beam, model):
    """Markdown: a row for each job of a model, with ratios to the peers' medians."""
    rows = {
        name: result
        for (name, own, width), result in found.items()
        if (own, width) == (model, beam)
    }
    peers = [name for name in rows if not name.startswith("zoo")]
    median = {name: statistics.median(row["seconds"]) for name, row in rows.items()}
    head = ["", "seconds", "least – most", "first", "words", "peak MB"]
    lines = [[*head, *(f"× {name}" for name in peers)]]
    lines.append(["---", *["---:"] * (len(lines[0]) - 1)])
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
                *(f"{median[peer] / median[name]:.2f}" for peer in peers),
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder to work in")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="of zoo")
    parser.add_argument("--peers", default=",".join(PEERS), help="or none")
    parser.add_argument("--models", default="luong,transformer")
    parser.add_argument("--beams", default="1,5")
    parser.add_argument("--length", type=int, default=15, help="words of each")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--int8", action="store_true", help="zoo in int8 too")
    parser.add_argument("--json", type=Path, help="file for everything measured")
    args = parser.parse_args(argv)
    known = {"backends": BACKENDS, "peers": PEERS, "models": ("luong", "transformer")}
    for name, allowed in known.items():
        value = getattr(args, name)
        chosen = [] if value == "none" else value.split(",")
        if not set(chosen) <= set(allowed):
            parser.error(f"--{name} takes {', '.join(allowed)}. Received: {value}")
        setattr(args, name, chosen)
    if not all(beam.isdecimal() and int(beam) for beam in args.beams.split(",")):
        parser.error(f"--beams takes numbers of at least 1. Received: {args.beams}")
    args.beams = [int(beam) for beam in args.beams.split(",")]
    for name in ("length", "runs", "cores"):
        if getattr(args, name) < 1:
            parser.error(
                f"--{name} must be at least 1. Received: {getattr(args, name)}"
            )
    return args


def main(argv=None):
    args = parse(argv)
    work = args.work.resolve()
    (work / "logs").mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT))
    write_data(work / "data")
    write_test(work)
    environment, removed = clean_environment(os.environ)
    cores = min(args.cores, len(os.sched_getaffinity(0)))
    print(f"{processor()}, {cores} cores, Python {platform.python_version()}")
    print("taken out of the environment:", ", ".join(removed) or "nothing")
    print("load average before:", *(f"{x:.2f}" for x in os.getloadavg()))
    precisions = ["float32", "int8"] if args.int8 else ["float32"]
    jobs = [
        zoo_job(backend, model, precision, work)
        for backend in args.backends
        for model in args.models
        for precision in precisions
    ]
    for name in args.peers:
        if PEERS[name][1] not in args.models:
            continue
        try:
            peers_.install(peers_.PEERS[PEERS[name][0]], work)
            jobs += peer_jobs(name, work, environment)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
    found, failed = {}, False
    for beam in args.beams:
        for job in jobs:
            command = [*map(str, job.command), "--beam", str(beam)]
            command += ["--length", str(args.length), "--runs", str(args.runs)]
            log = work / "logs" / f"{job.name}-{job.model}-{beam}.log".replace(" ", "-")
            variables = {**environment, **job.environment}
            try:
                with Meter() as meter:
                    output = execute(command, variables, log, cores)
                result = last_object(output)
            except (RuntimeError, ValueError, OSError) as error:
                print(f"{job.name} failed: {error}", file=sys.stderr, flush=True)
                failed = True
                continue
            found[job.name, job.model, beam] = {**meter.found, **result}
            load = meter.found
            other = load.get("other_cores", 0.0) + load.get("stolen_cores", 0.0)
            note = f"  NOTE: others used {other:.2f} cores" if other > BUSY else ""
            times = " ".join(f"{second:.2f}" for second in result["seconds"])
            print(f"{job.model} beam {beam}: {job.name:20} {times} s{note}", flush=True)
    print("load average after:", *(f"{x:.2f}" for x in os.getloadavg()))
    versions = {}
    for result in found.values():
        versions |= result["versions"]
    print("versions:", ", ".join(f"{k} {v}" for k, v in sorted(versions.items())))
    for model in args.models:
        for beam in args.beams:
            print(f"\n{model}, {'greedy' if beam == 1 else f'beam {beam}'}\n")
            print(table(found, beam, model))
    if args.json:
        report = [
            {"system": name, "model": model, "beam": beam, **result}
            for (name, model, beam), result in found.items()
        ]
        facts = {"processor": processor(), "cores": cores, "results": report}
        args.json.write_text(json.dumps(facts, indent=2) + "\n")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
