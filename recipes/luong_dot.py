"""Luong et al. 2015, global attention, dot score: a variant of luong.py."""

from zoo.training import load_recipe

RECIPE = load_recipe("luong.py", beside=__file__).recipe(__file__)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
