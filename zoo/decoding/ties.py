"""The k largest values, with ties in order of index on every backend."""

import keras
from keras import ops

from zoo.backend import Tensor


def top_k(values: Tensor, k: int, floor: float) -> tuple[Tensor, Tensor]:
    """`ops.top_k` in which the lower index comes first among equal values.

    TensorFlow and JAX guarantee that; torch does not.

    Args:
        values: float tensor `(..., n)`.
        k: at most n.
        floor: the order of values that are not above it is irrelevant.

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
    # One more value shows whether the last one has an equal.
    largest, indices = torch.topk(values, min(k + 1, size))
    equal = (largest[..., 1:] == largest[..., :-1]) & (largest[..., 1:] > floor)
    if not equal.any():
        return largest[..., :k], indices[..., :k]
    # Take some more and sort them, unless there may be yet more equals.
    largest, indices = torch.topk(values, min(4 * k, size))
    missing = (largest[..., -1] == largest[..., k - 1]) & (largest[..., -1] > floor)
    if 4 * k < size and missing.any():
        largest, indices = values.sort(dim=-1, descending=True, stable=True)
        return largest[..., :k], indices[..., :k]
    order = indices.argsort(-1)
    largest, indices = largest.gather(-1, order), indices.gather(-1, order)
    order = largest.argsort(dim=-1, descending=True, stable=True)[..., :k]
    return largest.gather(-1, order), indices.gather(-1, order)
