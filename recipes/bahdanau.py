"""Bahdanau, Cho & Bengio 2015: RNNsearch, additive attention with a GRU decoder.

    python recipes/bahdanau.py --scale tiny|small|paper

tiny:  generated text (words in reverse order), under two minutes, no download.
small: Multi30k and Tatoeba, English to German.
paper: the paper's layers and schedule (section 4, appendix B). WMT14 is not among the
       zoo's corpora, so it runs on the same text as small, with its 5,000 pieces.

RNNencdec, the paper's other model: `--set model.attention=false`.
"""

import sys

from zoo.training import Optimizer, Recipe, Scale, run


def _translator():
    from zoo.models import BahdanauTranslator

    return BahdanauTranslator


# Appendix B.2: Adadelta, the norm clipped at 1. The rate is the paper's 1, not Keras's
# 0.001.
_ADADELTA = Optimizer("adadelta", 1.0, clip=1.0, options={"rho": 0.95, "epsilon": 1e-6})

_CORPORA = (("multi30k", 2), ("tatoeba", 1))

_CARD = {
    "title": "Bahdanau et al. 2015, RNNsearch, English to German",
    "description": (
        "Bidirectional GRU encoder and a GRU decoder that attends with its previous "
        "state (additive score), reads the context in its gates and candidate, and "
        "writes through a maxout layer, as in the paper, at a small size: 256 units "
        "instead of 1000, one SentencePiece vocabulary of 5,000 pieces for both "
        "languages instead of 30,000 words each, dropout and label smoothing. Trained "
        "with Adam instead of the paper's Adadelta."
    ),
    "intended_use": (
        "Teaching, comparison of architectures, tests of serving. It translates short "
        "everyday sentences and image captions; it is no general translator."
    ),
    "weaknesses": [
        "Long sentences, and anything unlike captions and everyday phrases: news, "
        "law, technical text.",
        "Names and rare words are spelled out in pieces and often come out wrong.",
    ],
    "license": "cc-by-nc-4.0",
    "paper": {
        "title": (
            "Neural Machine Translation by Jointly Learning to Align and Translate"
        ),
        "authors": "Dzmitry Bahdanau, Kyunghyun Cho, Yoshua Bengio",
        "year": 2015,
        "url": "https://arxiv.org/abs/1409.0473",
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
    name="bahdanau",
    file=__file__,
    translator=_translator,
    card=_CARD,
    scales={
        "tiny": Scale(
            model={
                "hidden_dim": 48,
                "embedding_dim": 32,
                "attention_dim": 48,
                "maxout_dim": 48,
                # 0.01 is for a thousand units: smaller sums need larger weights.
                "initializer_range": 0.1,
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
                "hidden_dim": 256,
                "embedding_dim": 256,
                "attention_dim": 256,
                "maxout_dim": 256,
                "dropout": 0.2,
                "initializer_range": 0.05,
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
            optimizer=_ADADELTA,
            loss={"normalize": "sentences"},
            epochs=5,
            vocabulary_size=5000,
            batch={"batch_size": 80},
            max_length=50,
        ),
    },
)


def main(argv=None):
    return run(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
