"""zoo's side of `tools.bench.train`: one backend trains and is timed.

What is timed is a recipe's own training, `zoo.training.Loop`, with all that it does at
each step.

    KERAS_BACKEND=jax python -m tools.bench.workers.train --data FOLDER

The last line printed is a JSON object; FOLDER is what `tools/bench/data.py` wrote.
"""

import argparse
import collections
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
    """The first two batches of each shape, in their order: what has to be compiled."""

    def __init__(self, batches):
        super().__init__()
        self.chosen, counts = [], collections.Counter()
        for x, labels, weights in map(batches.__getitem__, range(len(batches))):
            shape = x["source_ids"].shape, labels.shape
            counts[shape] += 1
            if counts[shape] <= 2:
                self.chosen.append((x, labels, weights))

    def __len__(self):
        return len(self.chosen)

    def __getitem__(self, index):
        return self.chosen[index]


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


def read_vocabularies(folder):
    """The ids of the words of each side of the data."""
    for side in ("source", "target"):
        words = (folder / f"vocabulary.{side}").read_text("utf-8").split()
        yield {word: place for place, word in enumerate(words, FIRST_WORD_ID)}


def to_ids(lines, known):
    """Lines of words as lists of ids."""
    return [[known.get(word, UNKNOWN_ID) for word in line.split()] for line in lines]


def make_model(name, sources, targets, dtype):
    """A model of the reference's size for two vocabularies, with nothing trained.

    Bahdanau's has twice the encoder, 256 units each way; the Transformer has three
    pre-norm layers of four heads, and feed-forward layers four times as wide.
    """
    sizes = {
        "vocabulary_size": FIRST_WORD_ID + len(sources),
        "target_vocabulary_size": FIRST_WORD_ID + len(targets),
        "hidden_dim": 256,
        "dropout": 0.0,
        "dtype": dtype,
    }
    if name == "transformer":
        layers = {"num_layers": 3, "num_heads": 4, "ff_dim": 1024, "norm": "pre"}
        backbone = Transformer(**sizes, **layers, tie_embeddings=None)
        return TransformerTranslator(backbone)
    sizes["embedding_dim"] = 256
    if name == "bahdanau":
        return BahdanauTranslator(Bahdanau(**sizes, attention_dim=256, maxout_dim=256))
    kind = {"attention": "global", "score": "general", "bidirectional": True}
    return LuongTranslator(Luong(**sizes, **kind, num_layers=1))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    models = ("luong", "bahdanau", "transformer")
    parser.add_argument("--model", choices=models, default="luong")
    parser.add_argument("--steps", type=int, default=100, help="of a window")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--precision", default="float32", help="a dtype policy")
    args = parser.parse_args(argv)
    keras.utils.set_random_seed(1)
    texts = [args.data / f"train.{side}" for side in ("source", "target")]
    lines = [path.read_text("utf-8").strip("\n").split("\n") for path in texts]
    known = list(read_vocabularies(args.data))
    rows = map(to_ids, lines, known)
    batches = PairBatches(*rows, batch_size=args.batch_size, seed=1)
    model = make_model(args.model, *known, args.precision)
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
    total = np.cumsum([0, *tokens])
    clock = Clock(len(batches), boundaries)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Done):
        files = [f"{folder}/{name}" for name in ("checkpoint.npz", "best.weights.h5")]
        checkpoint = Checkpoint(*files, model.backbone)
        Loop(trained, batches, checkpoint, epochs).run([clock])
    windows = np.diff(total[boundaries]) / np.diff(clock.times)
    found = {
        "windows": windows.tolist(),
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
