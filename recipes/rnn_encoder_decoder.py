"""Cho et al. 2014: RNN Encoder–Decoder, a GRU reads a sentence into one vector.

    python recipes/rnn_encoder_decoder.py --scale tiny|small|paper

`paper` has the paper's layers and schedule (section 4.1), on the text of `small`. The
paper trains on pairs of phrases and only rescores; here it translates sentences.

The authors' code instead of the paper: `--set model.variant=groundhog`. That is
RNNencdec of Bahdanau et al. 2015 (`zoo.models.RNNencdec` has its sizes).
"""

import zoo
from zoo.training import Optimizer
from zoo.training.recipes import translator_recipe as translators

# Section 4.1: Adadelta at rate 1; the norm clipped at 1 as in the authors' code.
ADADELTA = Optimizer("adadelta", 1.0, clip=1.0, options={"rho": 0.95, "epsilon": 1e-6})

RECIPE = translators.translation_recipe(
    name="rnn_encoder_decoder",
    file=__file__,
    translator=lambda: zoo.models.RNNEncoderDecoderTranslator,
    card={
        "title": "Cho et al. 2014, RNN Encoder–Decoder",
        "description": (
            "A GRU reads the source into one vector, which enters the gates, the "
            "candidate and the maxout output of a GRU decoder at every step, "
            "without attention. The paper trains on phrases."
        ),
        "equations": (
            'Equations 5 to 8 and the appendix, as printed (variant "paper"): the '
            "context in both gates, the candidate and the maxout output; in the "
            "decoder the reset gate scales the candidate's context too."
        ),
        "paper": {
            "title": (
                "Learning Phrase Representations using RNN Encoder–Decoder for "
                "Statistical Machine Translation"
            ),
            "authors": (
                "Kyunghyun Cho, Bart van Merriënboer, Caglar Gulcehre, Dzmitry "
                "Bahdanau, Fethi Bougares, Holger Schwenk, Yoshua Bengio"
            ),
            "year": 2014,
            "url": "https://arxiv.org/abs/1406.1078",
        },
    },
    scales={
        "tiny": translators.tiny(
            {
                "hidden_dim": 128,
                "embedding_dim": 32,
                "maxout_dim": 64,
                "output_rank": None,
                # The paper's 0.01 is for 1000 units: smaller sums need larger weights.
                "initializer_range": 0.1,
            },
            rate=1e-2,
            epochs=20,
        ),
        "small": translators.small(
            {
                "hidden_dim": 256,
                "embedding_dim": 256,
                "maxout_dim": 256,
                "output_rank": None,
                "dropout": 0.2,
                "initializer_range": 0.05,
            }
        ),
        "paper": translators.paper(ADADELTA, 5, {"batch_size": 64}),
    },
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
