"""Runs presets on every backend, and as they are served, and compares what comes out.

    python -m tools.presets.backends NAME [NAME ...] [--served]

Translators translate Multi30k's test_2016_flickr (or `--data tatoeba --split test`),
taggers tag the test sentences of UD English EWT, language models go on with the first
four words of those of the Penn Treebank, and score these, classifiers read those of the
Stanford Sentiment Treebank, captioners look at test images: 1,000 each. Prints, for
each pair of backends, the share of equal texts and the largest difference of the scores
of equal ones. `--served` adds what TensorFlow alone gets from the exported folder, and
that folder's size beside the weights in float32. Exits with 1 below 99.5 %, above 1e-3,
or above 1.2 times the weights (of a small model, 5 MB: the graph is larger than those).
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
from tools.bench.core import timed
from tools.presets.served import folder_size, load_served
from zoo.backend import BACKENDS
from zoo.data.word_corpora import load_ud
from zoo.images import encode_images
from zoo.presets import find
from zoo.presets.card import read_card
from zoo.training.recipes.captioner_recipe import draw_tests

LEAST_EQUAL, MOST_APART, LARGEST = 0.995, 1e-3, 1.2
SMALL = 5e6  # bytes


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", default="multi30k", help="what translators translate")
    parser.add_argument("--split", default="test_2016_flickr")
    parser.add_argument("--limit", type=int, default=1000, help="texts; 0: all")
    parser.add_argument("--served", action="store_true", help="as exported, too")
    arguments = parser.parse_args(argv)
    good = [compare(name, arguments) for name in arguments.names]
    return 0 if all(good) else 1


def compare(name, arguments):
    """Prints what the backends differ in; whether it is little enough."""
    card, good = read_card(find(name)), True
    texts = sources(card, arguments.data, arguments.split)[: arguments.limit or None]
    found = {
        backend: elsewhere(in_process, backend, name, card.task, texts)
        for backend in BACKENDS
    }
    if arguments.served:
        with tempfile.TemporaryDirectory() as folder:
            version = elsewhere(export, "tensorflow", name, folder)
            size = folder_size(version)
            ratio = size / (4 * card.sizes["parameters"])
            good = ratio <= LARGEST or size <= SMALL
            print(f"{name}: the exported folder is {ratio:.2f} x its float32 weights")
            found["served"] = elsewhere(served, "tensorflow", version, card.task, texts)
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


def sources(card, data, split):
    """The texts that a preset is asked about."""
    if card.task == "translate":
        return list(zoo.data.load(data, *card.languages, split=split).sources)
    if card.task == "tag":
        return [" ".join(words) for words in load_ud("test").sentences]
    if card.task == "generate":
        return [" ".join(text.split()[:4]) for text in zoo.data.load_ptb("test")]
    if card.task == "classify":
        return zoo.data.load_sst("test").texts
    if card.task == "caption":
        return draw_tests(card.data[0]["name"], range(1000))
    raise SystemExit(f"{card.name}: presets that {card.task} are not compared")


def elsewhere(function, backend, *arguments):
    """Runs a function in a process of its own, under a backend; its result."""
    os.environ["KERAS_BACKEND"] = backend
    print(f"{function.__name__}, {backend}:", file=sys.stderr, flush=True)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        found, seconds = timed(pool.submit(function, *arguments).result)
    print(f"{seconds:.1f} s", file=sys.stderr)
    return found


def in_process(name, task, texts):
    """The output for each text, and a score: the translation's, that of the text
    which a language model goes on with, a class's probability, or 0."""
    model = zoo.load(name)
    if task == "translate":
        found = model.translate(texts, return_details=True)
        return [(record.text, record.score) for record in found]
    if task == "tag":
        return [(row, 0.0) for row in model.tag(texts)]
    if task == "classify":
        found = model.classify(texts, return_details=True)
        return [(record.label, record.probabilities[record.label]) for record in found]
    if task == "caption":
        found = model.caption(texts, return_details=True)
        return [(record.text, record.score) for record in found]
    scores = [float(score) for score in model.score(texts)]
    return list(zip(model.generate(texts), scores, strict=True))


def export(name, folder):
    return str(zoo.load(name).export_savedmodel(Path(folder) / name, warmup=False))


def served(version, task, texts):
    """The same of an exported folder, by TensorFlow alone."""
    ask = load_served(version)
    if task == "caption":
        found = ask(task, encode_images(texts)[0])
        return [(row["caption"].decode(), row["score"]) for row in found]
    found = ask(task, texts)
    if task == "translate":
        return [(row["translation"].decode(), row["score"]) for row in found]
    if task == "tag":
        pairs = [zip(row["words"], row["tags"], strict=True) for row in found]
        return [([(w.decode(), t.decode()) for w, t in row if w], 0.0) for row in pairs]
    if task == "classify":
        return [(row["class"].decode(), max(row["probabilities"])) for row in found]
    scores = [row["log_probability"] for row in ask("score", texts)]
    texts = [row["text"].decode() for row in found]
    return list(zip(texts, scores, strict=True))


if __name__ == "__main__":
    sys.exit(main())
