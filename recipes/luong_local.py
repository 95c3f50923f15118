"""Luong et al. 2015, local-p attention.

One of the variants of luong.py, which has the choices of them all.

    python recipes/luong_local.py --scale tiny|small|tatoeba|multi30k|paper
"""

import sys
from functools import partial
from pathlib import Path

from zoo.training import load_recipe, run_recipe

RECIPE = load_recipe(Path(__file__).with_name("luong.py")).recipe(
    "luong_local", __file__
)
main = partial(run_recipe, RECIPE)

if __name__ == "__main__":
    sys.exit(main())
