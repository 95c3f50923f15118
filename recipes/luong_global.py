"""Luong et al. 2015, global attention, general score: a variant of luong.py."""

from pathlib import Path

from zoo.training import load_recipe

RECIPE = load_recipe(Path(__file__).with_name("luong.py")).recipe(__file__)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
