"""One peer of `tools.bench.decode` translates and is timed, by its own Python API.

    PYTHON -m tools.bench.workers.decode_peer NAME --model FOLDER --source FILE \
        --beam 5 --length 15 --runs 5

PYTHON is that of the peer's environment; FOLDER is what its training wrote. The last
line printed is a JSON object. What is timed begins with lines of words and ends with
lines of words; loading the model and one translation before are left out.
"""

import argparse
import inspect
import os
import time
from pathlib import Path

from tools.bench.core import add_search, print_report


def opennmt_py(args):
    from onmt.inference_engine import InferenceEnginePY
    from onmt.opts import translate_opts
    from onmt.utils.parse import ArgumentParser

    parser = ArgumentParser()
    translate_opts(parser)
    model = newest(args.model.glob("model_step_*.pt"))
    options = {
        "model": model,
        "src": args.source,
        "output": os.devnull,
        "batch_size": args.batch,
        "batch_type": "sents",
        "beam_size": args.beam,
        "min_length": args.length,
        "max_length": args.length,
        "gpu": -1,
    }
    flags = [x for name, value in options.items() for x in (f"-{name}", str(value))]
    options = parser.parse_args(flags)
    ArgumentParser.validate_translate_opts(options)
    ArgumentParser._get_all_transform_translate(options)
    ArgumentParser._validate_transforms_opts(options)
    ArgumentParser.validate_translate_opts_dynamic(options)
    engine = InferenceEnginePY(options)

    def translate():
        _, found = engine.infer_file()
        return [best[0].split() for best in found]

    return translate, ("OpenNMT-py", "torch")


def ctranslate2(args):
    import ctranslate2 as ct2

    folder = args.model / f"ctranslate2-{args.precision}"
    if not folder.exists():
        checkpoint = str(newest(args.model.glob("model_step_*.pt")))
        make = ct2.converters.OpenNMTPyConverter
        # The checkpoint is our own; newer versions want to be told so.
        asked = "unsafe_deserialization" in inspect.signature(make).parameters
        options = {"unsafe_deserialization": True} if asked else {}
        make(checkpoint, **options).convert(str(folder), quantization=args.precision)
    # What was fastest on two cores: in int8 threads of one batch wait for each other.
    cores = len(os.sched_getaffinity(0))
    batches, threads = (cores, 1) if args.precision == "int8" else (1, cores)
    translator = ct2.Translator(
        str(folder),
        device="cpu",
        compute_type=args.precision,
        inter_threads=batches,
        intra_threads=threads,
    )

    def translate():
        lines = args.source.read_text("utf-8").splitlines()
        found = translator.translate_batch(
            [line.split() for line in lines],
            beam_size=args.beam,
            max_batch_size=args.batch,
            min_decoding_length=args.length,
            max_decoding_length=args.length,
        )
        return [result.hypotheses[0] for result in found]

    return translate, ("ctranslate2",)


def newest(files):
    """The last of some files that were written one after another."""
    return max(files, key=lambda path: path.stat().st_mtime)


PEERS = {"opennmt-py": opennmt_py, "ctranslate2": ctranslate2}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--precision", default="float32")
    add_search(parser)
    args = parser.parse_args(argv)
    began = time.perf_counter()
    translate, packages = PEERS[args.name](args)
    print_report(translate, began, args.runs, packages)


if __name__ == "__main__":
    main()
