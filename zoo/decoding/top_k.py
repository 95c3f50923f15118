"""The k largest values, with ties in order of index on every backend."""

import math

import keras
from keras import ops

from zoo.backend import Tensor

# The width of a block is a multiple of this: XLA finds maxima of 48 values three times
# as fast as those of 32 or 34.
_BLOCK = 48
_SMALL = 2**15  # values of which torch finds the largest sooner without blocks


def top_k(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`ops.top_k` in which the lower index comes first among equal values.

    TensorFlow and JAX guarantee that; torch does not. The k largest values are in the k
    blocks with the largest maxima, and a plain reduction finds maxima faster than a
    sort of many values.

    Args:
        values: float32 tensor `(..., n)`.
        k: at most n.

    Returns:
        `(values, indices)`, each `(..., k)`, largest first.
    """
    torch = keras.backend.backend() == "torch"
    largest_of = _torch_top_k if torch else ops.top_k
    size = int(values.shape[-1])  # a tensor while torch traces a step
    width = _BLOCK * math.ceil(math.isqrt(size // k) / _BLOCK)
    small = torch and math.prod(map(int, values.shape)) <= _SMALL
    if small or size < 4 * k * width:
        return largest_of(values, k)
    count = size // width
    shape, rows = ops.shape(values)[:-1], ops.reshape(values, (-1, size))
    blocks = ops.reshape(rows[:, : count * width], (-1, count, width))
    _, chosen = largest_of(ops.max(blocks, axis=-1), k)
    # In the order of their indices, so that the first of equals stays the first.
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)
    first = ops.arange(ops.shape(rows)[0], dtype="int32")[:, None] * count
    found = ops.take(ops.reshape(blocks, (-1, width)), first + chosen, axis=0)
    # What is left over after whole blocks is one more, the last.
    found = [ops.reshape(found, (-1, k * width)), rows[:, count * width :]]
    chosen = ops.pad(chosen, ((0, 0), (0, 1)), constant_values=count)
    largest, places = largest_of(ops.concatenate(found, axis=-1), k)
    places = ops.cast(places, "int32")
    indices = ops.take_along_axis(chosen, places // width, axis=-1) * width
    indices = indices + places % width
    return ops.reshape(largest, (*shape, k)), ops.reshape(indices, (*shape, k))


def _torch_top_k(values, k):
    """The k largest of float32 values; among equals, those of the lowest indices.

    In float64 each value is lowered by its index, by less than half the distance of two
    float32 numbers. Apple's GPUs, which have no float64, sort.
    """
    import torch

    if k == 1:
        indices = values.argmax(-1, keepdim=True)  # the first of equals
    elif values.device.type == "mps":
        indices = values.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    else:
        exact = values.double()
        place = torch.arange(1, values.shape[-1] + 1, device=values.device)
        exact = exact - (exact.abs() * 2.0**-50 + 1e-300) * place
        indices = exact.topk(k).indices
    return values.gather(-1, indices), indices
