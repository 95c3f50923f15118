"""Measures everything on one GPU, in one command of a few minutes that fetches nothing.

    python -m tools.bench.gpu --out FOLDER [--data FOLDER] [--minutes 9]

It needs Keras, KerasHub, SentencePiece, and JAX or torch, or both; TensorFlow is not
needed. In this order, so that what comes first is there if the time runs out:

- every layer's values and gradients on the GPU, in float32 and in bfloat16, against the
  CPU's in float32; cuDNN's LSTM against the loop;
- training of Luong's model and the Transformer, small and of the papers' sizes: target
  tokens a second, and the share of the peak (`--peak` TFLOP/s: an H100's or H200's
  989 for dense bfloat16, by NVIDIA's data sheets);
- decoding of 1,000 sentences, greedy and with a beam of five; peak memory of each;
- a recipe, killed in the middle and resumed, with the BLEU that it reached (with
  `--data`, a folder that holds multi30k; else its tiny scale).

FOLDER/gpu.json is written after each part. Parts that fail, or for which no time is
left, say so there. With --dry everything runs on the CPU at tiny sizes.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tools import ROOT
from tools.bench.core import last_object, module, processor, versions
from tools.markdown import table

RECIPE = "luong_local"


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

    def keep(self, name, result):
        self.found[name] = result
        path = self.out / "gpu.json"
        path.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
        said = result.get("error") or {
            k: v for k, v in result.items() if isinstance(v, (int, float, str))
        }
        print(f"[{self.left():5.0f} s left] {name}: {said}", flush=True)

    def worker(self, name, backend, part, environment=None, **options):
        """Starts a part of `tools.bench.workers.gpu`."""
        options = {key.replace("_", "-"): value for key, value in options.items()}
        command = module("workers.gpu", part, **options)
        return self.start(name, command, KERAS_BACKEND=backend, **(environment or {}))


# === Layers ===


def compare_layers(parts, backends):
    """Runs the layers on both devices at the same time, and compares them."""
    cpu = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    exact = {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}
    kinds = {
        "cpu": ("float32", cpu),
        "exact": ("float32", exact),
        "float32": ("float32", {}),
        "bfloat16": ("mixed_bfloat16", {}),
    }
    started = {}
    for backend in backends:
        for kind, (precision, environment) in kinds.items():
            name = f"{backend}/layers/{kind}"
            file = parts.out / f"layers.{backend}.{kind}.npz"
            started[backend, kind] = (
                name,
                file,
                parts.worker(
                    name,
                    backend,
                    "layers",
                    environment,
                    precision=precision,
                    file=file,
                ),
            )
    for name, _, process in started.values():
        parts.finish(name, process)
    for backend in backends:
        with contextlib.suppress(OSError):
            wanted = np.load(started[backend, "cpu"][1])
            for kind in list(kinds)[1:]:
                with contextlib.suppress(OSError):
                    found = np.load(started[backend, kind][1])
                    parts.keep(
                        f"{backend}/layers/{kind} against cpu", worst(found, wanted)
                    )
    for _, file, _ in started.values():
        file.unlink(missing_ok=True)


def worst(found, wanted):
    """Returns the largest difference of each layer, as a share of its largest value."""
    layers = {}
    for name in wanted.files:
        layer, kind = name.split("/", 1)
        kind = "outputs" if kind == "outputs" else "gradients"
        largest = max(float(np.abs(wanted[name]).max()), 1e-6)
        share = float(np.abs(found[name] - wanted[name]).max()) / largest
        row = layers.setdefault(layer, {"outputs": 0.0, "gradients": 0.0})
        row[kind] = max(row[kind], share)
    most = max(layers, key=lambda name: max(layers[name].values()))
    return {"worst": f"{most}: {layers[most]}", "layers": layers}


# === Models ===


def measure_models(parts, backends, peak):
    """Training and decoding, one after the other."""
    small, paper = ("dry", "dry") if parts.dry else ("small", "paper")
    batch = {"batch_size": 4, "steps": 2} if parts.dry else {"batch_size": 128}
    trained = [
        ("luong", small, "mixed_bfloat16"),
        ("transformer", small, "mixed_bfloat16"),
        ("luong", paper, "mixed_bfloat16"),
        ("transformer", paper, "mixed_bfloat16"),
        ("luong", small, "float32"),
    ]
    for model, size, precision in trained:
        for backend in backends:
            name = f"{backend}/train/{model}/{size}/{precision}"
            options = {"model": model, "size": size, "precision": precision, **batch}
            parts.finish(name, parts.worker(name, backend, "train", **options), 60)
            if "teraflops" in (found := parts.found[name]):
                found["share_of_peak"] = found["teraflops"] / peak
                parts.keep(name, found)
    for model in ("luong", "transformer"):
        for backend in backends:
            name = f"{backend}/decode/{model}/{small}"
            options = {"model": model, "size": small}
            parts.finish(name, parts.worker(name, backend, "decode", **options), 60)


# === A recipe ===


def train_recipe(parts, backend, data):
    """A recipe that is killed halfway, resumed, ended when there is no more time, and
    finished: its scores are in the result."""
    scale = "small" if data and not parts.dry else "tiny"
    folder = parts.out / "run"
    name = f"{backend}/recipe/{RECIPE}-{scale}"
    environment = {"KERAS_BACKEND": backend}
    if data:
        environment["ZOO_DATA_DIR"] = str(data)
    recipe = [sys.executable, f"recipes/{RECIPE}.py"]
    begin = [*recipe, "--scale", scale, "--output", str(folder), "--restart"]
    resume = [*recipe, "--resume", str(folder)]
    seconds = max(20.0, parts.left() - 75)
    result = {"scale": scale, "seconds": seconds}

    def ended(process, limit, how):
        """Waits; past the limit sends a signal. Returns whether it ended by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(limit) == 0
        process.send_signal(how)
        process.wait()
        return False

    process = parts.start(f"{name}.1", begin, **environment)
    done = ended(process, seconds / 2, signal.SIGKILL)
    result["killed"] = not done
    if not done:
        process = parts.start(f"{name}.2", resume, **environment)
        done = ended(process, seconds / 2, signal.SIGTERM)
    if not done:
        process = parts.start(f"{name}.3", [*resume, "--finish"], **environment)
        done = ended(process, max(5.0, parts.left()), signal.SIGKILL)
    result["finished"] = done
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(ValueError, OSError):
            result[path.stem] = json.loads(path.read_text("utf-8"))
    parts.keep(name, result)


