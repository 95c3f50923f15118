"""Luong, Pham & Manning 2015: every attention and score of the paper, input feeding.

    python recipes/luong_local.py --scale tiny|small|tatoeba|multi30k|paper

Each variant is run by its own file, `luong_local.py` and so on; this one has their
choices. They differ in the attention only.
`paper` has the paper's layers and schedule (section 4.1), on the text of `small`;
zoo.training.recipes.translator_recipe describes the other scales.
"""

from pathlib import Path
from typing import NamedTuple

import zoo
from zoo.training.optimizers import Optimizer
from zoo.training.recipe import Recipe
from zoo.training.recipes import translator_recipe as translators


class Variant(NamedTuple):
    """The settings in which a variant's recipe differs from the others."""

    attention: str
    score: str
    words: str  # the attention in words, for the card
    equations: str  # the paper's for it
    # Whether the encoder reads in both directions at `small`, `tatoeba` and `multi30k`.
    # At `tiny` and `paper` it never does, as in the paper.
    bidirectional: bool = True


GLOBAL = "Global attention over all of the source (equation 7, section 3.1) with the "
VARIANTS = {
    "luong_local": Variant(
        "local_p",
        "general",
        "local predictive attention (local-p), the general score",
        "Local attention with predictive alignment (equations 9 and 10, section 3.2), "
        "inside its window equation 7 with the general score; the Gaussian's product "
        "is not renormalised",
    ),
    "luong_local_m": Variant(
        "local_m",
        "general",
        "local monotonic attention (local-m), the general score",
        "Local attention with monotonic alignment, p_t = t (section 3.2), inside its "
        "window equation 7 with the general score",
    ),
    "luong_global": Variant(
        "global",
        "general",
        "global attention, the general score",
        GLOBAL + "general score",
    ),
    "luong_dot": Variant(
        "global", "dot", "global attention, the dot score", GLOBAL + "dot score"
    ),
    "luong_concat": Variant(
        "global",
        "concat",
        "global attention, the concat score",
        GLOBAL + "concat score, whose W_a reads both states as printed (the authors' "
        "code leaves the source's half the identity)",
    ),
    "luong_location": Variant(
        "location",
        "dot",  # not used: the location score has no other
        "location-based attention",
        "Global attention by the location score (equation 8), which never looks at "
        "the source's states",
    ),
    # Here the encoder reads the source only from its last word to its first, whatever
    # the scale. Its state at "the" in "a dog runs in the snow" has just read "snow" and
    # "the": when the decoder needs "snow" it attends to "the", and the alignment is one
    # word to the left, though each state is at its own word (`Luong` keeps the memory
    # in source order).
    "luong_reversed": Variant(
        "global",
        "general",
        "global attention, the general score, the encoder as in the paper",
        GLOBAL + "general score",
        bidirectional=False,
    ),
}

# The layers of `small`, `tatoeba` and `multi30k`. The paper's initial range of 0.1 is
# for 1000 cells: smaller sums need larger weights.
LAYERS = {
    "num_layers": 2,
    "hidden_dim": 256,
    "embedding_dim": 256,
    "initializer_range": 0.2,
}
# At 8e-3, local-p's v_p saturates the sigmoid at once and for good: p_t is 0 or S for
# every word. All variants have one rate, so that they differ in the attention only.
RATE = 4e-3
# Section 4.1: rate 1, halved every epoch after the 8th; norm clipped at 5 (the norm of
# all gradients; the authors' code leaves out the embeddings').
SGD = Optimizer("sgd", 1.0, "halving", constant_epochs=8, clip=5.0)


def recipe(file: str) -> Recipe:
    """Returns the recipe of a variant.

    Args:
        file: the file that runs it, whose name is one of `VARIANTS`.
    """
    name = Path(file).stem
    variant = VARIANTS[name]
    kind = {"attention": variant.attention, "score": variant.score}
    both = {"bidirectional": variant.bidirectional}
    everyday = {**kind, **LAYERS, **both, "dropout": 0.1, "readout_dropout": 0.1}
    return translators.translation_recipe(
        name,
        lambda: zoo.models.LuongTranslator,
        {
            "tiny": translators.tiny(
                {
                    **kind,
                    "num_layers": 1,
                    "hidden_dim": 64,
                    "embedding_dim": 32,
                    "dropout": 0.0,
                }
            ),
            "small": translators.small(everyday, RATE),
            "tatoeba": translators.tatoeba(everyday, RATE),
            # Dropout, epochs and batches were chosen for luong_global, English to
            # German, by BLEU on the validation set.
            "multi30k": translators.multi30k(
                {**everyday, "dropout": 0.4, "readout_dropout": 0.4},
                RATE,
                epochs=40,
                batch={"batch_tokens": 1536},
            ),
            "paper": translators.paper(SGD, 12, {"batch_size": 128}, kind),
        },
        {
            "title": f"Luong et al. 2015, {variant.words}",
            "description": f"Stacked LSTM encoder and decoder with {variant.words}, "
            "and input feeding.",
            "equations": f"{variant.equations}; the attentional vector (equations 5 "
            "and 6); input feeding (section 3.3).",
            "paper": PAPER,
        },
        file,
    )


PAPER = {
    "title": "Effective Approaches to Attention-based Neural Machine Translation",
    "authors": "Minh-Thang Luong, Hieu Pham, Christopher D. Manning",
    "year": 2015,
    "url": "https://arxiv.org/abs/1508.04025",
}
