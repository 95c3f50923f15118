"""Luong, Pham & Manning 2015: local-m attention, general score, input feeding.

    python recipes/luong_local_m.py --scale tiny|small|multi30k|paper

Its scales are those of luong_local.py: the attention alone differs.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import luong

RECIPE = luong(
    "luong_local_m",
    __file__,
    attention="local_m",
    score="general",
    words="local monotonic attention (local-m), the general score",
    equations=(
        "Local attention with monotonic alignment, p_t = t (section 3.2), inside its "
        "window equation 7 with the general score"
    ),
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
