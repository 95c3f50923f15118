"""Measures everything on one GPU, in one command of a few minutes that fetches nothing.

    python -m tools.bench.gpu --out FOLDER [--minutes 9]

It needs Keras, KerasHub, SentencePiece, and JAX or torch, or both, and transformers for
one of the peers; TensorFlow is not needed. At first all at once, which keeps a dozen
cores busy:

- every layer's values and gradients on the GPU, in float32 and in bfloat16, against the
  CPU's in float32;
- the first call, which compiles, of everything timed below.

Then one after the other:

- training of Luong's model and the Transformer, small and of the papers' sizes: target
  tokens a second, and the share of the peak (`--peak` TFLOP/s: an H100's or H200's
  989 for dense bfloat16, by NVIDIA's data sheets); beside the papers' sizes plain
  PyTorch and Hugging Face's Marian (`tools.bench.workers.gpu_peer`);
- decoding of 1,000 sentences, greedy and with a beam of five; peak memory of each;
- under torch, losses of training by traced steps beside those of Keras's own.

FOLDER/gpu.json is written after each part. Parts that fail, or for which no time is
left, say so there. With --dry everything runs on the CPU at tiny sizes.
"""

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np

from tools import ROOT
from tools.bench.core import last_object, module, processor, versions
from tools.markdown import table

READY = "waits for its turn"  # what a part prints when it has warmed up
PEERS = ("plain", "marian")


class Parts:
    """Runs parts in processes of their own, and keeps what they return.

    Args:
        out: path of the folder.
        seconds: float, for all of them.
        dry: bool, whether all sizes are tiny.
    """

    def __init__(self, out, seconds, dry):
        self.out, self.dry = out, dry
        self.end = time.monotonic() + seconds
        self.found = {}
        (out / "logs").mkdir(parents=True, exist_ok=True)

    def left(self):
        return self.end - time.monotonic()

    def start(self, name, command, **environment):
        """Starts a command. Returns its process, which writes a log of its own."""
        environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environment}
        with open(self.log(name), "w", encoding="utf-8") as log:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self, name):
        return self.out / "logs" / f"{name.replace('/', '.')}.txt"

    def finish(self, name, process, limit=120.0):
        """Waits for a part, and keeps its result or why there is none. (A dry run may
        take as long as it takes, on however few cores.)"""
        limit = self.left() if self.dry else min(limit, self.left())
        try:
            code = process.wait(max(0.0, limit))
            text = self.log(name).read_text("utf-8", errors="replace")
            self.keep(name, last_object(text) if code == 0 else {"error": text[-600:]})
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.keep(name, {"error": "out of time"})
        except ValueError as error:
            self.keep(name, {"error": str(error)})

    def wait_until_ready(self, name, process):
        """Waits until a part has warmed up and waits for its turn, or has ended."""
        end = time.monotonic() + self.left() / (1 if self.dry else 2)
        while process.poll() is None and time.monotonic() < end:
            if READY in self.log(name).read_text("utf-8", errors="replace"):
                return
            time.sleep(0.1)

    def keep(self, name, result):
        self.found[name] = result
        path = self.out / "gpu.json"
        path.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
        said = result.get("error") or {
            k: v for k, v in result.items() if isinstance(v, (int, float, str))
        }
        print(f"[{self.left():5.0f} s left] {name}: {said}", flush=True)

    def worker(self, name, backend, *arguments, environment=None, **options):
        """Starts a part of `tools.bench.workers.gpu`."""
        options = {key.replace("_", "-"): value for key, value in options.items()}
        command = module("workers.gpu", *arguments, **options)
        return self.start(name, command, KERAS_BACKEND=backend, **(environment or {}))


# === Layers ===

# JAX's and cuDNN's own choice in float32 is TF32, with 10 bits after the point.
KINDS = {
    "cpu": ("float32", {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}),
    "exact": (
        "float32",
        {"JAX_DEFAULT_MATMUL_PRECISION": "highest", "NVIDIA_TF32_OVERRIDE": "0"},
    ),
    "float32": ("float32", {}),
    "bfloat16": ("mixed_bfloat16", {}),
}


def start_layers(parts, backends):
    """Starts the layers on both devices. Returns {(backend, kind): (name, file,
    process)}."""
    started = {}
    for backend in backends:
        for kind, (precision, environment) in KINDS.items():
            name = f"{backend}/layers/{kind}"
            file = parts.out / f"layers.{backend}.{kind}.npz"
            options = {"precision": precision, "environment": environment}
            process = parts.worker(name, backend, "layers", file=file, **options)
            started[backend, kind] = name, file, process
    return started


def compare_layers(parts, started):
    """Compares what layers give on the GPU with what they give on the CPU."""
    for name, _, process in started.values():
        parts.finish(name, process, parts.left())
    for (backend, kind), (name, file, _) in started.items():
        with contextlib.suppress(OSError):
            if kind != "cpu":
                wanted = np.load(started[backend, "cpu"][1])
                parts.keep(f"{name} against cpu", worst(np.load(file), wanted))
    for _, file, _ in started.values():
        file.unlink(missing_ok=True)


