"""Luong, Pham & Manning 2015: local-p attention, general score, input feeding.

    python recipes/luong_local.py --scale tiny|small|paper

tiny:  generated text (words in reverse order), under two minutes, no download.
small: Multi30k and Tatoeba, English to German: the bundled preset.
paper: the paper's layers and schedule (section 4.1). WMT14 is not among the zoo's
       corpora, so it runs on the same text as small, with its 5,000 pieces.
"""

import sys

from zoo.training import Optimizer, Recipe, Scale, run


def _translator():
    from zoo.models import LuongTranslator

    return LuongTranslator


# Section 4.1: rate 1, halved every epoch after the 8th; norm clipped at 5 (that of all
# gradients; the authors' code leaves the embeddings' out).
_PAPER_SGD = Optimizer("sgd", 1.0, "halving", constant_epochs=8, clip=5.0)

_CORPORA = (("multi30k", 2), ("tatoeba", 1))

_CARD = {
    "title": "Luong et al. 2015, local-p attention, English to German",
    "description": (
        "Stacked LSTM encoder and decoder with local predictive attention (local-p), "
        "the general score, a window of 10 positions to each side, input feeding and "
        "a reversed source, as in the paper's best single model, at a small size: 2 "
        "layers of 256 cells instead of 4 of 1000, and one SentencePiece vocabulary "
        "of 5,000 pieces for both languages instead of 50,000 words each. Trained "
        "with Adam and label smoothing instead of the paper's SGD."
    ),
    "intended_use": (
        "Teaching, comparison of architectures, tests of serving. It translates short "
        "everyday sentences and image captions; it is no general translator."
    ),
    "weaknesses": [
        "Long sentences, and anything unlike captions and everyday phrases: news, "
        "law, technical text.",
        "Names and rare words are spelled out in pieces and often come out wrong.",
        "It picks the formal or the familiar form of address at random.",
    ],
    "license": "cc-by-nc-4.0",
    "paper": {
        "title": "Effective Approaches to Attention-based Neural Machine Translation",
        "authors": "Minh-Thang Luong, Hieu Pham, Christopher D. Manning",
        "year": 2015,
        "url": "https://arxiv.org/abs/1508.04025",
    },
    "task": "translate",
    "data": [
        {
            "name": "multi30k",
            "terms": "derived from Flickr30k, no licence stated: research use",
        },
        {"name": "tatoeba", "terms": "CC BY 2.0, tatoeba.org via manythings.org/anki"},
    ],
}

RECIPE = Recipe(
    name="luong_local",
    file=__file__,
    translator=_translator,
    card=_CARD,
    scales={
        "tiny": Scale(
            model={
                "num_layers": 1,
                "hidden_dim": 64,
                "embedding_dim": 32,
                "window": 5,
                "dropout": 0.0,
            },
            optimizer=Optimizer("adam", 5e-3, "linear", warmup=100, clip=1.0),
            epochs=12,
            vocabulary_size=34,
            batch={"batch_size": 64},
            pairs=6000,
            max_length=32,
            buckets=2,
        ),
        "small": Scale(
            model={
                "num_layers": 2,
                "hidden_dim": 256,
                "embedding_dim": 256,
                "dropout": 0.1,
                "readout_dropout": 0.1,
            },
            corpora=_CORPORA,
            optimizer=Optimizer("adam", 2e-3, "linear", warmup=400, clip=1.0),
            loss={"smoothing": 0.1},
            epochs=5,
            vocabulary_size=5000,
            batch={"batch_tokens": 1536},
            max_length=64,
        ),
        "paper": Scale(
            model={},
            corpora=_CORPORA,
            optimizer=_PAPER_SGD,
            loss={"normalize": "sentences"},
            epochs=12,
            vocabulary_size=5000,
            batch={"batch_size": 128},
            max_length=50,
        ),
    },
)


def main(argv=None):
    return run(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
