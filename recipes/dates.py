"""Dates as people write them, in five languages, to ISO 8601: "3. Mai 1999".

    python recipes/dates.py --scale tiny|small

The task that attention is often taught with, by characters and Bahdanau's attention.
The dates are generated (`zoo.data.generated.dates` says which forms, and how ambiguous
ones are resolved), and those of the test are never seen in training.

tiny:  two or three minutes on a CPU: the bundled preset.
small: the decoder twice as wide. It reads dates as well, but its attention shows the
       year only: its state has room for day and month from the start.

No paper has this task, so there is no scale `paper`.
"""

import zoo
from zoo.training import Optimizer, load_recipe
from zoo.training.recipes.translator_recipe import Scale, translation_recipe

BAHDANAU = load_recipe("bahdanau.py", beside=__file__).RECIPE


def scale(width: int) -> Scale:
    """Returns the choices for a decoder of a width."""
    return Scale(
        model={
            "hidden_dim": width,
            "embedding_dim": 32,
            "attention_dim": 64,
            "maxout_dim": 64,
            # The paper's 0.01 is for 1000 units: smaller sums need larger weights.
            "initializer_range": 0.1,
        },
        optimizer=Optimizer("adam", 5e-3, "linear", warmup=100, clip=1.0),
        epochs=6,
        vocabulary_size=200,  # at most; there are 70 characters
        pieces="char",
        batch={"batch_size": 64},
        corpora=(("dates", 1),),
        source="mul",
        target="zxx",
        buckets=3,
    )


RECIPE = translation_recipe(
    "dates",
    lambda: zoo.models.BahdanauTranslator,
    {"tiny": scale(32), "small": scale(64)},
    {
        **BAHDANAU.card,
        "title": "Bahdanau et al. 2015, RNNsearch by characters, dates to ISO 8601",
        "description": "Reads a date as people write it in English (British and "
        "American), German, French or Spanish, and writes it as ISO 8601, one "
        "piece for each character. Trained on generated dates of the years 1900 "
        "to 2099.",
    },
    __file__,
    own_text=False,  # single characters are for dates
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
