"""Whether XLA makes the search of a served translator faster, and what compiling costs.

    KERAS_BACKEND=tensorflow python tools/bench_serving_xla.py NAME

The search that `zoo export` writes is run as it is, and compiled by XLA, on the same
sources of one batch and one length, turn and turn about. Prints the seconds of the
first call, which XLA needs again for each batch and length, and the median of the
others in milliseconds. A figure counts on a quiet machine only: the load is printed.
"""

import argparse
import os
import statistics
import sys
import time

import numpy as np

import zoo
from zoo.decoding.beam import longest_translation
from zoo.text.tokenizer import END_ID


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="preset, as zoo.load takes it")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--length", type=int, default=16, help="pieces of the sources")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--requests", type=int, default=30)
    arguments = parser.parse_args(argv)
    model = zoo.load(arguments.name)
    rng = np.random.default_rng(1)
    print(f"load {os.getloadavg()}")
    print(f"{'search':<8} {'batch':>5} {'by':<6} first s  then ms")
    for beam in arguments.beams:
        for batch in arguments.batches:
            shape = (arguments.requests, batch, arguments.length)
            size = model.preprocessor.tokenizer.vocabulary_size()
            sources = rng.integers(END_ID + 1, size, shape).astype("int32")
            for way, first, median in compare(model, beam, sources):
                name = f"beam {beam}"
                print(f"{name:<8} {batch:>5} {way:<6} {first:>7.2f} {median:>8.1f}")
    return 0


def compare(model, beam, sources):
    """(name, seconds of the first call, median of the others in milliseconds) of the
    graph and of XLA.

    Raises:
        ValueError: if they find other translations.
    """
    import tensorflow as tf

    search = zoo.decoding.BeamSearch(beam_size=beam)
    limit = longest_translation(np.full(sources.shape[1], sources.shape[2], "int32"))
    steps = int(limit[0])

    def run(source):
        return search(model, source, limit, steps)

    ways = {
        "graph": tf.function(run, autograph=False),
        "XLA": tf.function(run, autograph=False, jit_compile=True),
    }
    found, seconds = {}, {way: [] for way in ways}
    for source in sources:
        for way, function in ways.items():
            began = time.perf_counter()
            found[way] = [x.numpy() for x in function(tf.constant(source))]
            seconds[way].append(time.perf_counter() - began)
        if not np.array_equal(found["graph"][0], found["XLA"][0]):
            raise ValueError("XLA finds other translations than the graph")
    return [
        (way, first, 1000 * statistics.median(others))
        for way, (first, *others) in seconds.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
