"""Keeps what presets give today; tests/test_bundled.py asks each backend again.

    KERAS_BACKEND=jax python -m tools.presets.outputs NAME [NAME ...]

The texts that they are given stand in tests/bundled_outputs.json, which it writes; a
captioner is given the test images of these numbers.
"""

import argparse
import json

import zoo
from tools import ROOT
from zoo.analysis.caption_scores import draw_tests
from zoo.presets.card import format_task, read_card

FILE = ROOT / "tests" / "bundled_outputs.json"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="folders of savedmodels/")
    names = parser.parse_args(argv).names
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    for name in names:
        folder = ROOT / "savedmodels" / name
        card = read_card(folder)
        group = kept[format_task(card)]
        group[name] = outputs(zoo.load(folder), card, group["sources"])
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    FILE.write_text(text, encoding="utf-8")


def outputs(model, card, sources):
    """The outputs of a preset for the sources of its task."""
    task = card.task
    if task == "tag":
        return {"tags": [[tag for _, tag in row] for row in model.tag(sources)]}
    if task == "generate":
        texts = model.generate(sources, max_length=20)
        return {"texts": texts, "log_probs": rounded(model.score(texts))}
    if task == "classify":
        found = model.classify(sources, return_details=True)
        labels = [record.label for record in found]
        shares = [rounded(record.probabilities.values()) for record in found]
        return {"labels": labels, "probabilities": shares}
    if task == "caption":
        images = draw_tests(card.data[0]["name"], sources)
        texts = model.caption(images)
        return {"captions": texts, "log_probs": rounded(model.score(images, texts))}
    found = model.translate(sources, beam_size=5, return_details=True)
    texts = [record.text for record in found]
    return {
        "translations": texts,
        "scores": rounded(record.score for record in found),
        "log_probs": rounded(model.score(sources, texts)),
    }


def rounded(numbers):
    return [round(number, 5) for number in numbers]


if __name__ == "__main__":
    main()
