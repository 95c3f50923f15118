"""Luong, Pham & Manning 2015: global attention, dot score, input feeding.

    python recipes/luong_dot.py --scale tiny|small|multi30k|paper

Its scales are those of luong_local.py: the attention alone differs.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import luong

RECIPE = luong(
    "luong_dot",
    __file__,
    attention="global",
    score="dot",
    words="global attention, the dot score",
    equations=(
        "Global attention over all of the source (equation 7, section 3.1) with the "
        "dot score"
    ),
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
