"""The texts and images that a preset is tested on."""

import zoo
from zoo.analysis.caption_scores import draw_tests
from zoo.data.corpora import load_ud
from zoo.presets import find
from zoo.presets.card import read_card


def inputs_of(name, count):
    """Returns the first inputs of a preset's test set, and their references if its
    first score is BLEU; None otherwise."""
    card = read_card(find(name))
    score = card.scores[0]
    if card.task == "translate":
        data = zoo.data.load(score["data"], *card.languages, split=score["split"])
        references = data.references[:count] if score["metric"] == "BLEU" else None
        return list(data.sources[:count]), references
    return _INPUTS[card.task](card, count), None


_INPUTS = {
    "tag": lambda card, n: [" ".join(x) for x in load_ud("test").sentences[:n]],
    # A language model goes on with the first four words.
    "generate": lambda card, n: [
        " ".join(text.split()[:4]) for text in zoo.data.load_ptb("test")[:n]
    ],
    "classify": lambda card, n: zoo.data.load_sst("test").texts[:n],
    "caption": lambda card, n: draw_tests(card.data[0]["name"], range(n)),
}
