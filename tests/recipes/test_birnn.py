"""The tagger's recipe learns a grammar that needs both sides of a word."""

import dataclasses
import json

import h5py
import pytest

import zoo
from tests.harness import load_recipe
from zoo.data.generated.toy_text import toy_sentences
from zoo.presets.card import read_card


@pytest.mark.once  # trained to its criterion, as luong_local is
def test_the_tiny_recipe_learns_and_its_preset_tags(tmp_path):
    recipe = load_recipe("birnn")

    def work(run):  # a card too, which is made for the treebank alone
        results = recipe._run(run)
        with pytest.warns(UserWarning, match="has no card.json"):
            tagger = zoo.load(run.preset)
        recipe._write_card(run, tagger, results)
        return results

    made = dataclasses.replace(recipe.RECIPE, train=work)
    assert made.main(["--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["test"]["accuracy"] >= 0.98
    folder = tmp_path / "preset" / "birnn"
    tagger = zoo.load(folder)
    with h5py.File(folder / "model.weights.h5") as file:
        assert "optimizer" not in file and "birnn" in file
    card = read_card(folder)
    assert card.architecture == "BiRNNTagger" and card.task == "tag"
    assert card.sizes["parameters"] == tagger.count_params()
    assert card.recipe.endswith("zoo train birnn --scale tiny --seed 1")
    accuracy = results["test"]["accuracy"]
    assert card.scores[0]["value"] == round(100 * accuracy, 4)
    # As scored: with the weights as they are stored, on other sentences.
    test = toy_sentences(500, (1, 2))
    found = tagger.tag(test.sentences)
    pairs = [
        (tag, wanted)
        for row, tags in zip(found, test.tags, strict=True)
        for (_, tag), wanted in zip(row, tags, strict=True)
    ]
    right = sum(tag == wanted for tag, wanted in pairs)
    assert right / len(pairs) == accuracy
