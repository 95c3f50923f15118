"""Measures each change of the training engine: the step with it taken back.

    python -m tools.bench.changes [--backends jax,tensorflow,torch]

The reference model of `tools.bench.train` trains by `fit` on batches of one shape,
64 x 14 x 14, as recipes train; then once more for each change, with that one taken
back, in a process of its own. Printed is the median time of a step and its ratio to
the step with all changes. Run it on a quiet machine; the load is printed.
"""

import argparse
import json
import os
import time
from unittest import mock

from tools.bench.core import add_names, run_under
from zoo.backend import BACKENDS
from zoo.cli.common import count
from zoo.run.config import cpu

BATCH, LENGTH, VOCABULARY = 64, 14, 6000
SETTLING_STEPS = 8  # left out

# What is replaced to take a change back: (name, of what backends, {target: by what}).
CHANGES = (
    ("all changes", "jax tensorflow torch", {}),
    (
        "freed memory kept by the process",
        "jax tensorflow torch",
        {"zoo.training.process._keep_memory": lambda: None},
    ),
    (
        "products not fused with neighbours",
        "jax",
        {"zoo.training.process._set_xla_flags": lambda: None},
    ),
    (
        "each shape compiled by XLA",
        "tensorflow",
        {"zoo.training.compiling._compile_by_shape": lambda model: None},
    ),
    (
        "gradients of loop matrices after the loop",
        "jax tensorflow",
        {
            "zoo.layers.fast_loops.loop.TimeLoop.prepares": property(
                lambda _: False, lambda *_: None
            ),
        },
    ),
    (
        "loss without logits",
        "jax tensorflow torch",
        {"zoo.training.WithoutLogits.serves": lambda *args: False},
    ),
    (
        "gradient of the LSTM's gates written out",
        "jax tensorflow torch",
        {"zoo.layers.fast_loops.cells.is_standard": lambda cell: False},
    ),
    (
        "Adam in one pass",
        "torch",
        {"zoo.training.updates.fuse": lambda optimizer: optimizer},
    ),
    (
        "steps recorded",
        "torch",
        {"zoo.training.recorded._Steps._is_time": lambda *args: False},
    ),
)


def step(name, steps):
    """Median seconds of a step with one change taken back, in this process."""
    [patches] = [patches for other, _, patches in CHANGES if other == name]
    for target, by in patches.items():
        mock.patch(target, by, create=True).start()
    from zoo.training import PairBatches, compile_for_training, tune_process

    tune_process()
    import keras
    import numpy as np

    from tools.bench.workers.train import make_model
    from zoo.training.recorded import record_steps

    keras.utils.set_random_seed(1)
    model = make_model("luong", VOCABULARY, VOCABULARY)
    model = compile_for_training(model, keras.optimizers.Adam())
    if keras.backend.backend() == "torch":
        record_steps(model, after=0.0)
    rng = np.random.default_rng(0)
    rows = rng.integers(4, VOCABULARY, (BATCH * steps, LENGTH)).tolist()
    batches = PairBatches(rows, [row[1:] for row in rows], batch_size=BATCH)
    times = []

    def take(batch, logs):
        float(logs["loss"])  # the step has been computed
        times.append(time.perf_counter())

    clock = keras.callbacks.LambdaCallback(on_train_batch_end=take)
    model.fit(batches, verbose=0, shuffle=False, callbacks=[clock])
    return float(np.median(np.diff(times)[SETTLING_STEPS:]))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_names(parser, "--backends", sorted(BACKENDS))
    parser.add_argument("--steps", type=count, default=60)
    parser.add_argument("--change", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.change:
        print(json.dumps({"seconds": step(args.change, args.steps)}))
        return
    print(f"{cpu()}, load {os.getloadavg()}")
    for backend in args.backends:
        whole = None
        for name, backends, _ in CHANGES:
            if backend not in backends.split():
                continue
            found = run_under(backend, "changes", change=name, steps=args.steps)
            seconds = found["seconds"]
            whole = whole or seconds
            label = name if seconds == whole else f"without: {name}"
            rate = BATCH * LENGTH / seconds
            print(
                f"{backend:<11} {label:<52} {seconds * 1e3:>6.0f} ms "
                f"{rate:>7,.0f} tokens/s  {whole / seconds:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
