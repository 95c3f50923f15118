"""Exports beside the models in Keras: equal texts, scores, and with --speed time.

    zoo export luong_local --format onnx out
    KERAS_BACKEND=jax python -m tools.bench.exports out/luong_local --source test.en

Exports are of ONNX or LiteRT graphs. Each line is one export and one beam: of the
sentences, how many have equal best translations, and the largest difference of the
scores of equal ones. With --speed, the sentences a second of both at a batch of 64, and
milliseconds a sentence (median) at a batch of 1; what is compiled is compiled before. A
speed counts on a quiet machine only: the load is printed. `sacrebleu` scores the
translations that --out writes, a file for each export and beam.
"""

import argparse
import os
import statistics
from pathlib import Path

import keras

import zoo
from tools.bench.core import repeated, timed
from zoo import runtime
from zoo.checks import positive
from zoo.serving.folder import LABELS
from zoo.serving.manifest import newest, read_manifest


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="models' folders, or versions'")
    parser.add_argument("--source", required=True, help="file of a sentence a line")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--threads", type=int, default=1, help="of an export")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--runs", type=int, default=3, help="of which the median")
    parser.add_argument("--out", help="folder for the translations")
    arguments = parser.parse_args(argv)
    lines = Path(arguments.source).read_text(encoding="utf-8").splitlines()
    texts = lines[: positive("sentences", arguments.sentences)]
    print(f"Keras on {keras.backend.backend()}, load {os.getloadavg()}")
    for folder in arguments.folders:
        form, manifest = read_manifest(newest(folder))
        exported, seconds = timed(lambda: runtime.load(folder, arguments.threads))  # noqa: B023
        name = f"{form} {manifest['name']} {manifest['quantize'] or 'float32'}"
        size = sum(file["bytes"] for file in manifest["files"].values())
        print(f"{name}: {size / 1e6:.1f} MB, loaded in {seconds:.2f} s")
        model = zoo.load(manifest["name"])
        for beam in arguments.beams:
            found, equal, difference = compare(exported, model, texts, beam)
            print(
                f"  beam {beam}: {equal} of {len(texts)} equal, scores within "
                f"{difference:.1e}",
                flush=True,
            )
            if arguments.out:
                path = Path(arguments.out) / f"{name.replace(' ', '.')}.beam{beam}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{text}\n" for text in found), "utf-8")
            if arguments.speed:
                for label, one in ((LABELS[form], exported), ("Keras", model)):
                    many, single = speed(one, texts, beam, arguments.runs)
                    print(
                        f"    {label:<6} {many:8.1f} sentences/s at 64, "
                        f"{single:7.1f} ms at 1",
                        flush=True,
                    )
    return 0


def compare(exported, model, texts, beam):
    """Returns the export's translations, how many of them are the model's, and the
    largest difference between scores of equal ones."""
    records, wanted = (
        one.translate(texts, beam_size=beam, return_details=True)
        for one in (exported, model)
    )
    differences = [
        abs(record.score - other.score)
        for record, other in zip(records, wanted, strict=True)
        if (record.text, record.tokens) == (other.text, other.tokens)
    ]
    found = [record.text for record in records]
    return found, len(differences), max(differences, default=0.0)


def speed(model, texts, beam, runs):
    """Returns sentences a second at a batch of 64, and ms a sentence at 1."""

    def many():
        return model.translate(texts, beam_size=beam, batch_size=64)

    _, _, seconds = repeated(many, runs)
    few = texts[:200]
    for text in few:
        model.translate(text, beam_size=beam, batch_size=1)
    single = [
        timed(lambda: model.translate(text, beam_size=beam, batch_size=1))[1]  # noqa: B023
        for text in few
    ]
    return len(texts) / statistics.median(seconds), 1000 * statistics.median(single)


if __name__ == "__main__":
    raise SystemExit(main())
