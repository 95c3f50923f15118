"""Luong, Pham & Manning 2015: global attention, concat score, input feeding.

    python recipes/luong_concat.py --scale tiny|small|paper

Its scales are those of luong_local.py: the attention alone differs.
"""

import sys

from zoo.training import run
from zoo.training.translators import luong

RECIPE = luong(
    "luong_concat",
    __file__,
    attention="global",
    score="concat",
    words="global attention, the concat score",
)


def main(argv=None):
    return run(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
