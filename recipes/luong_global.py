"""Luong, Pham & Manning 2015: global attention, general score, input feeding.

    python recipes/luong_global.py --scale tiny|small|multi30k|paper

Its scales are those of luong_local.py: the attention alone differs.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import luong

RECIPE = luong(
    "luong_global",
    __file__,
    attention="global",
    score="general",
    words="global attention, the general score",
    equations=(
        "Global attention over all of the source (equation 7, section 3.1) with the "
        "general score"
    ),
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
