"""The process that `tools.bench.decode` times: one backend translates.

    KERAS_BACKEND=jax python -m tools.bench.workers.decode luong --data FOLDER
    python -m tools.bench.workers.decode exports/onnx/luong_local --data FOLDER

FOLDER is what `tools/bench/data.py` wrote. The model is one of `tools.bench.train`'s
sizes, not trained, which reads words; or a preset or an export, which reads text.
Lengths are forced, so that what it writes doesn't matter. An export runs without Keras.
The last line printed is a JSON object.
"""

import argparse
import time
from pathlib import Path

from tools.bench.core import add_search, print_report
from tools.bench.decode import MODELS, PRECISIONS
from zoo.cli.presets import is_export


def untrained(args, lines):
    """Returns a function that translates lines of words."""
    import keras

    from tools.bench.workers import train
    from zoo.decoding import BeamSearch, search_ids

    keras.utils.set_random_seed(1)
    known, written = train.read_vocabularies(args.data)
    model = train.make_model(args.model, known, written, args.dtype)
    if args.precision == "int8":
        model.quantize("int8")
    words = dict(zip(written.values(), written, strict=True))
    # The end token, which must follow the last word, is a step of its own.
    search = BeamSearch(args.beam, min_length=args.length + 1)

    def translate():
        sources = train.to_ids(lines, known)
        found = search_ids(model, sources, search, args.length + 1, args.batch)
        return [[words.get(i, "") for i in best[0][0]] for best in found]

    return translate


def trained(args, lines):
    """Returns a function by which a preset or an export translates lines of text."""
    if is_export(args.model):
        from zoo.serving import runtime

        model = runtime.load(args.model, args.threads)
    else:
        import zoo

        model = zoo.load(args.model, dtype=args.dtype)
        if args.precision == "int8":
            model.quantize("int8")
    length = {"min_length": args.length + 1, "max_length": args.length + 1}
    return lambda: model.translate(
        lines, beam_size=args.beam, batch_size=args.batch, **length
    )


def packages(model):
    """Names the packages that compute."""
    if is_export(model):
        return ["onnxruntime"]
    import keras

    return ["keras", keras.backend.backend()]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help=f"{', '.join(MODELS)}, a preset or an export")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--threads", type=int, default=1, help="of an export")
    add_search(parser)
    args = parser.parse_args(argv)
    args.dtype = "bfloat16" if args.precision == "bfloat16" else None
    if not is_export(args.model):
        from zoo.training import tune_process

        tune_process()  # as every command of zoo does
    began = time.perf_counter()
    make, file = (untrained, "source") if args.model in MODELS else (trained, "text")
    lines = (args.data / f"test.{file}").read_text("utf-8").splitlines()
    translate = make(args, lines)
    print_report(translate, began, args.runs, packages(args.model))


if __name__ == "__main__":
    main()
