"""Bahdanau, Cho & Bengio 2015: RNNsearch, additive attention with a GRU decoder.

    python recipes/bahdanau.py --scale tiny|small|tatoeba|multi30k|paper

`paper` has the paper's layers and schedule (section 4, appendix B), on the text of
`small`; zoo.training.recipes.translator_recipe describes the other scales.
RNNencdec, the paper's other model: recipes/rnn_encoder_decoder.py.
"""

import zoo
from zoo.training import Optimizer
from zoo.training.recipes import translator_recipe as translators

# Appendix B.2: norm clipped at 1, and a rate of 1, not Keras's 0.001.
ADADELTA = Optimizer("adadelta", 1.0, clip=1.0, options={"rho": 0.95, "epsilon": 1e-6})
# The layers of small and tatoeba.
SMALL = {
    "hidden_dim": 256,
    "embedding_dim": 256,
    "attention_dim": 256,
    "maxout_dim": 256,
    "dropout": 0.2,
    "initializer_range": 0.05,
}

RECIPE = translators.translation_recipe(
    name="bahdanau",
    file=__file__,
    translator=lambda: zoo.models.BahdanauTranslator,
    card={
        "title": "Bahdanau et al. 2015, RNNsearch",
        "description": (
            "Bidirectional GRU encoder, and a GRU decoder that attends with its "
            "previous state (additive score), reads the context in its gates and "
            "candidate, and writes through a maxout layer."
        ),
        "equations": (
            "Equations 5 and 6, and appendix A: the gated units, the decoder with the "
            "context in both gates and the candidate, the deep output with maxout. The "
            "readout takes the state before (s_{i-1}, as the appendix and the authors' "
            "code do; equation 4 has s_i)."
        ),
        "paper": {
            "title": (
                "Neural Machine Translation by Jointly Learning to Align and Translate"
            ),
            "authors": "Dzmitry Bahdanau, Kyunghyun Cho, Yoshua Bengio",
            "year": 2015,
            "url": "https://arxiv.org/abs/1409.0473",
        },
    },
    scales={
        "tiny": translators.tiny(
            {
                "hidden_dim": 48,
                "embedding_dim": 32,
                "attention_dim": 48,
                "maxout_dim": 48,
                # The paper's 0.01 is for 1000 units: smaller sums need larger weights.
                "initializer_range": 0.1,
            }
        ),
        # The other recipes' batches, which take less time to learn as much, were not
        # tried here.
        "small": translators.small(SMALL, rate=2e-3, batch={"batch_tokens": 1536}),
        "tatoeba": translators.tatoeba(SMALL, rate=2e-3, batch={"batch_tokens": 1536}),
        "multi30k": translators.multi30k(
            {**SMALL, "dropout": 0.4}, rate=2e-3, batch={"batch_tokens": 1536}
        ),
        "paper": translators.paper(ADADELTA, 5, {"batch_size": 80}),
    },
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
