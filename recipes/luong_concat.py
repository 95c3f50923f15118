"""Luong, Pham & Manning 2015: global attention, concat score, input feeding.

    python recipes/luong_concat.py --scale tiny|small|multi30k|paper

Its scales are those of luong_local.py: the attention alone differs.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import luong

RECIPE = luong(
    "luong_concat",
    __file__,
    attention="global",
    score="concat",
    words="global attention, the concat score",
    equations=(
        "Global attention over all of the source (equation 7, section 3.1) with the "
        "concat score, whose W_a reads both states as printed (the authors' code "
        "leaves the source's half the identity)"
    ),
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
