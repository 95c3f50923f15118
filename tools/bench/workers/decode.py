"""zoo's side of `tools.bench.decode`: one backend translates and is timed.

    KERAS_BACKEND=jax python -m tools.bench.workers.decode --data FOLDER --source FILE

FOLDER is what `tools/bench/data.py` wrote, FILE lines of words. The model is not
trained: lengths are forced, so that its words don't matter. What is timed begins with
lines of words and ends with lines of words. The last line printed is a JSON object.
"""

import argparse
import time
from pathlib import Path

import keras

from tools.bench.workers.decode_peer import add_arguments, print_report
from tools.bench.workers.train import FIRST_WORD_ID, UNKNOWN_ID, make_model
from zoo.decoding import BeamSearch, search_ids
from zoo.training import tune_process


def read_words(folder, side):
    """Words of a side's vocabulary, by id: the specials have none."""
    text = (folder / f"vocabulary.{side}").read_text("utf-8")
    return [""] * FIRST_WORD_ID + text.split()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", choices=("luong", "transformer"), default="luong")
    parser.add_argument("--precision", choices=("float32", "int8"), default="float32")
    add_arguments(parser)
    args = parser.parse_args(argv)
    tune_process()  # as every command of zoo does
    began = time.perf_counter()
    keras.utils.set_random_seed(1)
    words = [read_words(args.data, side) for side in ("source", "target")]
    sizes = [len(side) for side in words]
    model = make_model(args.model, *sizes)
    if args.precision == "int8":
        model.quantize("int8")
    ids = {word: place for place, word in enumerate(words[0]) if word}
    # The end token, which must follow the last word, is a step of its own.
    search = BeamSearch(args.beam, min_length=args.length + 1)

    def translate():
        lines = args.source.read_text("utf-8").splitlines()
        sources = [[ids.get(w, UNKNOWN_ID) for w in line.split()] for line in lines]
        found = search_ids(model, sources, search, args.length + 1, args.batch)
        return [[words[1][i] for i in best[0][0]] for best in found]

    packages = "keras", keras.backend.backend()
    print_report(translate, began, args.runs, packages)


if __name__ == "__main__":
    main()
