"""Runs presets on every backend, and as they are served, and compares what comes out.

    python -m tools.presets.backends NAME [NAME ...] [--served]

Translators, taggers, classifiers and captioners are asked about the first --limit
inputs of their test sets, language models go on with the first four words of those of
the Penn Treebank, and score these. Prints, for each pair of backends, the share of
equal texts and the largest difference of the scores of equal ones. `--served` adds what
TensorFlow alone gets from the exported folder, and that folder's size beside the
weights in float32. Exits with 1 below 99.5 %, above 1e-3, or above 1.2 times the
weights (of a small model, 5 MB: the graph is larger than those).
"""

import argparse
import concurrent.futures
import itertools
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

import zoo
from tools.presets.inputs import inputs_of
from zoo.backend import BACKENDS
from zoo.images import encode_images
from zoo.presets import find
from zoo.presets.card import read_card

LEAST_EQUAL, MOST_APART, LARGEST = 0.995, 1e-3, 1.2
SMALL = 5e6  # bytes
BATCH = 64


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--limit", type=int, default=1000, help="inputs of each")
    parser.add_argument("--served", action="store_true", help="as exported, too")
    arguments = parser.parse_args(argv)
    good = [
        compare(name, arguments.limit, arguments.served) for name in arguments.names
    ]
    return 0 if all(good) else 1


def compare(name, limit, also_served):
    """Prints what the backends differ in; whether it is little enough."""
    card, good = read_card(find(name)), True
    inputs, _ = inputs_of(name, limit)
    found = {
        backend: elsewhere(in_process, backend, name, card.task, inputs)
        for backend in BACKENDS
    }
    if also_served:
        with tempfile.TemporaryDirectory() as folder:
            version = elsewhere(export, "tensorflow", name, folder)
            files = filter(Path.is_file, Path(version).rglob("*"))
            size = sum(file.stat().st_size for file in files)
            ratio = size / (4 * card.sizes["parameters"])
            good = ratio <= LARGEST or size <= SMALL
            print(f"{name}: the exported folder is {ratio:.2f} x its float32 weights")
            arguments = version, card.task, inputs
            found["served"] = elsewhere(served, "tensorflow", *arguments)
    for one, other in itertools.combinations(found, 2):
        pairs = list(zip(found[one], found[other], strict=True))
        same = [(a, b) for a, b in pairs if a[0] == b[0]]
        share = len(same) / len(pairs)
        apart = max((abs(a[1] - b[1]) for a, b in same), default=0.0)
        good = good and share >= LEAST_EQUAL and apart <= MOST_APART
        print(
            f"{name}, {one} and {other}: {share:.1%} of {len(pairs)} texts equal, "
            f"scores of those at most {apart:.1e} apart",
            flush=True,
        )
    return good


def elsewhere(function, backend, *arguments):
    """Runs a function in a process of its own, under a backend; its result."""
    os.environ["KERAS_BACKEND"] = backend
    print(f"{function.__name__}, {backend}", file=sys.stderr, flush=True)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def in_process(name, task, inputs):
    """The output for each input, and a score: the translation's, that of the text
    which a language model goes on with, a class's probability, or 0."""
    model = zoo.load(name)
    if task == "tag":
        return [(row, 0.0) for row in model.tag(inputs)]
    if task == "generate":
        scores = [float(score) for score in model.score(inputs)]
        return list(zip(model.generate(inputs), scores, strict=True))
    found = getattr(model, task)(inputs, return_details=True)
    if task == "classify":
        return [(record.label, record.probabilities[record.label]) for record in found]
    return [(record.text, record.score) for record in found]


def export(name, folder):
    return str(zoo.load(name).export_savedmodel(Path(folder) / name))


def served(version, task, inputs):
    """The same of an exported folder, by TensorFlow alone."""
    ask = load_served(version)
    if task == "caption":
        found = ask(task, encode_images(inputs)[0])
        return [(row["caption"].decode(), row["score"]) for row in found]
    found = ask(task, inputs)
    if task == "translate":
        return [(row["translation"].decode(), row["score"]) for row in found]
    if task == "tag":
        pairs = [zip(row["words"], row["tags"], strict=True) for row in found]
        return [([(w.decode(), t.decode()) for w, t in row if w], 0.0) for row in pairs]
    if task == "classify":
        return [(row["class"].decode(), max(row["probabilities"])) for row in found]
    scores = [row["log_probability"] for row in ask("score", inputs)]
    return [(row["text"].decode(), s) for row, s in zip(found, scores, strict=True)]


def load_served(version):
    """Loads an exported version.

    Returns:
        Function of (name of a signature of one input, texts or bytes) to a dict of
        outputs for each.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations)

    loaded = tf.saved_model.load(str(version))

    def ask(signature, texts):
        function, found = loaded.signatures[signature], [None] * len(texts)
        [name] = function.structured_input_signature[1]
        # Like lengths together, as `Translator.translate` does it.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            rows = tf.constant([texts[place] for place in places])
            outputs = function(**{name: rows})
            columns = [value.numpy().tolist() for value in outputs.values()]
            for place, *row in zip(places, *columns, strict=True):
                found[place] = dict(zip(outputs, row, strict=True))
        return found

    return ask


if __name__ == "__main__":
    sys.exit(main())
