"""Sutskever, Vinyals & Le 2014: a deep LSTM reads, another one writes.

    python recipes/seq2seq.py --scale tiny|small|paper

tiny:  generated text (words in reverse order), under two minutes, no download.
small: Multi30k and Tatoeba, English to German.
paper: the paper's layers and schedule (section 3.4). WMT14 is not among the zoo's
       corpora, so it runs on the same text as small, with its 5,000 pieces.
"""

import sys

from zoo.training import Optimizer, Recipe, Scale, run


def _translator():
    from zoo.models import Seq2SeqTranslator

    return Seq2SeqTranslator


# Section 3.4: rate 0.7 for 5 epochs, then halved every half epoch; the norm of the
# gradient, divided by the sentences of a batch, clipped at 5; 7.5 epochs (8 here, whose
# last half runs at 0.011).
_PAPER_SGD = Optimizer(
    "sgd", 0.7, "halving", constant_epochs=5, halving_epochs=0.5, clip=5.0
)

_CORPORA = (("multi30k", 2), ("tatoeba", 1))

_CARD = {
    "title": "Sutskever et al. 2014, sequence to sequence, English to German",
    "description": (
        "A deep LSTM reads the source backwards, its final states start another one "
        "that writes, without attention, as in the paper, at a small size: 2 layers "
        "of 256 cells instead of 4 of 1000, one SentencePiece vocabulary of 5,000 "
        "pieces for both languages instead of 160,000 and 80,000 words, dropout and "
        "label smoothing. Trained with Adam instead of the paper's SGD."
    ),
    "intended_use": (
        "Teaching and comparison of architectures: what attention adds shows beside "
        "it. It is no general translator."
    ),
    "weaknesses": [
        "All of the source is in the final states: long sentences come out fluent and "
        "about something else.",
        "Names and rare words are spelled out in pieces and often come out wrong.",
    ],
    "license": "cc-by-nc-4.0",
    "paper": {
        "title": "Sequence to Sequence Learning with Neural Networks",
        "authors": "Ilya Sutskever, Oriol Vinyals, Quoc V. Le",
        "year": 2014,
        "url": "https://arxiv.org/abs/1409.3215",
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
    name="seq2seq",
    file=__file__,
    translator=_translator,
    card=_CARD,
    scales={
        "tiny": Scale(
            model={"num_layers": 1, "hidden_dim": 128, "embedding_dim": 32},
            optimizer=Optimizer("adam", 1e-2, "linear", warmup=100, clip=1.0),
            epochs=20,
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
                "dropout": 0.2,
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
            epochs=8,
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
