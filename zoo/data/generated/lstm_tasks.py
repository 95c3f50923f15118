"""The artificial tasks of Hochreiter & Schmidhuber (1997), generated from a seed.

All sequences are padded to one width with zeros and come with a mask. A target for the
end of a sequence belongs to its last real step.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Inputs = dict[str, np.ndarray]
REBER = "BTPSXVE"
ORDER = "EBabcdXY"

# State of the Reber grammar -> symbol -> next state; both symbols are equally likely.
_GRAPH = {
    1: {"T": 2, "P": 3},
    2: {"S": 2, "X": 4},
    3: {"T": 3, "V": 5},
    4: {"X": 3, "S": 6},
    5: {"P": 4, "V": 6},
}
_END = 6


def adding(count: int, length: int, seed: Any) -> tuple[Inputs, np.ndarray]:
    """Generates experiment 4, the adding problem (section 5.4).

    A step is a value, uniform in [-1, 1], and a marker: 1 on two steps, -1 on the first
    and last one, otherwise 0. One of the first ten steps is marked, then one of the
    first `length / 2 - 1` unmarked ones; if the very first is marked, its value is 0.
    There are `length` to `length + length / 10` steps. The target is
    0.5 + (X1 + X2) / 4, for the marked values X1 and X2.

    Args:
        count: number of sequences.
        length: T of the paper, at least 20.
        seed: whatever `numpy.random.default_rng` accepts.

    Returns:
        `({"inputs", "mask"}, targets)`: float32 `(count, W, 2)`, bool `(count, W)` and
        float32 `(count, 1)`; W is `length + length // 10`.

    Raises:
        ValueError: for a length below 20.
    """
    rng, rows = np.random.default_rng(seed), np.arange(count)
    lengths, mask = _lengths(rng, count, length)
    values = rng.uniform(-1, 1, mask.shape)
    first = rng.integers(0, 10, count)
    second = rng.integers(0, length // 2 - 1, count)
    second += second >= first  # counts unmarked steps only
    marked = np.zeros(mask.shape, bool)
    marked[rows, first] = marked[rows, second] = True
    values[:, 0] = np.where(marked[:, 0], 0, values[:, 0])
    markers = np.zeros(mask.shape)
    markers[:, 0] = markers[rows, lengths - 1] = -1
    markers[marked] = 1
    inputs = np.stack([values, markers], -1) * mask[..., None]
    targets = 0.5 + (values * marked).sum(1, keepdims=True) / 4
    return {"inputs": inputs.astype("float32"), "mask": mask}, targets.astype("float32")


def temporal_order(
    count: int, length: int, seed: Any, relevant: int = 2
) -> tuple[Inputs, np.ndarray]:
    """Generates experiment 6, temporal order (section 5.6).

    A sequence is one-hot symbols in the order of `ORDER`: E first, B last, and between
    them random ones of a, b, c and d, except for X or Y in two (6a) or three (6b)
    places. The class is their sequence: XX, XY, YX, YY, or XXX to YYY. At `length` 100
    there are 100 to 110 steps, and the places lie in 10-20 and 50-60, or in 10-20,
    33-43 and 66-76; other lengths are in proportion.

    Args:
        count: number of sequences.
        length: T of the paper, at least 20.
        seed: whatever `numpy.random.default_rng` accepts.
        relevant: number of relevant places, 2 or 3.

    Returns:
        `({"inputs", "mask"}, classes)`: float32 `(count, W, 8)`, bool `(count, W)` and
        int32 `(count,)`.

    Raises:
        ValueError: for a length below 20, or another number of places.
    """
    if relevant not in (2, 3):
        raise ValueError(f"`relevant` must be 2 or 3. Received: relevant={relevant!r}")
    rng, rows = np.random.default_rng(seed), np.arange(count)
    lengths, mask = _lengths(rng, count, length)
    symbols = rng.integers(2, 6, mask.shape)
    symbols[:, 0], symbols[rows, lengths - 1] = ORDER.index("E"), ORDER.index("B")
    classes = np.zeros(count, "int32")
    for start in (0.1, 0.5) if relevant == 2 else (0.1, 0.33, 0.66):
        low = round(start * length)
        place = rng.integers(low, low + length // 10, count, endpoint=True)
        is_y = rng.integers(0, 2, count)
        symbols[rows, place] = ORDER.index("X") + is_y
        classes = 2 * classes + is_y.astype("int32")
    return {"inputs": _one_hot(symbols, len(ORDER), mask), "mask": mask}, classes


def reber_strings(count: int, seed: Any) -> list[str]:
    """Generates distinct strings of the embedded Reber grammar (section 5.1).

    A string is B, then T or P, a string of the Reber grammar, the same T or P, and E.
    """
    rng = np.random.default_rng(seed)
    strings: dict[str, bool] = {}  # in order
    while len(strings) < count:
        kind = "TP"[rng.integers(2)]
        strings[f"B{kind}{_reber_string(rng)}{kind}E"] = True
    return list(strings)


def reber_arrays(strings: Sequence[str]) -> tuple[Inputs, np.ndarray, np.ndarray]:
    """Encodes strings of the embedded Reber grammar for next-symbol prediction.

    Args:
        strings: N strings.

    Returns:
        `({"inputs", "mask"}, labels, possible)`: float32 `(N, W, 7)`, all symbols but
        the last, one-hot in the order of `REBER`; bool `(N, W)`; int32 `(N, W)`, the
        next symbols; and bool `(N, W, 7)`, all symbols that may come next.
    """
    width = max(map(len, strings)) - 1
    symbols = np.zeros((len(strings), width), "int32")
    labels, mask = symbols.copy(), np.zeros(symbols.shape, bool)
    possible = np.zeros((*symbols.shape, len(REBER)), bool)
    for row, text in enumerate(strings):
        ids = [REBER.index(symbol) for symbol in text]
        steps = len(ids) - 1
        symbols[row, :steps], labels[row, :steps] = ids[:-1], ids[1:]
        mask[row, :steps] = True
        for step, allowed in enumerate(_next_symbols(text)):
            possible[row, step, [REBER.index(symbol) for symbol in allowed]] = True
    x = {"inputs": _one_hot(symbols, len(REBER), mask), "mask": mask}
    return x, labels, possible


def _reber_string(rng):
    state, text = 1, "B"
    while state != _END:
        symbol = sorted(_GRAPH[state])[rng.integers(2)]
        text, state = text + symbol, _GRAPH[state][symbol]
    return text + "E"


def _next_symbols(text):
    """Returns the symbols that may follow each one but the last."""
    symbols, state = ["TP", "B"], 1
    for symbol in text[3:-3]:
        symbols.append("".join(_GRAPH[state]))
        state = _GRAPH[state][symbol]
    return [*symbols, "E", text[1], "E"]


def _lengths(rng, count, length):
    """Returns the length of each sequence, and the mask."""
    if length < 20:
        raise ValueError(f"`length` must be at least 20. Received: length={length!r}")
    longest = length + length // 10
    lengths = rng.integers(length, longest, count, endpoint=True)
    return lengths, np.arange(longest)[None] < lengths[:, None]


def _one_hot(symbols, size, mask):
    return (np.eye(size)[symbols] * mask[..., None]).astype("float32")
