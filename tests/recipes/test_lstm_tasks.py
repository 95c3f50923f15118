"""Hochreiter & Schmidhuber's tests, by their own criterion."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.harness import load_recipe
from tests.marks import proved_under

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recipe():
    return load_recipe("lstm_tasks")


@pytest.mark.long
@proved_under("jax")
def test_the_adding_problem_is_solved(recipe, tmp_path):
    """The criterion of the paper, of 20 steps: at most 3 of 2,560 wrong by 0.04, the
    mean error below 0.01."""
    assert recipe.RECIPE.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["adding"]
    assert found["of"] == 2560 and found["wrong"] <= 3 and found["mean_error"] < 0.01


BIASES = {
    "adding": [-3, -6, -3, -6],
    "order": [-2, -4, -2, -4],
    "order_3": [-2, -4, -6, -2, -4, -6],
    "reber": [-1, -2, -3, -1, -2, -3],
}


def test_the_nets_have_the_papers_cells_and_biases(recipe):
    """93, 156, 308 and 276 weights there, where a block's cells share their gates and
    gates see each other."""
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
        gates = keras.ops.convert_to_numpy(bias.value).reshape(3, -1)
        given = gates[2 if task == "reber" else 0]  # output gates, else input gates
        assert not np.delete(gates, 2 if task == "reber" else 0, axis=0).any()
        assert given.tolist() == BIASES[task]
    assert counts == {
        "adding": 12 * (2 + 4 + 1) + 5,
        "order": 12 * (8 + 4 + 1) + 20,
        "order_3": 18 * (8 + 6 + 1) + 56,
        "reber": 18 * (7 + 6 + 1) + 49,
    }


@pytest.mark.once
def test_the_other_tasks_run(recipe, tmp_path):
    argv = ["--set", 'tasks=["order", "order_3", "reber"]', "--set", "sequences=100"]
    argv += ["--epochs", "1", "--output", str(tmp_path)]
    assert recipe.RECIPE.main(argv) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    for task in ("order", "order_3"):  # untrained, it is wrong about nearly all
        assert results[task]["wrong"] > 2000
    assert results["reber"]["test_right"] < 0.5
    assert all(found["solved"] is False for found in results.values())
    assert all(found["sequences"] is None for found in results.values())


def test_the_criteria(recipe):
    errors = np.array([[0.0, 0.03], [0.04, 0.0], [np.nan, 0.0], [0.0399, 0.0399]])
    assert recipe.count_wrong(errors, 0.04) == 2
    possible = np.array([[[True, False, True], [False, True, False]]] * 5)
    outputs = np.array([[[0.4, 0.2, 0.4], [0.1, 0.8, 0.1]]] * 5)
    outputs[1, 0] = [0.5, 0.3, 0.2]  # one that may come is behind one that may not
    outputs[2, 1] = [0.8, 0.1, 0.1]  # on a pad
    outputs[3, 1] = [0.8, 0.1, 0.1]
    outputs[4, 0, 1] = np.nan
    mask = np.ones((5, 2), bool)
    mask[2, 1] = False
    found = recipe.are_right(outputs, possible, mask)
    assert found.tolist() == [True, False, True, False, False]
