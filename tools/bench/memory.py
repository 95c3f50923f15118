"""Peak memory of a training step with a large vocabulary, with logits and without.

    python -m tools.bench.memory [--backends jax,torch,tensorflow]

The reference model of `tools.bench.train` with 50,000 words a side takes two steps
on 128 sentences of 50 words, in a process of its own for each figure: once as Keras
trains it, with the logits whole, and `--runs` times as zoo's `fit` does, in slices of
time. Printed is the rise of the process's resident memory from before `fit` (the model,
its optimizer's variables and the libraries are there) to its peak, beside the model's
own size (weights and Adam's two moments) and the size of the logits.
"""

import argparse
import contextlib
import ctypes
import json
import statistics
from unittest import mock

from tools.bench.core import add_names, peak_memory, run_under
from zoo.backend import BACKENDS
from zoo.cli.common import count
from zoo.run.config import cpu

VOCABULARY, BATCH, LENGTH = 50_000, 128, 50


def step(whole, cells):
    """Trains two steps in this process and returns the figures, in MB."""
    from zoo.training import (
        PairBatches,
        WithoutLogits,
        compile_for_training,
        tune_process,
    )

    tune_process()
    import keras
    import numpy as np

    from tools.bench.workers.train import make_model

    model = make_model("luong", VOCABULARY, VOCABULARY, cells)
    if whole:
        mock.patch.object(WithoutLogits, "serves", lambda *args: False).start()
    model = compile_for_training(model, keras.optimizers.Adam())
    rows = np.random.default_rng(0).integers(4, VOCABULARY, (2 * BATCH, LENGTH))
    sources = rows.tolist()
    targets = rows[:, 1:].tolist()  # and the end token
    batches = PairBatches(sources, targets, batch_size=BATCH)
    before = _forget_peak()
    model.fit(batches, verbose=0)
    return {
        "model": 3 * 4 * model.count_params() / 2**20,
        "before": before,
        "peak": peak_memory(),
    }


def _forget_peak():
    """Memory now, from where the peak is then measured; on Linux alone."""
    with contextlib.suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)  # what making the model left behind
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass  # the rise is then that over an earlier peak
    return peak_memory()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_names(parser, "--backends", BACKENDS)
    parser.add_argument("--runs", type=count, default=3)
    parser.add_argument("--cells", type=count, default=256)
    parser.add_argument("--step", choices=("whole", "sliced"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.step:
        print(json.dumps(step(args.step == "whole", args.cells)))
        return
    logits = 4 * BATCH * LENGTH * VOCABULARY / 2**20
    print(
        f"V {VOCABULARY:,}, {args.cells} cells, batch {BATCH} x {LENGTH}: logits "
        f"{logits:,.0f} MB; {cpu()}"
    )
    heads = ("model MB", "whole MB", "sliced MB", "least", "most", "ratio")
    print(f"{'backend':<12}" + "".join(f"{head:>11}" for head in heads))
    for backend in args.backends:
        size, [whole] = rises(backend, "whole", args.cells, 1)
        _, sliced = rises(backend, "sliced", args.cells, args.runs)
        middle = statistics.median(sliced)
        figures = (size, whole, middle, min(sliced), max(sliced))
        row = "".join(f"{figure:>11,.0f}" for figure in figures)
        print(f"{backend:<12}{row}{middle / size:>11.2f}", flush=True)


def rises(backend, kind, cells, runs):
    """The model's size, and the rise of each of the runs, in MB."""
    options = {"step": kind, "cells": cells}
    found = [run_under(backend, "memory", **options) for _ in range(runs)]
    return found[0]["model"], [run["peak"] - run["before"] for run in found]


if __name__ == "__main__":
    main()
