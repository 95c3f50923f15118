"""Luong, Pham & Manning 2015: luong_global with the paper's own encoder.

    python recipes/luong_reversed.py --scale tiny|small|multi30k|paper

The encoder of `small`, too, reads the source from its last word to its first and in no
other direction. Its state at "the" in "a dog runs in the snow" has just read "snow" and
"the": when the decoder needs "snow" it looks at "the", and the alignment lies one word
to the left, though each state stands at its own word (`Luong` keeps the memory in
source order). luong_global's reads in both directions.
"""

import sys

from zoo.run import run_recipe
from zoo.run.translators import luong

RECIPE = luong(
    "luong_reversed",
    __file__,
    attention="global",
    score="general",
    words="global attention, the general score",
    equations=(
        "Global attention over all of the source (equation 7, section 3.1) with the "
        "general score"
    ),
    weaknesses=("Its alignments lie one word to the left of the word translated.",),
    bidirectional=False,
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