def worst(found, wanted):
    """Returns each layer's largest differences, as shares of the largest value.

    The outputs' 99th percentile, too: rounding can move local-p's window by a word.
    """
    layers = {}
    for name in wanted.files:
        layer, kind = name.split("/", 1)
        shares = np.abs(found[name] - wanted[name])
        shares = shares / max(float(np.abs(wanted[name]).max()), 1e-6)
        row = layers.setdefault(layer, {"outputs": 0.0, "gradients": 0.0})
        if kind == "outputs":
            row["outputs, 99 %"] = float(np.percentile(shares, 99))
        kind = "outputs" if kind == "outputs" else "gradients"
        row[kind] = max(row[kind], float(shares.max()))
    most = max(layers, key=lambda name: max(layers[name].values()))
    return {"worst": f"{most}: {layers[most]}", "layers": layers}


# === Timings ===


def start_timings(parts, backends):
    """Starts all that is timed. Returns {name: process}; each warms up and waits."""
    small, paper = ("dry", "dry") if parts.dry else ("small", "paper")
    batch = {"batch_size": 4, "steps": 2} if parts.dry else {"batch_size": 128}
    planned = {}  # name: backend, part, options
    for model, size, precision in [
        ("luong", small, "mixed_bfloat16"),
        ("transformer", small, "mixed_bfloat16"),
        ("luong", paper, "mixed_bfloat16"),
        ("transformer", paper, "mixed_bfloat16"),
        ("luong", small, "float32"),
    ]:
        options = {"model": model, "size": size, **batch}
        if (model, size) == ("transformer", "paper"):
            options["batch_size"] = 833  # of 30 tokens: 25,000, as in section 5.1
        name = f"train/{model}/{size}/{precision}"
        if (size, precision) == (paper, "mixed_bfloat16") and "torch" in backends:
            for peer in PEERS[:1] if model == "luong" else PEERS:
                planned[f"{peer}/{name}"] = "torch", peer, options
        for backend in backends:
            own = options | {"precision": precision}
            planned[f"{backend}/{name}"] = backend, "train", own
    for model, backend in itertools.product(("luong", "transformer"), backends):
        options = {"model": model, "size": small}
        planned[f"{backend}/decode/{model}/{small}"] = backend, "decode", options
        if backend == "torch":
            options = options | {"batch_size": batch["batch_size"]}
            planned[f"torch/tracing/{model}"] = "torch", "tracing", options
    return {
        name: parts.worker(name, backend, part, "--turn", **options)
        for name, (backend, part, options) in planned.items()
    }


def take_turns(parts, started, peak):
    """Lets the parts that wait go on, one after the other."""
    for name, process in started.items():
        with contextlib.suppress(OSError):  # it may have failed
            process.stdin.write(b"\n")
            process.stdin.flush()
        parts.finish(name, process, 60)
        found = parts.found[name]
        if "teraflops" in found:
            found["share_of_peak"] = found["teraflops"] / peak
            parts.keep(name, found)


# === The report ===

TRAINING = (
    *("training", "target tokens/s", "/ best peer", "TFLOP/s", "of the peak"),
    *("ms plain", "MB"),
)
DECODING = ("decoding", "seconds", "first call")
LAYERS = ("layers", "the one that differs most, as shares of its largest value")


def report(found):
    """Returns the parts as Markdown tables."""
    rows = {TRAINING: [], DECODING: [], LAYERS: []}
    for name, result in found.items():
        if "tokens_per_second" in result:
            plain, memory = result.get("plain_step_seconds", 0), result["peak_memory"]
            rate, (own, _, same) = result["tokens_per_second"], name.partition("/")
            peers = [found.get(f"{x}/{same}", {}) for x in PEERS]
            best = max(x.get("tokens_per_second", 0) for x in peers)
            cells = [
                f"{rate:,.0f}",
                f"{rate / best:.2f}" if best and own not in PEERS else "",
                f"{result['teraflops']:.1f}" if "teraflops" in result else "",
                f"{result['share_of_peak']:.1%}" if "teraflops" in result else "",
                f"{1e3 * plain:.0f}" if plain > 1e-4 else "",
                "" if memory is None else f"{memory:,.0f}",
            ]
            rows[TRAINING].append([name, *cells])
        elif "seconds" in result and "device" in result and "layers" not in name:
            first = result.get("first", {})
            rows[DECODING] += [
                [f"{name}, {kind}", f"{seconds:.4f}", f"{first.get(kind, 0):.0f}"]
                for kind, seconds in result["seconds"].items()
            ]
        elif "worst" in result:
            rows[LAYERS].append([name, result["worst"]])
    return "\n\n".join(table(heads, cells) for heads, cells in rows.items() if cells)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    text = "only print OUT/gpu.json as tables"
    parser.add_argument("--report", action="store_true", help=text)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--backends", nargs="+", default=["jax", "torch"])
    parser.add_argument("--peak", type=float, default=989.0, help="TFLOP/s")
    parser.add_argument("--dry", action="store_true", help="on the CPU, tiny")
    args = parser.parse_args(argv)
    if args.report:
        print(report(json.loads((args.out / "gpu.json").read_text("utf-8"))))
        return 0
    parts = Parts(args.out.resolve(), 60 * args.minutes, args.dry)
    parts.keep("machine", {"processor": processor(), **versions("keras", "keras-hub")})
    layers = start_layers(parts, args.backends)
    timings = start_timings(parts, args.backends)
    compare_layers(parts, layers)
    for name, process in timings.items():
        parts.wait_until_ready(name, process)
    take_turns(parts, timings, args.peak)
    print(report(parts.found))
    return int(any("error" in result for result in parts.found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
