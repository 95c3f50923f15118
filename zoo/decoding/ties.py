"""The k largest values, the first of equals first, on every backend."""

import keras
from keras import ops


def top_k(values, k, floor):
    """`ops.top_k` in which the lower index comes first where values are equal.

    TensorFlow's and JAX's are that; torch's takes any of equals.

    Args:
        values: float tensor `(..., n)`.
        k: int, at most n.
        floor: where values are not above it their order does not matter.

    Returns:
        `(values, indices)`, each `(..., k)`, largest first.
    """
    if keras.backend.backend() != "torch":
        return ops.top_k(values, k)
    import torch

    if k == 1:  # `argmax` gives the first of equals
        indices = values.argmax(-1, keepdim=True)
        return values.gather(-1, indices), indices
    size = values.shape[-1]
    # One value more shows whether the last one that is taken has an equal.
    found, indices = torch.topk(values, min(k + 1, size))
    equal = (found[..., 1:] == found[..., :-1]) & (found[..., 1:] > floor)
    if not equal.any():
        return found[..., :k], indices[..., :k]
    # Some more, put in order, unless equals are still missing behind them.
    found, indices = torch.topk(values, min(4 * k, size))
    missing = (found[..., -1] == found[..., k - 1]) & (found[..., -1] > floor)
    if 4 * k < size and missing.any():
        found, indices = values.sort(dim=-1, descending=True, stable=True)
        return found[..., :k], indices[..., :k]
    order = indices.argsort(-1)
    found, indices = found.gather(-1, order), indices.gather(-1, order)
    order = found.argsort(dim=-1, descending=True, stable=True)[..., :k]
    return found.gather(-1, order), indices.gather(-1, order)
