"""A few padded shapes for sequences of many lengths."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

# A padded target position costs about as much as this many padded source positions: the
# decoder and the softmax take most of a step.
TARGET_COST = 2.5


def choose_buckets(
    sizes: Sequence[tuple[int, int]] | np.ndarray, count: int = 14
) -> list[tuple[int, int]]:
    """Chooses padded shapes for a set of sentence pairs.

    Starts from every shape that occurs and joins the two whose union pads least, where
    a target position counts as `TARGET_COST` source positions, until `count` are left.

    Args:
        sizes: list of (source length, target length), or an array `(N, 2)`.
        count: number of shapes; each costs one compilation.

    Returns:
        Sorted list of (source length, target length); every pair fits into one.

    Example:
        >>> choose_buckets([(3, 4), (3, 5), (9, 9)], count=2)
        [(3, 5), (9, 9)]
    """
    sizes = np.asarray(sizes)
    if not len(sizes):
        raise ValueError("`sizes` must not be empty. Received: an empty list")
    multiple = 1  # to which lengths are rounded up
    while True:
        shapes, _, numbers = distinct(-(-sizes // multiple) * multiple)
        if len(shapes) <= 2000:  # joining them takes cubic time
            break
        multiple *= 2
    shapes, numbers = shapes.astype("float64"), numbers.astype("float64")
    prices = np.array([1.0, TARGET_COST])
    gone = np.zeros(len(shapes), bool)

    def costs(row):
        """The padding that joining shape `row` with each other shape costs."""
        union = np.maximum(shapes[row], shapes)
        cost = numbers[row] * ((union - shapes[row]) @ prices)
        cost += numbers * ((union - shapes) @ prices)
        cost[gone] = np.inf
        cost[row] = np.inf
        return cost

    table = np.stack([costs(row) for row in range(len(shapes))])
    for _ in range(len(shapes) - count):
        one, other = np.unravel_index(table.argmin(), table.shape)
        shapes[one] = np.maximum(shapes[one], shapes[other])
        numbers[one] += numbers[other]
        gone[other] = True
        table[other] = table[:, other] = np.inf
        table[one] = table[:, one] = costs(one)
    return sorted((int(s), int(t)) for s, t in shapes[~gone])


def distinct(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the D distinct rows of ints `(N, 2)`, sorted, as `(D, 2)`.

    Further, which of them each of the N is, `(N,)`, and how often each occurs, `(D,)`.
    """
    unit = int(sizes[:, 1].max()) + 1
    cells = sizes[:, 0].astype("int64") * unit + sizes[:, 1]
    cells, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.stack(np.divmod(cells, unit), axis=1), places, counts


def group_by_length(
    lengths: Sequence[int], count: int = 8
) -> list[tuple[int, list[int]]]:
    """Groups sequences by length, for a few padded shapes.

    Args:
        lengths: the lengths.
        count: maximum number of groups; see `choose_buckets`.

    Returns:
        List of (padded length, rows): the places in `lengths` of the sequences that
        fit into this length and no shorter one.

    Example:
        >>> group_by_length([3, 9, 2, 10], count=2)
        [(3, [0, 2]), (10, [1, 3])]
    """
    shapes = [length for length, _ in choose_buckets([(n, 1) for n in lengths], count)]
    fits = np.searchsorted(shapes, lengths)  # the first that is as long
    return [(s, np.flatnonzero(fits == n).tolist()) for n, s in enumerate(shapes)]


def lead_with_unlike(order: list[Any]) -> list[Any]:
    """Moves two batches to the front whose shapes differ wherever any two do.

    Keras's TensorFlow trainer learns from the first two which sizes vary.
    """
    places: dict[Any, int] = {}
    for place, (bucket, *_) in enumerate(order):
        places.setdefault(bucket, place)
    sides = range(len(next(iter(places))))
    varies = [len({bucket[side] for bucket in places}) > 1 for side in sides]
    for one, other in itertools.combinations(places, 2):
        if all(a != b or not v for a, b, v in zip(one, other, varies, strict=True)):
            lead = sorted((places[one], places[other]))
            rest = [batch for place, batch in enumerate(order) if place not in lead]
            return [order[place] for place in lead] + rest
    return order
