"""The captioner's recipe learns to tell what is in scenes."""

import dataclasses
import json

import pytest

import zoo
from tests.harness import load_recipe
from tests.marks import long, proved_under
from tests.recipes.few_steps import check_few_steps
from zoo.data import draw_formulas, draw_scenes
from zoo.presets import find
from zoo.presets.card import read_card


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
    monkeypatch.setattr("zoo.analysis.caption_scores.TESTED", 10)
    monkeypatch.setattr("zoo.analysis.caption_scores.VALID", 10)
    options = ["images=200", "model.hidden_dim=16", "model.annotation_dim=8"]
    options += [f"model.attention={attention}", "model.doubly_stochastic=0.01"]
    sets = [word for option in options for word in ("--set", option)]
    loss = "loss" if attention == "soft" else None
    model = check_few_steps("show_attend_tell", tmp_path, *sets, loss=loss)
    [scene] = draw_scenes(1, "test")
    assert isinstance(model.caption(scene.draw(), beam_size=2), str)


@pytest.mark.once
def test_formulas_leave_a_preset_of_their_own(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
    monkeypatch.setattr("zoo.analysis.caption_scores.TESTED", 5)
    monkeypatch.setattr("zoo.analysis.caption_scores.VALID", 5)
    options = ["images=40", "buckets=1", "model.hidden_dim=8", "model.annotation_dim=8"]
    sets = [word for option in options for word in ("--set", option)]
    argv = ["--scale", "formulas", "--epochs", "1", "--output", str(tmp_path), *sets]
    assert load_recipe("show_attend_tell").main(argv) == 0
    assert "val_exact_captions" in (tmp_path / "log.csv").read_text()
    card = read_card(tmp_path / "preset" / "show_attend_tell_formulas")
    assert card.languages == ["zxx"] and card.data[0]["name"] == "formulas"
    assert {score["metric"] for score in card.scores} == {
        *("exact captions", "attention peak", "attention centre", "attention mass"),
    }
    assert card.scores[0]["command"].endswith("measure show_attend_tell_formulas")
    [formula] = draw_formulas(1, "test")
    assert isinstance(zoo.load(tmp_path).caption(formula.draw(), beam_size=2), str)


@pytest.mark.backend_free
def test_the_bundled_cards_say_what_the_recipe_says():
    recipe = load_recipe("show_attend_tell").RECIPE
    cards = {"show_attend_tell": recipe.card}
    for scale, change in recipe.extra_presets.items():
        cards[f"show_attend_tell_{scale}"] = change(recipe.card)
    for name, told in cards.items():
        card = read_card(find(name)).to_dict()
        assert told.items() <= card.items(), name


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "photographs"}, "`?data`? must be one of"),
        ({"images": 0}, "`images` must be at least 1"),
        ({"epochs": 0}, "`epochs` must be at least 1"),
    ],
)
def test_bad_choices(changes, message):
    settings = load_recipe("show_attend_tell").RECIPE.scales["tiny"]
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(settings, **changes)
