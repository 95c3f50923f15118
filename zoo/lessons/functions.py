"""The functions that the answers of the exercises are written with, in NumPy."""

import numpy as np


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """A distribution over an axis."""
    x = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return x / np.sum(x, axis=axis, keepdims=True)


def chain(net: np.ndarray, U: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The states tanh(net_t + h_{t-1} U) of a plain recurrent net, `(T, n)`."""
    states = [first]
    for step in net:
        states.append(np.tanh(step + states[-1] @ U))
    return np.stack(states[1:])


def masked(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Weights of the places where `mask` is true."""
    return softmax(np.where(mask, scores, -1e9))


def lower(scores: np.ndarray, k: int = 0) -> np.ndarray:
    """True up to the diagonal of `scores`, or the k-th one above it."""
    return np.tri(len(scores), k=k, dtype=bool)
