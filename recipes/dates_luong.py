"""Dates to ISO 8601, by Luong's attention.

One of the variants of dates.py, which has the choices of both.

    python recipes/dates_luong.py --scale tiny|small
"""

import sys
from functools import partial
from pathlib import Path

from zoo.run import load_recipe, run_recipe

FAMILY = load_recipe(Path(__file__).with_name("dates.py"))
RECIPE = FAMILY.recipe("dates_luong", __file__)
main = partial(run_recipe, RECIPE)

if __name__ == "__main__":
    sys.exit(main())
