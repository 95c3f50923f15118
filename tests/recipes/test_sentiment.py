"""The sentiment recipe learns an order of words."""

import json

import pytest

from tests.harness import load_recipe
from tests.marks import proved_under
from tests.recipes.few_steps import check_few_steps


@pytest.fixture(scope="module")
def recipe():
    return load_recipe("lstmn_sentiment")


@pytest.mark.long
@proved_under("jax")
def test_the_tiny_recipe_learns_which_negation_counts(recipe, tmp_path):
    """A bag of words stays at one half."""
    assert recipe.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["accuracy"]
    assert found["test"] >= 0.98


@pytest.mark.once
def test_a_few_steps_lower_the_loss_and_leave_a_preset(tmp_path):
    model = check_few_steps("lstmn_sentiment", tmp_path, "--set", "sentences=400")
    assert set(model.classify(["a b", "c"])) <= set(model.backbone.classes)


def test_every_scale_is_there(recipe):
    assert set(recipe.RECIPE.scales) == {"tiny", "small", "paper"}
    paper = recipe.RECIPE.scales["paper"]
    assert (paper.cell, paper.embedding_dim, paper.hidden_dim) == ("lstmn", 300, 168)
    assert (paper.dropout, paper.batch_size) == (0.5, 5)
    assert paper.optimizer.learning_rate == 2e-3
