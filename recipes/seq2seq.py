"""Sutskever, Vinyals & Le 2014: a deep LSTM reads, another one writes.

    python recipes/seq2seq.py --scale tiny|small|paper

`paper` has the paper's layers and schedule (section 3.4), on the text of `small`.
"""

import zoo
from zoo.training import Optimizer
from zoo.training.recipes import translator_recipe as translators

# Section 3.4: rate 0.7 for 5 epochs, then halved every half epoch; the norm of the
# gradient, divided by the sentences of a batch, clipped at 5; 7.5 epochs (here 8, the
# last half at 0.011).
SGD = Optimizer("sgd", 0.7, "halving", constant_epochs=5, halving_epochs=0.5, clip=5.0)

RECIPE = translators.translation_recipe(
    name="seq2seq",
    file=__file__,
    translator=lambda: zoo.models.Seq2SeqTranslator,
    card={
        "title": "Sutskever et al. 2014, sequence to sequence",
        "description": (
            "A deep LSTM reads the source backwards, and its final states start "
            "another one that writes, without attention."
        ),
        "equations": (
            "Equation 1; the source reversed (section 3.3), all layers' last states "
            "handed over, LSTMs without peepholes."
        ),
        "paper": {
            "title": "Sequence to Sequence Learning with Neural Networks",
            "authors": "Ilya Sutskever, Oriol Vinyals, Quoc V. Le",
            "year": 2014,
            "url": "https://arxiv.org/abs/1409.3215",
        },
    },
    scales={
        "tiny": translators.tiny(
            {"num_layers": 1, "hidden_dim": 128, "embedding_dim": 32},
            rate=1e-2,
            epochs=20,
        ),
        "small": translators.small(
            {
                # More cells than in other recipes: their states hold the whole source.
                "num_layers": 2,
                "hidden_dim": 384,
                "embedding_dim": 256,
                "dropout": 0.1,
                # The paper's 0.08 is for 1000 cells: smaller sums need larger weights.
                "initializer_range": 0.16,
                # Open forget gates keep what is read first, the last words.
                "use_bias": True,
                "unit_forget_bias": True,
            }
        ),
        "paper": translators.paper(SGD, 8, {"batch_size": 128}),
    },
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
