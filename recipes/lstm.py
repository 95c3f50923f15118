"""A word language model by LSTM: a variant of language_models.py."""

from zoo.training import load_recipe

RECIPE = load_recipe("language_models.py", beside=__file__).recipe(__file__)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
