"""Latency and throughput of an exported translator, beside `translate` in-process.

    KERAS_BACKEND=tensorflow python -m tools.bench.serving NAME FOLDER [FILE]

FOLDER is what `zoo export NAME` wrote, such as exports/NAME/1; FILE holds
sentences, one a line (default: a few that repeat). The shapes are warmed up first, and
both sides get the same requests, alternately. Prints p50, p95 and p99 in
milliseconds, sentences per second, and the time that loading takes. A figure counts on
a quiet machine only: the load is printed too.
"""

import argparse
import functools
import itertools
import os
import sys
from pathlib import Path

import numpy as np

import zoo
from tools.bench.core import take_turns, timed
from zoo.serving import read_metadata

SENTENCES = (
    "A man is riding a bicycle down the street.",
    "Two children are playing with a ball in the park.",
    "A black dog runs through the snow.",
    "Where is the station?",
    "A group of people are standing in front of a large building at night.",
    "A woman in a red dress is singing on stage while the band plays behind her.",
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="preset, as zoo.load takes it")
    parser.add_argument("folder", help="the exported version's folder")
    parser.add_argument("file", nargs="?", help="sentences, one a line")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32, 64])
    text = "of each kind (default 200 of batch 1, and 30 of the others)"
    parser.add_argument("--requests", type=int, help=text)
    arguments = parser.parse_args(argv)
    texts = SENTENCES
    if arguments.file:
        texts = Path(arguments.file).read_text(encoding="utf-8").splitlines()
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations)

    # By TensorFlow's Python: the model server has another loader.
    loaded, seconds = timed(lambda: tf.saved_model.load(arguments.folder))
    print(f"load {os.getloadavg()}, loading {seconds:.2f} s")
    limits = read_metadata(arguments.folder)["limits"]
    model = zoo.load(arguments.name)
    penalties = {name: limits[f"{name}_penalty"] for name in ("length", "coverage")}
    options = {f"{name}_penalty": value for name, value in penalties.items()}
    if isinstance(limits["max_length"], int):  # else it is `translate`'s own rule
        options["max_length"] = limits["max_length"]
    model.preprocessor.source_length = limits["max_source_length"]

    def served(signature):
        function = loaded.signatures[signature]

        def ask(batch):
            found = function(text=tf.constant(batch))["translation"].numpy()
            return [text.decode() for text in found]

        return ask

    def in_process(beam_size):
        def ask(batch):
            return model.translate(
                batch, beam_size=beam_size, batch_size=len(batch), **options
            )

        return ask

    print(f"{'search':<8} {'batch':>5} {'where':<10}  p50 ms  p95 ms  p99 ms  sents/s")
    for signature, beam in (("greedy", 1), ("translate", limits["beam_size"])):
        sides = {"served": served(signature), "in-process": in_process(beam)}
        for size in arguments.batches:
            rows = itertools.cycle(texts)
            # The 99th percentile of 30 would be their slowest.
            count = arguments.requests or (200 if size == 1 else 30)
            batches = [list(itertools.islice(rows, size)) for _ in range(count)]
            for where, seconds in measure(sides, batches).items():
                p50, p95, p99 = 1000 * np.percentile(seconds, [50, 95, 99])
                speed = size * len(seconds) / sum(seconds)
                print(
                    f"{'beam ' + str(beam):<8} {size:>5} {where:<10} "
                    f"{p50:>7.1f} {p95:>7.1f} {p99:>7.1f} {speed:>8.1f}",
                    flush=True,
                )
    return 0


def measure(sides, batches):
    """Seconds of each request, by side, once all shapes are warm.

    Raises:
        ValueError: if the sides answer differently.
    """
    found = {where: [] for where in sides}
    for batch in batches:
        answers = [ask(batch) for ask in sides.values()]
        if any(answer != answers[0] for answer in answers):
            raise ValueError(f"The sides differ. Received: {answers}")
    for batch in batches:
        asking = {where: functools.partial(ask, batch) for where, ask in sides.items()}
        for where, seconds in take_turns(asking, 1).items():
            found[where] += seconds
    return found


if __name__ == "__main__":
    sys.exit(main())
