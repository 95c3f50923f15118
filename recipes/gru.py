"""A word language model by GRU (Cho et al. 2014).

    python recipes/gru.py --scale tiny|small|paper

tiny:  sentences of a small grammar whose entropy is known, under two minutes.
small: the Penn Treebank, Adam and dropout; half an hour on one core.
paper: the Penn Treebank with the choices of Cheng, Dong & Lapata 2016, section 4.1.

All language models are of the same widths; `--set cell=rnn` gives the paper's simple
one.
"""

import sys

from zoo.run import run_recipe
from zoo.run.language_models import recipe

RECIPE = recipe(
    "gru",
    "gru",
    __file__,
    "GRU, a word language model of the Penn Treebank",
    "Cho et al. 2014, equations 5 to 8: the reset gate before the product.",
    {
        "title": (
            "Learning Phrase Representations using RNN Encoder–Decoder for Statistical "
            "Machine Translation"
        ),
        "authors": (
            "Kyunghyun Cho, Bart van Merriënboer, Caglar Gulcehre, Dzmitry Bahdanau, "
            "Fethi Bougares, Holger Schwenk, Yoshua Bengio"
        ),
        "year": 2014,
        "url": "https://arxiv.org/abs/1406.1078",
    },
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
