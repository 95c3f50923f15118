"""The sentiment recipe learns an order of words."""

import importlib.util
import json
from pathlib import Path

import keras
import pytest

from zoo.training.recipe import SCALES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recipe():
    path = ROOT / "recipes" / "lstmn_sentiment.py"
    spec = importlib.util.spec_from_file_location("lstmn_sentiment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tiny_recipe_learns_which_negation_counts(recipe, tmp_path):
    """A bag of words stays at one half."""
    if keras.backend.backend() != "jax":
        pytest.skip("this recipe is proved under jax")
    assert recipe.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["accuracy"]
    assert found["test"] >= 0.98


def test_every_scale_is_there(recipe):
    assert set(recipe.RECIPE.scales) == set(SCALES)
    paper = recipe.RECIPE.scales["paper"]
    assert (paper.cell, paper.embedding_dim, paper.hidden_dim) == ("lstmn", 300, 168)
    assert (paper.dropout, paper.batch_size) == (0.5, 5)
    assert paper.optimizer.learning_rate == 2e-3
