"""Xu et al. 2015, Show, Attend and Tell: sentences about images.

    python recipes/show_attend_tell.py --scale tiny|small|formulas|paper

The images are generated, so that nothing is downloaded, any use is free, and it is
known where each thing is that a sentence names: scenes of coloured shapes
(`zoo.data.generated.scenes`), or formulas to be written in LaTeX
(`zoo.data.generated.formulas`, extra `plot`). The convolutional net is small and
trained with the decoder; the paper's was trained on ImageNet before.

tiny:  4,500 scenes, under two minutes on a CPU.
small: 9,000 scenes, ten minutes on one core: the bundled preset.
formulas: 9,000 formulas, a quarter of an hour: the preset that writes LaTeX.
paper: the authors' decoder for COCO and Adam (rate and clipping are ours), on 12,000
       scenes.

Hard attention: `--set model.attention=hard` (at `formulas` it hardly learns:
docs/papers/xu.md). Only `paper` has the doubly stochastic penalty, with the authors' λ
of 1 and their loss of a sentence; elsewhere losses are per token, and `--set
model.doubly_stochastic=0.01` adds it. show_attend_tell_text.py reads text.
"""

import sys
from functools import partial
from typing import Any

from zoo.training import ClassArguments, Optimizer, Recipe, importer, run_recipe
from zoo.training.recipes.captioner_recipe import Captions, train

# Without the paper's penalty (equation 14), which costs more on scenes than it brings
# (docs/reproduction.md, "Several seeds"); on formulas it spreads attention and brings
# nothing (docs/papers/xu.md).
MODEL = {
    "hidden_dim": 160,
    "embedding_dim": 64,
    "annotation_dim": 64,
    "attention_dim": 64,
    "attention": "soft",
    "doubly_stochastic": 0.0,
    "dropout": 0.1,
}
EQUATIONS = (
    "Section 3.1: the LSTM with the context in its gates, its start from the mean "
    "annotation, and the deep output; soft attention with the gate β, trained without "
    "the doubly stochastic penalty of section 4.2.1"
)
CARD = {
    "title": "Xu et al. 2015, Show, Attend and Tell: scenes of coloured shapes",
    "description": (
        "Tells in a sentence what is in an image of 80 × 80 pixels: one to three "
        "coloured shapes, their sizes and where they are. A convolutional net of "
        "three blocks, trained with the decoder from nothing (the paper's was VGG, "
        "trained on ImageNet), gives a grid of 10 × 10 annotation vectors; an LSTM "
        "attends to them softly, word by word."
    ),
    "equations": f"{EQUATIONS} (with it, λ = 0.01, fewer of its sentences are true).",
    "intended_use": (
        "Teaching and tests: where attention looks, and how that is measured. Any use "
        "is free. It tells nothing of photographs."
    ),
    "weaknesses": [
        "One in eight of its sentences about new scenes is not true, and most of those "
        "about three things, which are rare in its training: it gives one thing the "
        "colour, shape or place of another.",
        "It writes a sentence of its small grammar for any image, photographs too.",
        "Scenes with more than three things, things that touch, and colours or shapes "
        "other than those of its training.",
    ],
    "license": "apache-2.0",
    "paper": {
        "title": (
            "Show, Attend and Tell: Neural Image Caption Generation with Visual "
            "Attention"
        ),
        "authors": (
            "Kelvin Xu, Jimmy Ba, Ryan Kiros, Kyunghyun Cho, Aaron Courville, "
            "Ruslan Salakhutdinov, Richard Zemel, Yoshua Bengio"
        ),
        "year": 2015,
        "url": "https://arxiv.org/abs/1502.03044",
    },
    "task": "caption",
}


def of_formulas(card: dict[str, Any]) -> dict[str, Any]:
    """Returns the card as that of a preset of the scale `formulas`."""
    return {
        **card,
        "title": "Xu et al. 2015, Show, Attend and Tell: formulas in LaTeX",
        "description": (
            "Writes in LaTeX the formula in an image of 48 × 160 pixels, black on "
            "white: sums, differences and products of Latin and Greek letters, digits, "
            "powers, indices, fractions and roots, or an equation of two such. A "
            "convolutional net of three blocks, trained with the decoder from nothing "
            "(the paper's was VGG, trained on ImageNet), gives a grid of 6 × 20 "
            "annotation vectors; an LSTM attends to them softly, symbol by symbol."
        ),
        "equations": f"{EQUATIONS} (with it, λ = 0.01, one seed: about as many "
        "formulas are exact, and half as much attention is on the symbol).",
        "intended_use": (
            "Teaching and tests: how attention finds its way through an image, and how "
            "that is measured. Any use is free. It reads no formulas of other fonts, "
            "no photographs and no handwriting."
        ),
        "weaknesses": [
            "Symbols that look alike when small, mostly in powers and indices: 8 and "
            "9, p and q, d and q.",
            "Long formulas: nearly all of up to 20 symbols are exact, braces counted, "
            "of 25 and more about half.",
            "An image of other proportions loses its edges, and symbols must be about "
            "as large as those of its training.",
            "It writes a formula of its small grammar for any image.",
        ],
    }


RECIPE = Recipe(
    "show_attend_tell",
    {
        "tiny": Captions(
            8,
            Optimizer("adam", 3e-3, "linear", warmup=50, clip=1.0),
            images=4500,
            buckets=1,
            model={
                **MODEL,
                "hidden_dim": 96,
                "embedding_dim": 48,
                "dropout": 0.0,
            },
        ),
        "small": Captions(
            20,
            Optimizer("adam", 3e-3, "linear", warmup=100, clip=1.0),
            images=9000,
            buckets=2,
            model=MODEL,
        ),
        "formulas": Captions(
            20,
            Optimizer("adam", 3e-3, "linear", warmup=100, clip=1.0),
            data="formulas",
            images=9000,
            model=MODEL,
        ),
        "paper": Captions(
            20,
            Optimizer("adam", 1e-3, clip=5.0),
            model={"dropout": 0.5},
            loss={"normalize": "sentences"},
            batch_size=64,
            patience=10,
        ),
    },
    train,
    __file__,
    classes={
        "model": ClassArguments(
            importer("zoo.models", "ShowAttendTell"),
            reserved=(
                *("vocabulary_size", "target_vocabulary_size"),
                *("image_shape", "image_encoder"),
            ),
        ),
        "loss": ClassArguments(
            importer("zoo.training", "SmoothedCrossEntropy"), trial=()
        ),
    },
    card=CARD,
    extra_presets={"formulas": of_formulas},
)
main = partial(run_recipe, RECIPE)

if __name__ == "__main__":
    sys.exit(main())
