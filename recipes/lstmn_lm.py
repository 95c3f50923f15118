"""A word language model by LSTMN: a variant of language_models.py."""

from pathlib import Path

from zoo.training import load_recipe

RECIPE = load_recipe(Path(__file__).with_name("language_models.py")).recipe(__file__)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