# === The report ===


def report(found):
    """Returns the parts as Markdown tables."""
    rows = [["part", "target tokens/s", "TFLOP/s", "of the peak", "MB"]]
    for name, result in found.items():
        if "tokens_per_second" in result:
            memory = result["peak_memory"]
            rows.append(
                [
                    name,
                    f"{result['tokens_per_second']:,.0f}",
                    f"{result['teraflops']:.1f}",
                    f"{result['share_of_peak']:.1%}",
                    "" if memory is None else f"{memory:,.0f}",
                ]
            )
    return table(rows[0], rows[1:])


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder that holds multi30k")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--backends", nargs="+", default=["jax", "torch"])
    parser.add_argument("--peak", type=float, default=989.0, help="TFLOP/s")
    parser.add_argument("--dry", action="store_true", help="on the CPU, tiny")
    args = parser.parse_args(argv)
    parts = Parts(args.out.resolve(), 60 * args.minutes, args.dry)
    parts.keep("machine", {"processor": processor(), **versions("keras", "keras-hub")})
    compare_layers(parts, args.backends)
    for backend in args.backends:
        name = f"{backend}/cudnn"
        size = "dry" if args.dry else "small"
        parts.finish(name, parts.worker(name, backend, "cudnn", size=size), 60)
    measure_models(parts, args.backends, args.peak)
    train_recipe(parts, args.backends[0], args.data and args.data.resolve())
    print(report(parts.found))
    return int(any("error" in result for result in parts.found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
