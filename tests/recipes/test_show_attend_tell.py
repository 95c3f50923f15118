"""The captioner's recipe learns to tell what is in scenes."""

import json

import pytest

from tests.harness import load_recipe
from tests.marks import long, proved_under
from tests.recipes.few_steps import check_few_steps
from zoo.data import draw_scenes


@pytest.mark.long
@proved_under("jax")
def test_the_tiny_recipe_learns(tmp_path):
    recipe = load_recipe("show_attend_tell")
    assert recipe.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["scenes"]
    assert found["true captions"] >= 20
    assert found["attention peak"] > 2 * found["attention mass by chance"]


@pytest.mark.once
@pytest.mark.parametrize("attention", ["soft", long("hard")])
def test_a_few_steps_lower_the_loss_and_leave_a_preset(
    attention, tmp_path, monkeypatch
):
    monkeypatch.setattr("zoo.run.captions.TESTED", 10)
    monkeypatch.setattr("zoo.run.captions.VALID", 10)
    options = ["images=200", "model.hidden_dim=16", "model.annotation_dim=8"]
    options += [f"model.attention={attention}"]
    sets = [word for option in options for word in ("--set", option)]
    loss = "loss" if attention == "soft" else None
    model = check_few_steps("show_attend_tell", tmp_path, *sets, loss=loss)
    [scene] = draw_scenes(1, "test")
    assert isinstance(model.caption(scene.draw(), beam_size=2), str)


def test_every_scale_is_there():
    recipe = load_recipe("show_attend_tell").RECIPE
    assert set(recipe.scales) == {"tiny", "small", "formulas", "paper"}
    assert recipe.scales["paper"].model == {"dropout": 0.5}
    assert recipe.scales["small"].model["attention"] == "soft"
