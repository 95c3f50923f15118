"""What int8 costs and brings: BLEU, time and size of translators before and after.

    KERAS_BACKEND=jax python tools/measure_int8.py NAME [NAME ...]

Each preset translates a test set (beam 5, batches of 64), once to compile and then
`--rounds` times, of which the median counts; then `model.quantize("int8")` and the same
again. The quantized model is saved as a preset, loaded, and has to give the same lines.
Prints a table in Markdown.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import keras
from measure_presets import machine, timed

import zoo
from zoo.cards import read_card
from zoo.presets import find
from zoo.training.evaluation import corpus_scores


def measure(name, corpus, split, limit, rounds):
    """Rows (name, precision, BLEU, chrF, sentences/s, bytes) of a preset."""
    model = zoo.load(name)
    languages = read_card(find(name)).languages
    data = zoo.data.load(corpus, *languages, split=split)
    sources, references = data.sources[:limit], data.references[:limit]
    for precision in ("float32", "int8"):
        if precision == "int8":
            model.quantize("int8")
        texts, seconds = timed(lambda: model.translate(sources), rounds)
        found = corpus_scores(texts, references)
        with tempfile.TemporaryDirectory() as folder:
            model.save_to_preset(folder)
            files = [path for path in Path(folder).rglob("*") if path.is_file()]
            size = sum(path.stat().st_size for path in files)
            if precision == "int8" and zoo.load(folder).translate(sources) != texts:
                raise RuntimeError(f"{name}, saved in int8, translates otherwise")
        scores = [f"{found[metric]['score']:.2f}" for metric in ("bleu", "chrf")]
        speed = f"{len(sources) / seconds:.0f}"
        yield [name, precision, *scores, speed, f"{size / 1e6:.1f} MB"]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", default="multi30k")
    parser.add_argument("--split", default="test_2016_flickr")
    parser.add_argument("--limit", type=int, help="sentences; all by default")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(argv)
    print(f"{machine()}, load {os.getloadavg()}", file=sys.stderr)
    rows = [["preset", "precision", "BLEU", "chrF", "sentences/s", "size"]]
    rows.append(["---"] * 2 + ["---:"] * 4)
    for name in args.names:
        rows += measure(name, args.data, args.split, args.limit, args.rounds)
        keras.utils.clear_session()
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))


if __name__ == "__main__":
    main()
