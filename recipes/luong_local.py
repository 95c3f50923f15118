"""Luong, Pham & Manning 2015: local-p attention, general score, input feeding.

    python recipes/luong_local.py --scale tiny|small|multi30k|paper

tiny:  generated text (words in reverse order), under two minutes, no download.
small: Multi30k and Tatoeba, English to German: the bundled preset.
multi30k: Multi30k alone, the strict benchmark; German to English by `--set source=de
       --set target=en`.
paper: the paper's layers and schedule (section 4.1), on the same text as small.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import luong

RECIPE = luong(
    "luong_local",
    __file__,
    attention="local_p",
    score="general",
    words="local predictive attention (local-p), the general score",
    equations=(
        "Local attention with predictive alignment (equations 9 and 10, section 3.2), "
        "inside its window equation 7 with the general score; the Gaussian's product "
        "is not renormalised"
    ),
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
