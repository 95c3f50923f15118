"""How exports of translators to ONNX differ from their presets in Keras.

    zoo export luong_local --format onnx out
    KERAS_BACKEND=jax python -m tools.bench.exports out/luong_local

Each row is one export and one beam: of the first --sentences of the preset's test set
(or --source), how many have the same best translation, the largest difference of the
scores of those, and BLEU and chrF where the test set is one of translations.
`tools.bench.decode` measures their speed.
"""

import argparse
import functools
import sys
from pathlib import Path

from tools.bench.core import counts
from tools.markdown import table
from zoo.analysis.evaluation import corpus_scores
from zoo.backend import configured_backend
from zoo.cli.common import count
from zoo.presets import find
from zoo.presets.card import read_card
from zoo.serving import runtime
from zoo.serving.export.manifest import newest, read_manifest
from zoo.training.fast.process import start_backend, tune_process


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="models' folders, or versions'")
    parser.add_argument("--source", type=Path, help="file of a sentence a line")
    parser.add_argument("--sentences", type=count, default=1000)
    parser.add_argument("--beams", type=counts, default="1,5")
    parser.add_argument("--threads", type=count, default=1, help="of an export")
    arguments = parser.parse_args(argv)
    tune_process()  # as every command of zoo does
    start_backend()
    import zoo

    @functools.cache
    def of_keras(name):
        if arguments.source:
            lines = arguments.source.read_text(encoding="utf-8").splitlines()
            inputs, references = lines[: arguments.sentences], None
        else:
            inputs, references = inputs_of(name, arguments.sentences)
        model = zoo.load(name)
        found = {beam: best(model, inputs, beam) for beam in arguments.beams}
        return inputs, references, found

    rows = []
    for folder in arguments.folders:
        manifest = read_manifest(newest(folder))
        exported = runtime.load(folder, arguments.threads)
        inputs, references, wanted = of_keras(manifest["name"])
        for beam in arguments.beams:
            records = best(exported, inputs, beam)
            rows.append(row(manifest, beam, records, wanted[beam], references))
            print(*rows[-1], file=sys.stderr, flush=True)
    heads = ["export", "MB", "beam", "equal", "scores within", "BLEU", "chrF"]
    print(f"Keras on {configured_backend()}\n\n{table(heads, rows)}")
    return 0


def inputs_of(name, count):
    """The first sentences of a preset's test set, and their references if its first
    score is BLEU; None otherwise."""
    import zoo

    card = read_card(find(name))
    score = card.scores[0]
    data = zoo.data.load(score["data"], *card.languages, split=score["split"])
    references = data.references[:count] if score["metric"] == "BLEU" else None
    return list(data.sources[:count]), references


def row(manifest, beam, records, wanted, references):
    """A row of the table: how an export's records differ from those of its preset."""
    size = sum(file["bytes"] for file in manifest["files"].values())
    equal, difference = compare(records, wanted)
    found = [record.text for record in records]
    scores = corpus_scores(found, references) if references else {}
    return [
        f"{manifest['name']} {manifest['quantize'] or 'float32'}",
        f"{size / 1e6:.1f}",
        str(beam),
        f"{equal:,} of {len(records):,}",
        f"{difference:.1e}",
        *(f"{score['score']:.2f}" for score in scores.values()),
        *[""] * (2 - len(scores)),
    ]


def best(model, inputs, beam):
    """Returns the record of the best text for each input."""
    task = getattr(model, model.task_name)
    return task(inputs, beam_size=beam, return_details=True)


def compare(records, wanted):
    """Returns how many records have the text wanted, and the largest difference
    between the scores of those."""
    differences = [
        abs(record.score - other.score)
        for record, other in zip(records, wanted, strict=True)
        if (record.text, record.tokens) == (other.text, other.tokens)
    ]
    return len(differences), max(differences, default=0.0)


if __name__ == "__main__":
    raise SystemExit(main())
