"""Hochreiter & Schmidhuber's tests, by their own criterion."""

import json
from pathlib import Path

import keras
import pytest

from tests.harness import load_recipe, proved_under

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recipe():
    return load_recipe("lstm_tasks")


@proved_under("jax")
def test_the_adding_problem_is_solved(recipe, tmp_path):
    """The criterion of the paper, of 20 steps: at most 3 of 2,560 wrong by 0.04, the
    mean error below 0.01."""
    assert recipe.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["adding"]
    assert found["of"] == 2560 and found["wrong"] <= 3 and found["mean_error"] < 0.01


def test_the_nets_are_the_papers(recipe):
    """By size: 93, 156, 308 and 276 weights there, where the gates see each other."""
    settings = recipe.RECIPE.scales["paper"]
    sizes = {"adding": (2, 1), "order": (8, 4), "order_3": (8, 8), "reber": (7, 7)}
    assert set(settings.tasks) == set(sizes)
    counts = {}
    for task, (inputs, outputs) in sizes.items():
        model = recipe.make_model(settings, task, inputs, outputs)
        counts[task] = model.count_params()
        bias = next(
            v for v in model.trainable_variables if v.path.endswith("lstm_0/bias")
        )
        assert keras.ops.convert_to_numpy(bias.value).min() < -2.9, bias.path
    assert counts == {
        "adding": 12 * (2 + 4 + 1) + 5,
        "order": 12 * (8 + 4 + 1) + 20,
        "order_3": 18 * (8 + 6 + 1) + 56,
        "reber": 18 * (7 + 6 + 1) + 49,
    }


def test_other_tasks_are_refused(recipe, tmp_path, capsys):
    argv = ["--output", str(tmp_path), "--set", 'tasks=["addition"]']
    assert recipe.main(argv) == 2
    assert "`tasks` must be of ['adding'" in capsys.readouterr().err
