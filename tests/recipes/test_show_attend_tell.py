"""The captioner's recipe learns to tell what is in scenes."""

import pytest

import zoo
from tests.harness import load_recipe
from zoo.data import draw_formulas
from zoo.presets.card import read_card


@pytest.mark.once
def test_formulas_leave_a_preset_of_their_own(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
    monkeypatch.setattr("zoo.analysis.caption_scores.TESTED", 5)
    monkeypatch.setattr("zoo.analysis.caption_scores.VALID", 5)
    options = ["images=40", "buckets=1", "model.hidden_dim=8", "model.annotation_dim=8"]
    sets = [word for option in options for word in ("--set", option)]
    argv = ["--scale", "formulas", "--epochs", "1", "--output", str(tmp_path), *sets]
    assert load_recipe("show_attend_tell").RECIPE.main(argv) == 0
    assert "val_exact_captions" in (tmp_path / "log.csv").read_text()
    card = read_card(tmp_path / "preset" / "show_attend_tell_formulas")
    assert card.languages == ["zxx"] and card.data[0]["name"] == "formulas"
    assert {score["metric"] for score in card.scores} == {
        *("exact captions", "attention peak", "attention centre", "attention mass")
    }
    assert card.scores[0]["command"].endswith("measure show_attend_tell_formulas")
    [formula] = draw_formulas(1, "test")
    assert isinstance(zoo.load(tmp_path).caption(formula.draw(), beam_size=2), str)
    sets = [*sets, "--from", str(tmp_path), "--set", "model.attention=hard"]
    argv = [*argv[:4], "--output", str(tmp_path / "hard"), *sets]
    assert load_recipe("show_attend_tell").RECIPE.main(argv) == 0
    card = read_card(tmp_path / "hard" / "preset" / "show_attend_tell_formulas")
    assert "--from" in card.recipe and card.description.endswith("_formulas.")
    assert [corpus["name"] for corpus in card.data] == ["formulas"]


@pytest.mark.once
def test_it_starts_from_captioners_that_know_the_words(tmp_path, capsys):
    for start, told in (
        ("birnn", "trains a ShowAttendTell. Received: a BiRNNWords"),
        ("show_attend_tell_formulas", "--from: the preset lacks words of these"),
    ):
        argv = ["--from", start, "--output", str(tmp_path / start)]
        assert load_recipe("show_attend_tell").RECIPE.main(argv) == 2
        assert told in capsys.readouterr().err
