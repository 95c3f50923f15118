"""The paper's claim, on its data: what one direction cannot know, two do."""

import csv
import json

import numpy as np
import pytest

from tests.harness import load_recipe
from tests.marks import proved_under


@pytest.fixture(scope="module")
def recipe():
    return load_recipe("birnn_tasks")


# === Data ===
def test_the_sums_are_the_papers(recipe):
    """By the formula, one frame at a time."""
    x, y, inside = recipe.triangle_sums(count=2, length=45, seed=3)
    assert x.shape == (2, 45, 1) and y.shape == inside.shape == (2, 45)
    for row in range(2):
        for t in range(45):
            assert inside[row, t] == (t - 10 >= 0 and t + 19 < 45)
            if inside[row, t]:
                left = sum(x[row, t + d, 0] * (1 - abs(d) / 10) for d in range(-10, 0))
                right = sum(x[row, t + d, 0] * (1 - d / 20) for d in range(20))
                assert y[row, t] == pytest.approx(left / 10 + right / 20, rel=1e-5)


def test_mean_variance_and_classes_are_the_papers(recipe):
    _, y, inside = recipe.triangle_sums(count=3000, length=149, seed=1)
    y = y[inside]
    assert y.size == 360_000  # of which about one in 15 is independent
    assert recipe.WEIGHTS.sum() / 2 == pytest.approx(0.4875)
    assert y.mean() == pytest.approx(0.4875, abs=0.002)
    assert recipe.irreducible_error(first=1, last=0) == pytest.approx(
        0.003870, abs=5e-7
    )
    assert y.var() == pytest.approx(0.003870, rel=0.03)
    assert (y <= 0.5).mean() == pytest.approx(0.587, abs=0.01)


@pytest.mark.parametrize(
    ("seen", "limit"),
    [
        ({"last": 0}, 0.001286),
        ({"first": 0}, 0.002375),
        ({"last": 5}, None),
        ({"first": -4}, None),
        ({}, 0.0),
    ],
)
def test_no_linear_guess_is_better_than_the_limit(recipe, seen, limit):
    """The best linear guess of what is seen, by least squares on many windows: the
    window's numbers are independent, so that none is better."""
    found = recipe.irreducible_error(**seen)
    if limit is not None:
        assert found == pytest.approx(limit, abs=5e-7)
    x, y, inside = recipe.triangle_sums(count=300, length=129, seed=5)
    windows = np.lib.stride_tricks.sliding_window_view(x[..., 0], 30, axis=1)
    windows = windows.reshape(-1, 30)
    first, last = seen.get("first", -10), seen.get("last", 19)
    known = np.c_[windows[:, first + 10 : last + 11], np.ones(len(windows))]
    target = y[inside]
    weights = np.linalg.lstsq(known, target, rcond=None)[0]
    guess = known @ weights
    error = np.mean((guess - target) ** 2)
    assert error == pytest.approx(found, rel=0.04, abs=1e-10)
    # `best_guess` is that guess, but for the noise of its fitted weights.
    difference = recipe.best_guess(x[..., 0], **seen)[inside] - guess
    assert np.mean(difference**2) < 0.01 * found + 1e-10


def test_a_seed_repeats(recipe):
    one, same, other = (recipe.triangle_sums(1, 30, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


# === Nets ===


@pytest.mark.long
@proved_under("jax")
def test_one_direction_cannot_pass_its_limit_and_two_can(recipe, tmp_path):
    assert recipe.RECIPE.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
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
def test_a_few_steps_lower_every_nets_error(recipe, tmp_path):
    few = ["--set", "sequences=60", "--set", "test_sequences=40", "--epochs", "3"]
    argv = ["--scale", "tiny", "--output", str(tmp_path), *few]
    assert recipe.RECIPE.main(argv) == 0
    logs = sorted(tmp_path.rglob("log.csv"))
    assert len(logs) >= 6  # three nets or more, for two tasks
    for path in logs:
        with open(path) as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]
        assert losses[-1] < losses[0], path


def test_merge_is_the_papers(recipe):
    merge = recipe._merge
    one, other = np.array([[0.2]]), np.array([[0.6]])
    np.testing.assert_allclose(merge(False, one, other), [[0.4]])
    p, q = np.array([[0.9, 0.1]]), np.array([[0.2, 0.8]])
    found = np.exp(merge(True, np.log(p) + 3.0, np.log(q)))
    np.testing.assert_allclose(found / found.sum(), [[0.6, 0.4]])
