"""Luong, Pham & Manning 2015: location-based attention (equation 8), input feeding.

    python recipes/luong_location.py --scale tiny|small|multi30k|paper

Its scales are those of luong_local.py: the attention alone differs.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import LOOPS, SHORT, luong

RECIPE = luong(
    "luong_location",
    __file__,
    attention="location",
    score="dot",  # not used: the location score is its own
    words="location-based attention",
    equations=(
        "Global attention by the location score (equation 8), which never looks at "
        "the source's states"
    ),
    weaknesses=("It can attend to the first 50 pieces of a source only.", SHORT, LOOPS),
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
