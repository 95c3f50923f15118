"""Scores presets anew, measures their speed, and writes both into their cards.

    KERAS_BACKEND=jax python -m tools.presets.measure NAME [NAME ...]
    KERAS_BACKEND=jax python -m tools.presets.measure     # all of savedmodels/

Each works through its first test set (translators: beam 5, batches of 64): once to
compile, then three times, of which the median counts. The scores and the examples of
bad output are those of the same texts; where a score is not the card's, both are
printed. A figure counts on a quiet machine only: the load is printed too.
"""

import argparse
import os
import statistics

import zoo
from tools import ROOT
from tools.bench.core import repeated
from tools.presets.card import cards, write
from zoo.backend import configured_backend
from zoo.presets.card import read_card
from zoo.training import config


def main(argv=None, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="default: all of savedmodels/")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args(argv)
    names = arguments.names or [card.name for card in cards(root)]
    print(f"load {os.getloadavg()}", flush=True)
    command = f"KERAS_BACKEND={configured_backend()} python -m tools.presets.measure"
    for name in names:
        folder = root / "savedmodels" / name
        card = read_card(folder)
        work, unit = WORK[card.task]
        count, seconds, examples, scores = work(
            zoo.load(folder), card, arguments.rounds
        )
        facts = card.to_dict()
        facts["speed"] = {
            "value": round(count / seconds, 1),
            "unit": unit,
            "machine": machine(),
            "command": f"{command} {name}",
        }
        facts["examples"] = examples
        for score, (value, signature) in zip(facts["scores"], scores, strict=True):
            if round(value, 2) != round(score["value"], 2):
                print(f"{name}: {score['metric']} {score['value']}, now {value:.2f}")
            score["value"] = round(value, 4)
            score["signature"] = signature or score["signature"]
        write(folder, facts, root)
        print(f"{name}: {facts['speed']['value']} {unit}", flush=True)


def machine():
    """The GPUs and cores, the backend and its version."""
    backend = configured_backend()
    version = config.versions(backend)[backend]
    return f"{config.machine()}, {backend} {version}"


def timed(work, rounds):
    """The result of `work`, and the median of its seconds after a first call."""
    result, _, seconds = repeated(work, rounds)
    return result, statistics.median(seconds)


# Each returns how many it did, the seconds, the worst outputs, and (value, signature)
# of each score of the card.


def translate(model, card, rounds):
    from zoo.analysis.evaluation import (
        EXACT_SIGNATURE,
        corpus_scores,
        exact_share,
        worst_translations,
    )

    # "exact de" is the score of a part of a corpus in several languages.
    tests = dict.fromkeys(
        (score["data"], score["split"], score["metric"].partition(" ")[2])
        for score in card.scores
    )
    seconds, examples, scores = None, [], {}
    for corpus, split, part in tests:
        source, target = card.languages
        data = zoo.data.load(corpus, part or source, target, split=split)
        sources = list(data.sources)
        if seconds is None:
            texts, seconds = timed(lambda s=sources: model.translate(s), rounds)
            count = len(sources)
        else:
            texts = model.translate(sources)
        found = corpus_scores(texts, data.references)
        for metric, title in (("bleu", "BLEU"), ("chrf", "chrF")):
            told = found[metric]["score"], found[metric]["signature"]
            scores[corpus, split, title] = told
        exact = 100 * exact_share(texts, data.references)
        scores[corpus, split, f"exact {part}".rstrip()] = exact, EXACT_SIGNATURE
        if not part:
            worst = worst_translations(sources, data.references, texts)
            examples += [e for e in worst if e["output"] != e["reference"]]
    wanted = [(s["data"], s["split"], s["metric"]) for s in card.scores]
    return count, seconds, examples, [scores[key] for key in wanted]


def tag(model, card, rounds):
    from zoo.analysis.evaluation import tag_accuracy
    from zoo.data.corpora import load_ud

    (score,) = card.scores
    data = load_ud(score["split"])
    found, seconds = timed(lambda: model.tag(data.sentences), rounds)
    scores = [(100 * tag_accuracy(found, data.tags)[0], None)]
    return len(data.sentences), seconds, card.examples, scores


def generate(model, card, rounds):
    from zoo.data.corpora import load_ptb

    texts = {score["split"]: load_ptb(score["split"]) for score in card.scores}
    written, seconds = timed(lambda: model.generate(PROMPTS, max_length=30), rounds)
    words, given = (
        sum(len(text.split()) for text in several) for several in (written, PROMPTS)
    )
    scores = [
        (model.perplexity(rows, batch_size=1, carry_over=True), None)
        for rows in texts.values()
    ]
    return words - given, seconds, card.examples, scores


def classify(model, card, rounds):
    from zoo.analysis.evaluation import sst_accuracy
    from zoo.data.corpora import load_sst

    texts = load_sst("test", "fine").texts
    _, seconds = timed(lambda: model.classify(texts), rounds)
    found = sst_accuracy(model)
    labels = [score["metric"].partition(" ")[2] for score in card.scores]
    scores = [(100 * found[kind], None) for kind in labels]
    return len(texts), seconds, card.examples, scores


def caption(model, card, rounds):
    from zoo.analysis.caption_scores import draw_tests, outputs, scores, worst

    data = card.data[0]["name"]
    images = draw_tests(data, range(300))
    _, seconds = timed(lambda: model.caption(images), rounds)
    tests, texts, weights = outputs(model, data)
    found = scores(data, tests, texts, weights)
    values = [(found[score["metric"]], None) for score in card.scores]
    return len(images), seconds, worst(data, tests, texts), values


# A language model goes on from these, in one batch.
PROMPTS = ["the company said", "shares of", "in new york", "mr. <unk>"] * 16
WORK = {
    "translate": (translate, "sentences/s"),
    "tag": (tag, "sentences/s"),
    "generate": (generate, "new words/s"),
    "classify": (classify, "sentences/s"),
    "caption": (caption, "images/s"),
}


if __name__ == "__main__":
    main()
