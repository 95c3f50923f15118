"""zoo's side of `tools.bench.train`: one backend trains and is timed.

What is timed is a recipe's own training, `zoo.training.Loop`, with all that it does at
each step.

    KERAS_BACKEND=jax python -m tools.bench.workers.train --data FOLDER

The last line printed is a JSON object; FOLDER is what `tools/bench/data.py` wrote.
"""

import argparse
import contextlib
import json
import tempfile
import time
from pathlib import Path

# ruff: noqa: E402 (the process is tuned before JAX is imported, as by zoo's commands)
from zoo.training import tune_process

tune_process()

import keras
import numpy as np

from tools.bench.core import timed, versions
from zoo.models import (
    Bahdanau,
    BahdanauTranslator,
    Luong,
    LuongTranslator,
    Transformer,
    TransformerTranslator,
)
from zoo.training import PairBatches, compile_for_training
from zoo.training.fast.traced_steps import trace_steps
from zoo.training.fit.checkpoint import Checkpoint
from zoo.training.fit.loop import Loop

UNKNOWN_ID, FIRST_WORD_ID = 1, 4  # pad, unknown, start, end; then the words
SETTLING_STEPS = 20  # of the timed run, left out


class WarmUp(keras.utils.PyDataset):
    """The first batches of each shape, in their order: all that has to be compiled."""

    def __init__(self, batches, each=2):
        super().__init__()
        self.batches, self.chosen, counts = batches, [], {}
        for index in range(len(batches)):
            x, labels, _ = batches[index]
            shape = (x["source_ids"].shape, labels.shape)
            counts[shape] = counts.get(shape, 0) + 1
            if counts[shape] <= each:
                self.chosen.append(index)

    def __len__(self):
        return len(self.chosen)

    def __getitem__(self, index):
        return self.batches[self.chosen[index]]


class Done(Exception):
    """All windows have been timed."""


class Clock(keras.callbacks.Callback):
    """Takes the time at the ends of windows, and ends the training after the last.

    The loss is read there, so that a backend that computes in the background has done
    the window's work.
    """

    def __init__(self, steps_per_epoch, boundaries):
        super().__init__()
        self.steps_per_epoch, self.boundaries = steps_per_epoch, boundaries
        self.times, self.losses = [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.before = epoch * self.steps_per_epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.before + batch + 1 == self.boundaries[len(self.times)]:
            self.losses.append(float(logs["loss"]))
            self.times.append(time.perf_counter())
            if len(self.times) == len(self.boundaries):
                raise Done

    def on_epoch_end(self, epoch, logs=None):
        logs["val_bleu"] = 0.0  # what the checkpoint asks for; nothing is translated


def read_ids(folder, language, words=None):
    """A side of the data as lists of ids."""
    known = {
        word: FIRST_WORD_ID + place
        for place, word in enumerate(
            (folder / f"vocabulary.{language}").read_text("utf-8").split("\n")
        )
        if word
    }
    with open(folder / f"train.{language}", encoding="utf-8") as file:
        ids = [[known.get(w, UNKNOWN_ID) for w in line.split()] for line in file]
    return ids, FIRST_WORD_ID + len(known)


def make_model(name, source_size, target_size, cells=256, dtype=None):
    """A model of the reference's size, with nothing trained.

    Bahdanau's has twice the encoder, 256 units each way; the Transformer has three
    pre-norm layers of four heads, and feed-forward layers four times as wide.
    """
    sizes = {
        "vocabulary_size": source_size,
        "target_vocabulary_size": target_size,
        "hidden_dim": cells,
        "dropout": 0.0,
        "dtype": dtype,
    }
    if name == "transformer":
        layers = {"num_layers": 3, "num_heads": 4, "ff_dim": 4 * cells, "norm": "pre"}
        return TransformerTranslator(
            Transformer(**sizes, **layers, tie_embeddings=None)
        )
    sizes["embedding_dim"] = cells
    if name == "bahdanau":
        return BahdanauTranslator(Bahdanau(**sizes, attention_dim=256, maxout_dim=256))
    return LuongTranslator(
        Luong(
            **sizes,
            num_layers=1,
            attention="global",
            score="general",
            bidirectional=True,
        )
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--model", choices=("luong", "bahdanau", "transformer"), default="luong"
    )
    parser.add_argument("--steps", type=int, default=100, help="of a window")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--precision", default="float32", help="a dtype policy")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    keras.utils.set_random_seed(args.seed)
    sources, source_size = read_ids(args.data, "source")
    targets, target_size = read_ids(args.data, "target")
    batches = PairBatches(sources, targets, batch_size=args.batch_size, seed=args.seed)
    sizes = source_size, target_size
    model = make_model(args.model, *sizes, dtype=args.precision)
    trained = compile_for_training(model, keras.optimizers.Adam())
    if keras.backend.backend() == "torch":
        trace_steps(trained, after=0.0)  # while warming up: a run does so by and by
    _, warmed = timed(lambda: trained.fit(WarmUp(batches), shuffle=False, verbose=0))

    boundaries = [
        SETTLING_STEPS + args.steps * window for window in range(args.windows + 1)
    ]
    epochs = -(-boundaries[-1] // len(batches))
    tokens = []
    for epoch in range(epochs):
        batches.set_epoch(epoch)
        tokens += [int(batches[index][2].sum()) for index in range(len(batches))]
    total = np.concatenate([[0], np.cumsum(tokens)])
    clock = Clock(len(batches), boundaries)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Done):
        files = [f"{folder}/{name}" for name in ("checkpoint.npz", "best.weights.h5")]
        checkpoint = Checkpoint(*files, model.backbone)
        Loop(trained, batches, checkpoint, epochs).run([clock])
    windows = [
        float((total[b] - total[a]) / (after - before))
        for a, b, before, after in zip(
            boundaries, boundaries[1:], clock.times, clock.times[1:], strict=False
        )
    ]
    found = {
        "windows": windows,
        "tokens_per_batch": batches.tokens / len(batches),
        "padding": batches.padding,
        "shapes": batches.buckets,
        "warm_up_seconds": warmed,
        "losses": clock.losses,
        "parameters": model.count_params(),
        "versions": versions("keras", keras.backend.backend()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
