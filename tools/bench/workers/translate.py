"""zoo's side of `tools.bench.exports`: a preset or an export translates and is timed.

    KERAS_BACKEND=jax python -m tools.bench.workers.translate luong_local --source FILE
    python -m tools.bench.workers.translate exports/onnx/luong_local --source FILE

FILE has lines of pieces of the vocabulary; what is timed begins and ends with such.
Lengths are forced. An export runs without Keras. The last line printed is a JSON
object.
"""

import argparse
import time

from tools.bench.workers.decode_peer import add_arguments, print_report
from zoo.cli.presets import is_export
from zoo.decoding.translate_texts import search_ids
from zoo.ids import END_ID


def load(name, threads):
    """The model, and the packages that compute."""
    if is_export(name):
        from zoo.serving import runtime

        return runtime.load(name, threads), ["onnxruntime"]
    import keras

    import zoo
    from zoo.training import tune_process

    tune_process()  # as every command of zoo does
    return zoo.load(name), ["keras", keras.backend.backend()]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="preset, or folder of an export")
    parser.add_argument("--threads", type=int, default=1, help="of an export")
    add_arguments(parser)
    args = parser.parse_args(argv)
    began = time.perf_counter()
    model, packages = load(args.model, args.threads)
    tokenizer = model.preprocessor.tokenizer
    pieces = list(map(tokenizer.id_to_token, range(tokenizer.vocabulary_size())))
    ids = {piece: place for place, piece in enumerate(pieces)}
    end = [END_ID] if model.preprocessor.source_end else []
    # The end token, which must follow the last piece, is a step of its own.
    search = model.engine.search(args.beam, min_length=args.length + 1)

    def translate():
        lines = args.source.read_text("utf-8").splitlines()
        sources = [[*(ids[x] for x in line.split()), *end] for line in lines]
        # One by one, since an export reads several batches at a time.
        parts = [[x] for x in sources] if args.batch == 1 else [sources]
        found = [
            best[0][0]
            for part in parts
            for best in search_ids(model, part, search, args.length + 1, args.batch)
        ]
        return [[pieces[i] for i in row] for row in found]

    print_report(translate, began, args.runs, packages)


if __name__ == "__main__":
    main()
