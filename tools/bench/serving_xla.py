"""Whether XLA makes the search of a served translator faster, and what compiling costs.

    KERAS_BACKEND=tensorflow python -m tools.bench.serving_xla NAME

The search of `zoo export`, with its default limits, as a graph of unknown batch and
length as it stands in the export, and compiled by XLA for one batch and one length;
the same sources turn and turn about. Prints the seconds of the first call, which XLA
needs again for each batch and length, the median of the others in milliseconds, and the
share of best translations that are equal (between equal scores rounding decides). A
figure counts on a quiet machine only: the load is printed.
"""

import argparse
import functools
import os
import statistics
import sys

import numpy as np

import zoo
from tools.bench.core import timed
from zoo.decoding.search import longest_translation
from zoo.text.tokenizer import END_ID


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="preset, as zoo.load takes it")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--length", type=int, default=16, help="pieces of the sources")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--requests", type=int, default=30)
    arguments = parser.parse_args(argv)
    if arguments.requests < 2:
        parser.error(f"--requests must be at least 2. Received: {arguments.requests}")
    model = zoo.load(arguments.name)
    rng = np.random.default_rng(1)
    print(f"load {os.getloadavg()}")
    print(f"{'search':<8} {'batch':>5} {'by':<6} first s  then ms  equal")
    for beam in arguments.beams:
        for batch in arguments.batches:
            shape = (arguments.requests, batch, arguments.length)
            size = model.preprocessor.tokenizer.vocabulary_size()
            sources = rng.integers(END_ID + 1, size, shape).astype("int32")
            rows, equal = compare(model, beam, sources)
            for way, first, median in rows:
                print(
                    f"{f'beam {beam}':<8} {batch:>5} {way:<6} {first:>7.2f} "
                    f"{median:>8.1f} {equal:>6.1%}",
                    flush=True,
                )
    return 0


def compare(model, beam, sources):
    """`(rows, equal)`: (name, seconds of the first call, median of the others in
    milliseconds) of the graph and of XLA, and the share of sources of which both find
    the same best translation."""
    import tensorflow as tf

    search = zoo.decoding.BeamSearch(beam_size=beam)
    steps = longest_translation(sources.shape[2])

    def run(source, steps=steps):
        limits = tf.fill(tf.shape(source)[:1], steps)
        return search(model, source, limits, steps)

    unknown = tf.TensorSpec([None, None], "int32"), tf.TensorSpec([], "int32")
    graph = tf.function(run, autograph=False, input_signature=unknown)
    ways = {
        "graph": lambda source: graph(source, tf.constant(steps)),
        "XLA": tf.function(run, autograph=False, jit_compile=True),
    }

    def best_of(function, source):
        return function(tf.constant(source))[0][:, 0].numpy()

    found, seconds, equal = {}, {way: [] for way in ways}, 0
    for source in sources:
        for way, function in ways.items():
            found[way], taken = timed(functools.partial(best_of, function, source))
            seconds[way].append(taken)
        equal += np.all(found["graph"] == found["XLA"], axis=-1).mean() / len(sources)
    rows = [
        (way, first, 1000 * statistics.median(others))
        for way, (first, *others) in seconds.items()
    ]
    return rows, equal


if __name__ == "__main__":
    sys.exit(main())
