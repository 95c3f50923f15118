"""BLEU, speed and size of translators in smaller number formats.

    KERAS_BACKEND=jax python -m tools.presets.formats NAME [NAME ...]
    KERAS_BACKEND=tensorflow python -m tools.presets.formats NAME --served

Each preset translates a test set (beam 5, batches of 64) in float32, in float16 and
quantized to int8: once to compile and then `--rounds` times, of which the median
counts. What is quantized is saved as a preset, loaded, and has to give the same lines;
the size is that of the preset. With `--served` it is exported, the `translate` of the
exported folder is measured, and the size is the folder's. Prints a table in Markdown.
"""

import argparse
import functools
import os
import sys
import tempfile
from pathlib import Path

import keras

import zoo
from tools.markdown import table
from tools.presets.measure import machine, timed
from tools.presets.served import folder_size, load_served
from zoo.analysis.evaluation import corpus_scores
from zoo.presets import find
from zoo.presets.card import read_card

FORMATS = ("float32", "float16", "int8")


def measure(name, sources, references, formats, rounds, served):
    """Rows of the table for a preset."""
    base = None  # seconds in float32
    for number_format in formats:
        options = {"dtype": "float16"} if number_format == "float16" else {}
        model = zoo.load(name, **options)
        if number_format == "int8":
            model.quantize("int8")
        with tempfile.TemporaryDirectory() as folder:
            if served:
                translate = exported(model, Path(folder) / "model")
            else:
                translate = model.translate
                model.save_to_preset(folder)
            texts, seconds = timed(functools.partial(translate, sources), rounds)
            if number_format == "int8" and not served:
                again = zoo.load(folder).translate(sources)
                if again != texts:
                    raise RuntimeError(f"{name}, saved in int8, translates otherwise")
            size = folder_size(folder)
        found = corpus_scores(texts, references)
        base = seconds if number_format == "float32" else base
        yield [
            name,
            number_format,
            *(f"{found[metric]['score']:.2f}" for metric in ("bleu", "chrf")),
            f"{len(texts) / seconds:.0f}",
            f"{base / seconds:.2f}" if base else "",
            f"{size / 1e6:.1f} MB",
        ]


def exported(model, path):
    """A function of texts that calls the signature of an exported folder."""
    ask = load_served(model.export_savedmodel(path, warmup=False))
    return lambda texts: [
        row["translation"].decode() for row in ask("translate", texts)
    ]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", default="multi30k")
    parser.add_argument("--split", default="test_2016_flickr")
    parser.add_argument("--limit", type=int, help="sentences; all by default")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--served", action="store_true", help="of exported folders")
    args = parser.parse_args(argv)
    if args.served and keras.backend.backend() != "tensorflow":
        parser.error(
            "--served needs KERAS_BACKEND=tensorflow. "
            f"Received: {keras.backend.backend()}"
        )
    print(f"{machine()}, load {os.getloadavg()}", file=sys.stderr)
    heads = ["preset", "format", "BLEU", "chrF", "sentences/s", "speed", "size"]
    rows = []
    for name in args.names:
        languages = read_card(find(name)).languages
        data = zoo.data.load(args.data, *languages, split=args.split)
        texts = data.sources[: args.limit], data.references[: args.limit]
        rows += measure(name, *texts, args.formats, args.rounds, args.served)
    print(table(heads, rows, numbers_from=2))


if __name__ == "__main__":
    main()
