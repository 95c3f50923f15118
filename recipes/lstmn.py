"""Cheng, Dong & Lapata 2016: LSTMN encoder and decoder with deep attention fusion.

    python recipes/lstmn.py --scale tiny|small|paper

`paper` has the layers and the schedule of the paper's largest model of two sentences
(section 5.3), on the text of `small`: the paper does not translate.
Shallow fusion: `--set model.fusion=shallow`.
"""

import zoo
from zoo.training import Optimizer
from zoo.training.recipes import translator_recipe as translators

ADAM = Optimizer("adam", 1e-3, clip=5.0)

RECIPE = translators.translation_recipe(
    name="lstmn",
    file=__file__,
    translator=lambda: zoo.models.LSTMNTranslator,
    card={
        "title": "Cheng et al. 2016, LSTMN with deep fusion",
        "description": (
            "Encoder and decoder are LSTMs that attend to all of their own past "
            "states; the source's memory enters the decoder's through a gate (deep "
            "attention fusion). The paper describes this for two given sentences, "
            "not for translation."
        ),
        "equations": (
            "Sections 3 and 4: LSTMNs that attend to their own past, and deep "
            "attention fusion, whose gate lets the source's memory into the cell."
        ),
        "paper": {
            "title": "Long Short-Term Memory-Networks for Machine Reading",
            "authors": "Jianpeng Cheng, Li Dong, Mirella Lapata",
            "year": 2016,
            "url": "https://arxiv.org/abs/1601.06733",
        },
    },
    scales={
        "tiny": translators.tiny({"hidden_dim": 64, "embedding_dim": 32}),
        "small": translators.small(
            # In one layer, the query for the source has no state of the decoder, only
            # x_t and what was read before; in the second layer it has h_t.
            {
                "num_layers": 2,
                "hidden_dim": 256,
                "embedding_dim": 256,
                "dropout": 0.2,
                "initializer_range": 0.2,
            },
            # At 1.2e-2, everything saturates in the first epoch and learning stops.
            rate=4e-3,
        ),
        "paper": translators.paper(
            ADAM, 12, {"batch_size": 32}, {"dropout": 0.2}, loss={}
        ),
    },
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
