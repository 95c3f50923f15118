"""A word language model by LSTMN.

One of the variants of language_models.py, which has the choices of them all.

    python recipes/lstmn_lm.py --scale tiny|small|paper
"""

import sys
from functools import partial
from pathlib import Path

from zoo.training import load_recipe, run_recipe

FAMILY = load_recipe(Path(__file__).with_name("language_models.py"))
RECIPE = FAMILY.recipe("lstmn_lm", __file__)
main = partial(run_recipe, RECIPE)

if __name__ == "__main__":
    sys.exit(main())
