"""The artificial data of Schuster & Paliwal (1997), and their optimal error."""

from collections.abc import Sequence

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


def triangle_sums(
    count: int, length: int, seed: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generates the regression data: noise weighted by an asymmetric triangle.

        y(t) = 1/10 sum_{d=-10..-1} x(t+d) (1 - |d|/10)
             + 1/20 sum_{d=0..19}   x(t+d) (1 - |d|/20)

    with x uniform in (0, 1) (Schuster & Paliwal 1997, section III). The classification
    data are the same, with class 1 where y > 0.5.

    The paper has one sequence of 10,000 frames; here there are many shorter ones, and
    `inside` marks the frames whose window lies within their sequence.

    Args:
        count: number of sequences.
        length: frames of each, at least 30, so that one window is inside.
        seed: one or more integers.

    Returns:
        `(x, y, inside)`: float32 `(count, length, 1)`, float32 `(count, length)` and
        bool `(count, length)`. Frames beyond the sequence count as 0.5 in y.

    Raises:
        ValueError: if `length` is shorter than a window.

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


def best_guess(x: np.ndarray, first: int = -LEFT, last: int = RIGHT - 1) -> np.ndarray:
    """Computes the mean of y(t) given only x(t + d) for first <= d <= last.

    This is the guess of least squared error. Since the rest of y is symmetric about its
    mean, guess > 0.5 is also the class of least error.

    Args:
        x: inputs `(count, length)`.
        first: the first visible d.
        last: the last visible d.

    Returns:
        `(count, length)`. Invisible or missing frames count as 0.5.
    """
    padded = np.pad(x, ((0, 0), (LEFT, RIGHT - 1)), constant_values=0.5)
    windows = np.lib.stride_tricks.sliding_window_view(padded, LEFT + RIGHT, axis=1)
    seen = np.where(_seen(first, last), WEIGHTS, 0)
    return windows @ seen + 0.5 * (WEIGHTS.sum() - seen.sum())


def _seen(first, last):
    return (_PLACES >= first) & (_PLACES <= last)


def irreducible_error(first: int = -LEFT, last: int = RIGHT - 1) -> float:
    """Computes the least mean squared error given x(t + d) for first <= d <= last.

    Invisible frames are independent of visible ones, so the best guess is the mean, and
    each invisible frame costs its squared weight times 1/12.

    `first` is 0 for a backward net, `last` 0 for a forward net without delay; with
    nothing visible the error is the variance of y.
    """
    unseen = np.where(_seen(first, last), 0, WEIGHTS)
    return float(np.sum(unseen**2) * _VARIANCE)
