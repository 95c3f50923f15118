import numpy as np
import pytest

from zoo.data.generated.artificial import (
    WEIGHTS,
    best_guess,
    irreducible_error,
    triangle_sums,
)

pytestmark = pytest.mark.backend_free


def test_the_sums_are_the_papers():
    """By the formula, one frame at a time."""
    x, y, inside = triangle_sums(count=2, length=45, seed=3)
    assert x.shape == (2, 45, 1) and y.shape == inside.shape == (2, 45)
    for row in range(2):
        for t in range(45):
            assert inside[row, t] == (t - 10 >= 0 and t + 19 < 45)
            if inside[row, t]:
                left = sum(x[row, t + d, 0] * (1 - abs(d) / 10) for d in range(-10, 0))
                right = sum(x[row, t + d, 0] * (1 - d / 20) for d in range(20))
                assert y[row, t] == pytest.approx(left / 10 + right / 20, rel=1e-5)


def test_mean_variance_and_classes_are_the_papers():
    _, y, inside = triangle_sums(count=3000, length=149, seed=1)
    y = y[inside]
    assert y.size == 360_000  # of which about one in 15 is independent
    assert WEIGHTS.sum() / 2 == pytest.approx(0.4875)
    assert y.mean() == pytest.approx(0.4875, abs=0.002)
    assert irreducible_error(first=1, last=0) == pytest.approx(0.003870, abs=5e-7)
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
def test_no_linear_guess_is_better_than_the_limit(seen, limit):
    """The best linear guess of what is seen, by least squares on many windows: the
    window's numbers are independent, so that none is better."""
    found = irreducible_error(**seen)
    if limit is not None:
        assert found == pytest.approx(limit, abs=5e-7)
    x, y, inside = triangle_sums(count=300, length=129, seed=5)
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
    difference = best_guess(x[..., 0], **seen)[inside] - guess
    assert np.mean(difference**2) < 0.01 * found + 1e-10


def test_a_seed_repeats_and_short_sequences_are_refused():
    one, same, other = (triangle_sums(1, 30, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    with pytest.raises(ValueError, match="at least 30.*Received: 29"):
        triangle_sums(1, 29, 1)
