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
    # One value more shows whether the last one that is taken has an equal.
    found, indices = torch.topk(values, min(k + 1, values.shape[-1]))
    equal = (found[..., 1:] == found[..., :-1]) & (found[..., 1:] > floor)
    if not equal.any():
        return found[..., :k], indices[..., :k]
    # Finite, so that what was taken is lower than all that is left.
    left, indices = values.clamp(min=torch.finfo(values.dtype).min), []
    for _ in range(k):
        indices.append(left.argmax(-1, keepdim=True))
        left.scatter_(-1, indices[-1], -torch.inf)
    indices = torch.cat(indices, -1)
    return values.gather(-1, indices), indices
