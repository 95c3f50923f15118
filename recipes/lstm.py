"""A word language model by LSTM (Hochreiter & Schmidhuber 1997; Gers et al. 2000).

    python recipes/lstm.py --scale tiny|small|paper

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
    "lstm",
    "lstm",
    __file__,
    "LSTM, a word language model of the Penn Treebank",
    "The cell of 1997 with the forget gate of Gers et al. 2000, without peepholes.",
    {
        "title": "Long Short-Term Memory",
        "authors": "Sepp Hochreiter, Jürgen Schmidhuber",
        "year": 1997,
        "url": "https://doi.org/10.1162/neco.1997.9.8.1735",
    },
)


def main(argv=None):
    return run_recipe(RECIPE, argv)


if __name__ == "__main__":
    sys.exit(main())
