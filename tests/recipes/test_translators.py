"""Each translator's recipe, at tiny scale, learns to reverse sentences."""

import importlib.util
import json
from pathlib import Path

import keras
import pytest

from zoo.training.recipe import SCALES

ROOT = Path(__file__).parents[2]

# The share of 200 unseen sentences that must come out right, and the backend on which a
# recipe is proved: every model trains under each in tests/models, and a run takes a
# minute. luong_local's is in tests/training/test_recipe.py, under all three.
LEARNED = {"bahdanau": (0.95, "tensorflow"), "seq2seq": (0.85, "jax")}


def load_recipe(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "recipes" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", LEARNED)
def test_the_tiny_recipe_learns(name, tmp_path):
    least, backend = LEARNED[name]
    if keras.backend.backend() != backend:
        pytest.skip(f"this recipe is proved under {backend}")
    module = load_recipe(name)
    assert module.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())["generated"]
    assert results["exact"] >= least


@pytest.mark.parametrize("name", LEARNED)
def test_every_scale_is_there(name):
    recipe = load_recipe(name).RECIPE
    assert recipe.name == name
    assert set(recipe.scales) == set(SCALES)
    # The paper's sizes are the class's own.
    assert recipe.scales["paper"].model == {}
