"""The paper's claim, on its data: what one direction cannot know, two do."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.harness import load_recipe
from tests.marks import proved_under

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@proved_under("jax")
def test_one_direction_cannot_pass_its_limit_and_two_can(tmp_path):
    assert (
        load_recipe("birnn_tasks").RECIPE.main(
            ["--scale", "tiny", "--output", str(tmp_path)]
        )
        == 0
    )
    results = json.loads((tmp_path / "results.json").read_text())
    limits = results["limits"]
    assert limits["forward"] == pytest.approx(0.001286, abs=5e-7)
    assert limits["backward"] == pytest.approx(0.002375, abs=5e-7)

    # Of 200,000 test frames about one in 15 is independent: their mean squared error
    # has a standard deviation of 1.2 %.
    found = {name: net["error"] for name, net in results["regression"].items()}
    for name, limit in (("for_0", "forward"), ("back_0", "backward")):
        assert 0.95 * limits[limit] <= found[name] <= 1.1 * limits[limit]
        # On these very frames, the best guess of what the net can see has less.
        assert found[name] > results["regression"][name]["limit"]
    assert found["brnn"] < 0.1 * limits["forward"]
    assert found["brnn"] < found["merge_0"] < found["for_0"] < found["back_0"]

    found = {name: net["error"] for name, net in results["classification"].items()}
    for name in ("for_0", "back_0"):
        assert found[name] >= 0.95 * results["classification"][name]["limit"]
    assert found["brnn"] < 0.5 * found["for_0"]
    assert found["brnn"] < found["merge_0"] < found["for_0"] < found["back_0"]


@pytest.mark.once
def test_a_few_steps_lower_every_nets_error(tmp_path):
    few = ["--set", "sequences=60", "--set", "test_sequences=40", "--epochs", "3"]
    argv = ["--scale", "tiny", "--output", str(tmp_path), *few]
    assert load_recipe("birnn_tasks").RECIPE.main(argv) == 0
    logs = sorted(tmp_path.rglob("log.csv"))
    assert len(logs) >= 6  # three nets or more, for two tasks
    for path in logs:
        with open(path) as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]
        assert losses[-1] < losses[0], path


def test_merge_is_the_papers():
    merge = load_recipe("birnn_tasks")._merge
    one, other = np.array([[0.2]]), np.array([[0.6]])
    np.testing.assert_allclose(merge(False, one, other), [[0.4]])
    p, q = np.array([[0.9, 0.1]]), np.array([[0.2, 0.8]])
    found = np.exp(merge(True, np.log(p) + 3.0, np.log(q)))
    np.testing.assert_allclose(found / found.sum(), [[0.6, 0.4]])
