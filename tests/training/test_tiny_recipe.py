"""luong_local at its tiny scale, run once, on shorter sentences and in fewer epochs
than users' runs: what it learns and what it leaves."""

import csv
import json

import pytest

import zoo
from tests.harness import load_recipe
from zoo.data import reversal_pairs
from zoo.training.recipes import translation_run

pytestmark = pytest.mark.once
EPOCHS = 6
ARGUMENTS = ["--scale", "tiny", "--epochs", str(EPOCHS), "--set", "pairs=4000"]


def short_pairs(count, seed):
    """Of up to four words: BLEU, by which the best epoch is chosen, needs four."""
    return reversal_pairs(count, seed, longest=4)


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "new" / "tiny"
    arguments = [*ARGUMENTS, "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation_run, "reversal_pairs", short_pairs)
        assert load_recipe("luong_local").RECIPE.main(arguments) == 0
    return folder


@pytest.fixture(scope="module")
def results(output):
    return json.loads((output / "results.json").read_text())["generated"]


def test_it_learns_to_reverse_sentences(results):
    assert results["exact"] >= 0.95
    assert results["bleu"]["score"] > 95
    assert "tok:13a" in results["bleu"]["signature"]


def test_the_written_preset_has_the_scores_that_were_reported(output, results):
    with pytest.warns(UserWarning, match="has no card.json"):
        preset = zoo.load(output / "preset" / "luong_local")
    sources, targets = short_pairs(200, seed=3)
    texts = preset.translate(sources)
    exact = sum(a == b for a, b in zip(texts, targets, strict=True)) / len(texts)
    assert exact == results["exact"]


def test_the_log_has_a_line_for_each_epoch(output):
    with open(output / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == [str(epoch) for epoch in range(EPOCHS)]
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) / 5
    assert float(rows[-1]["val_perplexity"]) < 1.2 < float(rows[0]["val_perplexity"])
    assert {"val_bleu", "val_bleu_generated", "tokens_per_second"} <= set(rows[0])
