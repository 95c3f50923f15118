"""Vaswani et al. 2017: the Transformer.

    python recipes/transformer.py --scale tiny|small|tatoeba|multi30k|paper

`paper` is the base model and its schedule (section 5), on the text of `small`. The big
model: `--set model.hidden_dim=1024 --set model.ff_dim=4096 --set model.num_heads=16
--set model.dropout=0.3 --set optimizer.hidden_dim=1024`.
"""

import zoo
from zoo.training import Optimizer
from zoo.training.recipes import translator_recipe as translators

# Section 5.3, which doesn't clip the norm.
ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9}
# The layers of small and tatoeba.
SMALL = {
    "num_layers": 3,
    "hidden_dim": 256,
    "ff_dim": 1024,
    "num_heads": 4,
    "norm": "pre",
    "dropout": 0.1,
}

RECIPE = translators.translation_recipe(
    name="transformer",
    file=__file__,
    translator=lambda: zoo.models.TransformerTranslator,
    card={
        "title": "Vaswani et al. 2017, Transformer",
        "description": (
            "Encoder and decoder of multi-head attention and feed-forward layers, "
            "with sinusoidal positions and one matrix for all word vectors and the "
            "output."
        ),
        "equations": (
            "Equations 1 and 2, multi-head attention (section 3.2.2), sinusoidal "
            "positions (3.5), one matrix for all word vectors and the output (3.4). "
            "Pre-norm, as the authors' later code has it; the paper prints post-norm."
        ),
        "paper": {
            "title": "Attention Is All You Need",
            "authors": (
                "Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion "
                "Jones, Aidan N. Gomez, Łukasz Kaiser, Illia Polosukhin"
            ),
            "year": 2017,
            "url": "https://arxiv.org/abs/1706.03762",
        },
    },
    scales={
        "tiny": translators.tiny(
            {
                "num_layers": 2,
                "hidden_dim": 64,
                "ff_dim": 128,
                "num_heads": 4,
                "dropout": 0.0,
            },
            rate=3e-3,
        ),
        "small": translators.small(SMALL, rate=1e-3),
        "tatoeba": translators.tatoeba(SMALL, rate=1e-3),
        # The published layers (transformer-tiny of LividWo/Revisit-MMT).
        "multi30k": translators.multi30k(
            {
                "num_layers": 4,
                "hidden_dim": 128,
                "ff_dim": 256,
                "num_heads": 4,
                "norm": "pre",
                "dropout": 0.3,
            },
            optimizer=Optimizer("adam", 4e-3, "linear", warmup=1000, clip=1.0),
            epochs=30,
            batch={"batch_tokens": 1024},
        ),
        # Batches of 25,000 tokens a side; 100,000 steps, some 260 epochs of this text;
        # the average of the last checkpoints.
        "paper": translators.paper(
            Optimizer("adam", 1.0, "noam", warmup=4000, hidden_dim=512, options=ADAM),
            260,
            {"batch_tokens": 25000},
            loss={"smoothing": 0.1},
            average={"keep": 5},
        ),
    },
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
