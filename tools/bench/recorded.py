"""Losses of recorded steps of training beside those of plain ones, under torch.

    KERAS_BACKEND=torch python -m tools.bench.recorded [--models transformer]

Small models are trained for six epochs in batches of four shapes, on a GPU if there is
one: twice by Keras's own steps, which shows how far those differ from each other, and
once by steps that are traced at once (`zoo.training.fast.traced_steps`). After each
epoch free memory is filled with NaN, which a CUDA graph that reads it takes for its
constants. Printed is a line of JSON. It ends with an error if steps were not recorded,
if a loss is not finite, or if losses differ by more than 0.001 and by more than ten
times what plain steps do.
"""

import argparse
import gc
import json
import math
import warnings

import keras
import numpy as np
from keras import ops

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

WORDS, ROWS, UNITS = 2000, 64, 128
SHAPES = (6, 12, 18, 24)  # words of a sentence, at most
EPOCHS, STEPS = 6, 12


def luong():
    sizes = {"num_layers": 2, "hidden_dim": UNITS, "embedding_dim": UNITS}
    return LuongTranslator(
        Luong(WORDS, **sizes, dropout=0.2, attention="local_p", window=4)
    )


def transformer():
    sizes = {"num_layers": 2, "hidden_dim": UNITS, "num_heads": 4}
    return TransformerTranslator(
        Transformer(WORDS, **sizes, ff_dim=2 * UNITS, dropout=0.1)
    )


def bahdanau():
    sizes = {"embedding_dim": UNITS, "hidden_dim": UNITS, "attention_dim": UNITS}
    return BahdanauTranslator(Bahdanau(WORDS, **sizes, maxout_dim=UNITS))


MODELS = {"transformer": transformer, "luong": luong, "bahdanau": bahdanau}


def train(make, after):
    """Trains a model. Returns its losses and the number of shapes recorded."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, SHAPES[-1], ROWS * STEPS)
    rows = [rng.integers(4, WORDS, length).tolist() for length in lengths]
    targets = [row[::-1] for row in rows]
    buckets = [(words, words + 1) for words in SHAPES]
    batches = PairBatches(rows, targets, batch_size=ROWS, seed=1, buckets=buckets)
    keras.utils.set_random_seed(1)
    model = compile_for_training(make(), keras.optimizers.Adam(1e-3))
    trace_steps(model, after)
    overwrite = keras.callbacks.LambdaCallback(on_epoch_end=overwrite_memory)
    options = {"shuffle": False, "verbose": 0, "callbacks": [overwrite]}
    found = model.fit(batches, epochs=EPOCHS, **options)
    return np.array(found.history["loss"]), len(model.train_step.programs)


def overwrite_memory(*_args, **_kwargs):
    """Fills free memory with NaN, in pieces of 4 bytes to 16 MB."""
    gc.collect()
    _ = [ops.full((2**power,), math.nan) for power in range(23) for _ in range(8)]


def compare(make):
    """Returns the losses' relative differences in each epoch."""
    plain, _ = train(make, math.inf)
    again, _ = train(make, math.inf)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The steps of training are not traced")
        recorded, shapes = train(make, 0.0)
    if shapes != len(SHAPES):
        raise SystemExit(f"recorded were {shapes} shapes, not {len(SHAPES)}")
    difference, usual = np.abs(recorded / plain - 1), np.abs(again / plain - 1)
    if not difference.max() <= max(1e-3, 10 * usual.max()):  # NaN is neither
        raise SystemExit(f"recorded: {recorded}, plain: {plain}, and {again}")
    return {
        "recorded": difference.tolist(),
        "plain again": usual.tolist(),
        "losses": plain.tolist(),
    }


def main(argv=None):
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    args = parser.parse_args(argv)
    gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if gpu else "cpu"
    found = {name: compare(MODELS[name]) for name in args.models}
    print(json.dumps({"device": device, "differences": found}))


if __name__ == "__main__":
    main()
