"""How exports of translators differ from their presets in Keras, and their speed.

    zoo export luong_local --format onnx out
    KERAS_BACKEND=jax python -m tools.bench.exports out/luong_local

Each row is one export, or Keras, and one beam: of the first --sentences of the preset's
test set (or --source), how many have the same best translation, the largest difference
of the scores of those, sentences per second in batches, milliseconds of a sentence
alone (the median of 50), and BLEU where the test set is one of translations. What Keras
compiles at its first call is not counted.
"""

import argparse
import functools
import statistics
import sys
from pathlib import Path

from tools.bench import core
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
    parser.add_argument("--beams", type=core.counts, default="1,5")
    parser.add_argument("--threads", type=count, default=1, help="of an export")
    arguments = parser.parse_args(argv)
    tune_process()  # as every command of zoo does
    start_backend()
    import zoo

    rows = []

    def record(row):
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)

    @functools.cache
    def of_keras(name):
        if arguments.source:
            lines = arguments.source.read_text(encoding="utf-8").splitlines()
            inputs, references = lines[: arguments.sentences], None
        else:
            inputs, references = inputs_of(name, arguments.sentences)
        model, found = zoo.load(name), {}
        for beam in arguments.beams:
            timed(model, inputs, beam)  # it compiles
            found[beam], speed = best(model, inputs, beam), timed(model, inputs, beam)
            record(row(name, 0, beam, found[beam], found[beam], references, speed))
        return inputs, references, found

    for folder in arguments.folders:
        manifest = read_manifest(newest(folder))
        exported = runtime.load(folder, arguments.threads)
        inputs, references, wanted = of_keras(manifest["name"])
        form = manifest["format"].removeprefix("zoo-")
        name = f"{manifest['name']}, {form} {manifest['quantize'] or 'float32'}"
        size = sum(file["bytes"] for file in manifest["files"].values())
        for beam in arguments.beams:
            records, speed = best(exported, inputs, beam), timed(exported, inputs, beam)
            record(row(name, size, beam, records, wanted[beam], references, speed))
    heads = ["model", "MB", "beam", "equal", "scores within", "sentences/s", "one, ms"]
    heads += ["BLEU"]
    print(f"Keras on {configured_backend()}\n\n{table(heads, rows)}")


def inputs_of(name, count):
    """The first sentences of a preset's test set, and their references if its first
    score is BLEU; None otherwise."""
    import zoo

    card = read_card(find(name))
    score = card.scores[0]
    data = zoo.data.load(score["data"], *card.languages, split=score["split"])
    references = data.references[:count] if score["metric"] == "BLEU" else None
    return list(data.sources[:count]), references


def row(name, size, beam, records, wanted, references, speed):
    """A row of the table: how records differ from those that Keras gives."""
    equal, difference = compare(records, wanted)
    found = [record.text for record in records]
    bleu = references and corpus_scores(found, references)["bleu"]["score"]
    return [
        name,
        f"{size / 1e6:.1f}" if size else "",
        str(beam),
        f"{equal:,} of {len(records):,}",
        f"{difference:.1e}",
        *(f"{number:.1f}" for number in speed),
        f"{bleu:.2f}" if references else "",
    ]


def timed(model, inputs, beam):
    """Returns sentences a second, and milliseconds of one alone; texts only."""
    task = functools.partial(getattr(model, model.task_name), beam_size=beam)
    _, seconds = core.timed(lambda: task(inputs))
    alone = [core.timed(functools.partial(task, text))[1] for text in inputs[:50]]
    return len(inputs) / seconds, 1000 * statistics.median(alone)


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
    main()
