"""The recipes of language models come close to the entropy of generated text."""

import json

import pytest

from tests.harness import load_recipe
from tests.marks import long, proved_under
from tests.recipes.few_steps import check_few_steps

# The backend on which a recipe is proved: the models train under each in their tests;
# and how far from the best possible perplexity it may end.
PROVED = {"lstm": "jax", "gru": "tensorflow", "lstmn_lm": "jax"}
NEAR = {"lstm": 1.02, "gru": 1.02, "lstmn_lm": 1.06}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=proved_under(PROVED[name])) for name in PROVED]
)
def test_the_tiny_recipe_learns_the_grammar(name, tmp_path):
    """A model that goes by the last noun, whatever the subject, is 7.4 % off."""
    assert load_recipe(name).main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())["test"]
    assert results["optimum"] * 0.995 < results["perplexity"]
    assert results["perplexity"] < results["optimum"] * NEAR[name]


@pytest.mark.once
@pytest.mark.parametrize("name", ["lstm", long("gru"), "lstmn_lm"])
def test_a_few_steps_lower_the_loss_and_leave_a_preset(name, tmp_path):
    model = check_few_steps(name, tmp_path, "--set", "sentences=100")
    results = json.loads((tmp_path / "results.json").read_text())["test"]
    # Of as many words as it knows, none is more probable than another at first.
    assert 1 < results["perplexity"] < model.backbone.vocabulary_size
    assert len(model.score(["a", "b"])) == 2


@pytest.mark.parametrize("name", PROVED)
def test_every_scale_is_there(name):
    recipe = load_recipe(name).RECIPE
    assert recipe.name == name and set(recipe.scales) == {"tiny", "small", "paper"}
    paper = recipe.scales["paper"]
    cell = name.removesuffix("_lm")
    assert (paper.cell, paper.embedding_dim, paper.hidden_dim) == (cell, 150, 300)
    assert (paper.optimizer.learning_rate, paper.decay) == (0.65, 0.85)
