"""Data that Schuster & Paliwal (1997) made up, and what can be learned of it."""

import numpy as np

LEFT, RIGHT = 10, 20

# w_d of y(t) = sum over d of w_d x(t + d), for d = -10 … 19.
_PLACES = np.arange(-LEFT, RIGHT)
WEIGHTS = np.where(
    _PLACES < 0,
    (1 - np.abs(_PLACES) / LEFT) / LEFT,
    (1 - np.abs(_PLACES) / RIGHT) / RIGHT,
)
_VARIANCE = 1 / 12  # of a number that is uniform in (0, 1)


def triangle_sums(count, length, seed):
    """The regression data: windows of noise, weighted by a lopsided triangle.

        y(t) = 1/10 sum_{d=-10..-1} x(t+d) (1 - |d|/10)
             + 1/20 sum_{d=0..19}   x(t+d) (1 - |d|/20)

    with x uniform in (0, 1) (Schuster & Paliwal 1997, section III). The classification
    data are the same with class 1 where y > 0.5.

    The paper has one sequence of 10,000 frames. Here it comes in shorter ones, and
    where the window of y(t) leaves its sequence y(t) is not `inside`.

    Args:
        count: sequences.
        length: frames of each; from 30, so that one window is inside.
        seed: an int, or several.

    Returns:
        `(x, y, inside)`, float32 `(count, length, 1)`, float32 `(count, length)` and
        bool `(count, length)`. What leaves the sequence counts as 0.5 in y.

    Raises:
        ValueError: for sequences shorter than a window.

    Example:
        >>> x, y, inside = triangle_sums(count=2, length=40, seed=1)
        >>> x.shape, y.shape, inside.sum(axis=1).tolist()
        ((2, 40, 1), (2, 40), [11, 11])
    """
    if length < LEFT + RIGHT:
        raise ValueError(
            f"`length` must be at least {LEFT + RIGHT}, that of a window. "
            f"Received: {length}"
        )
    x = np.random.default_rng(seed).uniform(size=(count, length))
    y = best_guess(x)
    steps = np.arange(length)
    inside = (steps >= LEFT) & (steps < length - RIGHT + 1)
    inside = np.tile(inside, (count, 1))
    return x[..., None].astype("float32"), y.astype("float32"), inside


def best_guess(x, first=-LEFT, last=RIGHT - 1):
    """The mean of y(t), given x(t + d) for first <= d <= last alone.

    It is the guess of least squared error. The rest of y is symmetric about its mean,
    so that guess > 0.5 is the class of least error, too.

    Args:
        x: `(count, length)`.
        first, last: the first and the last d that is seen; by default all.

    Returns:
        `(count, length)`. What is not seen, or not there, counts as 0.5.

    Example:
        >>> x = np.random.default_rng(1).uniform(size=(1, 30))
        >>> float(best_guess(x, first=1, last=0)[0, 0].round(4))  # nothing is seen
        0.4875
    """
    padded = np.pad(x, ((0, 0), (LEFT, RIGHT - 1)), constant_values=0.5)
    windows = np.lib.stride_tricks.sliding_window_view(padded, LEFT + RIGHT, axis=1)
    seen = np.where(_seen(first, last), WEIGHTS, 0)
    return windows @ seen + 0.5 * (WEIGHTS.sum() - seen.sum())


def _seen(first, last):
    return (_PLACES >= first) & (_PLACES <= last)


def irreducible_error(first=-LEFT, last=RIGHT - 1):
    """Least mean squared error of what sees x(t + d) for first <= d <= last only.

    What it doesn't see is independent of what it sees: the best guess is the mean, and
    each number that is missing costs its weight squared times 1/12.

    Args:
        first, last: the first and the last d that is seen; `last=0` is a forward net
            without delay, `first=0` a backward one.

    Returns:
        A float; that of nothing seen is the variance of y.

    Example:
        >>> round(irreducible_error(last=0), 6), round(irreducible_error(first=0), 6)
        (0.001286, 0.002375)
    """
    unseen = np.where(_seen(first, last), 0, WEIGHTS)
    return float(np.sum(unseen**2) * _VARIANCE)
