"""Dates as people write them, in five languages, to ISO 8601: "3. Mai 1999".

    python recipes/dates.py --scale tiny|small

The task that attention is often taught with, by characters: Bahdanau's attention here,
Luong's in dates_luong.py, which has its choices from this file. The dates are generated
(`zoo.data.generated.dates` says which forms, and how ambiguous ones are resolved), and
those of the test are never seen in training.

tiny:  two or three minutes on a CPU: the bundled preset.
small: the decoder twice as wide. It reads dates as well, but its attention shows the
       year only: its state has room for day and month from the start.

No paper has this task, so there is no scale `paper`.
"""

from pathlib import Path
from typing import Any, NamedTuple

from zoo.training import Optimizer, Recipe, load_recipe
from zoo.training.recipes.translator_recipe import Scale, task, translation_recipe


class Variant(NamedTuple):
    """The settings in which a variant's recipe differs from the other."""

    translator: str  # class in `zoo.models`
    family: str  # recipe of the paper's model, whose card has its equations
    title: str
    width: int  # units of the decoder in `tiny`
    rate: float  # highest learning rate
    model: dict[str, Any]  # arguments of the backbone, but for that width


VARIANTS = {
    "dates": Variant(
        "BahdanauTranslator",
        "bahdanau",
        "Bahdanau et al. 2015, RNNsearch by characters",
        32,
        5e-3,
        {
            "embedding_dim": 32,
            "attention_dim": 64,
            "maxout_dim": 64,
            # The paper's 0.01 is for 1000 units: smaller sums need larger weights.
            "initializer_range": 0.1,
        },
    ),
    "dates_luong": Variant(
        "LuongTranslator",
        "luong_global",
        "Luong et al. 2015, global attention by characters",
        64,
        1e-2,
        {
            "attention": "global",
            "score": "general",
            "num_layers": 1,
            "embedding_dim": 32,
            "bidirectional": True,
            "dropout": 0.0,
            # The paper's 0.1 is for 1000 cells.
            "initializer_range": 0.3,
        },
    ),
}


def recipe(file: str) -> Recipe:
    """Returns the recipe of a variant.

    Args:
        file: the file that runs it, whose name is one of `VARIANTS`.
    """
    name = Path(file).stem
    variant = VARIANTS[name]
    family = load_recipe(Path(__file__).with_name(f"{variant.family}.py")).RECIPE

    def scale(width):
        return Scale(
            model={"hidden_dim": width, **variant.model},
            optimizer=Optimizer("adam", variant.rate, "linear", warmup=100, clip=1.0),
            epochs=6,
            vocabulary_size=200,  # at most; there are 70 characters
            pieces="char",
            batch={"batch_size": 64},
            corpora=(("dates", 1),),
            source="mul",
            target="zxx",
            buckets=3,
        )

    return translation_recipe(
        name,
        task(variant.translator),
        {"tiny": scale(variant.width), "small": scale(2 * variant.width)},
        {
            **family.card,
            "title": f"{variant.title}, dates to ISO 8601",
            "description": "Reads a date as people write it in English (British and "
            "American), German, French or Spanish, and writes it as ISO 8601, one "
            "piece for each character. Trained on generated dates of the years 1900 "
            "to 2099.",
        },
        file,
        own_text=False,  # single characters are for dates
    )


RECIPE = recipe(__file__)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
