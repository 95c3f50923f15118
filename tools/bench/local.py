"""Milliseconds per target word of global and local attention as the source grows.

    KERAS_BACKEND=jax python -m tools.bench.local --plot docs/local_attention.svg

The model is `zoo.models.Luong` of one layer, 256 units, D = 10, a vocabulary of 1,000,
8 sentences at a time, not trained. What is timed is `step`, 32 times in a compiled
loop, with the source encoded before; the median of `--runs`, in which all take turns.
"""

import argparse
import functools
import importlib.metadata
import os
import statistics
from pathlib import Path

import keras
import numpy as np
from keras import ops, tree

from tools.bench.core import counts, take_turns
from tools.markdown import table
from zoo.cli.common import count
from zoo.decoding.compiled import compiled
from zoo.models import Luong

KINDS = {"global": "global", "local_m": "local-m", "local_p": "local-p"}
BATCH, WORDS, VOCABULARY = 8, 32, 1000


def prepared(kind, lengths):
    """For each source length a function that writes `WORDS` words, compiled."""
    keras.utils.set_random_seed(1)
    model = Luong(
        VOCABULARY,
        num_layers=1,
        hidden_dim=256,
        embedding_dim=256,
        attention=kind,
        window=10,
        dropout=0.0,
    )
    encode = compiled(
        model, "encode", lambda ids: tuple(tree.flatten(model.encode(ids)))
    )
    shape = tree.map_structure(lambda x: 0, model.encode(np.ones((1, 4), "int32")))
    found = {}
    for length in lengths:
        ids = np.random.default_rng(1).integers(4, VOCABULARY, (BATCH, length))
        memory = [ops.convert_to_tensor(x) for x in encode(ids.astype("int32"))]

        def words(*flat):
            memory = tree.pack_sequence_as(shape, list(flat))

            def body(tokens, *state):
                state = tree.pack_sequence_as(first, list(state))
                logits, state, _ = model.step(tokens, state, memory)
                tokens = ops.cast(ops.argmax(logits, axis=-1), "int32")
                return (tokens, *tree.flatten(state))

            first = model.start(memory)
            tokens = ops.full((BATCH,), 4, dtype="int32")
            loop = (tokens, *tree.flatten(first))
            found = ops.fori_loop(0, WORDS, lambda _, values: body(*values), loop)
            return (found[0],)

        run = functools.partial(compiled(model, ("words", length), words), *memory)
        run()  # compiles
        found[length] = run
    return found


def draw(rows, path):
    """Both axes logarithmic: flat is flat, and linear growth a slope of one."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (kind, times), style in zip(rows.items(), ("o-", "s--", "^:"), strict=True):
        axes.plot(list(times), list(times.values()), style, label=KINDS[kind])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    lengths = list(next(iter(rows.values())))
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.set_xlabel("source length (words)")
    axes.set_ylabel(f"ms per target word, batch of {BATCH}")
    axes.legend(title="attention")
    axes.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    lengths = "32,64,128,256,512,1024,2048,4096"
    parser.add_argument("--lengths", type=counts, default=lengths)
    parser.add_argument("--runs", type=count, default=21)
    parser.add_argument("--plot", type=Path, help="PNG or SVG to draw")
    args = parser.parse_args(argv)
    backend = keras.backend.backend()
    print(f"{backend} {importlib.metadata.version(backend)}, load {os.getloadavg()}")
    runs = {
        (kind, length): run
        for kind in KINDS
        for length, run in prepared(kind, args.lengths).items()
    }
    times = {
        name: 1000 * statistics.median(seconds) / WORDS
        for name, seconds in take_turns(runs, args.runs).items()
    }
    rows = {kind: {n: times[kind, n] for n in args.lengths} for kind in KINDS}
    cells = [
        [KINDS[kind], *(f"{time:.2f}" for time in row.values())]
        for kind, row in rows.items()
    ]
    print(table(["attention", *(f"{length:,}" for length in args.lengths)], cells))
    if args.plot:
        draw(rows, args.plot)


if __name__ == "__main__":
    main()
