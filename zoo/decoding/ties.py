"""The k largest values, with ties in order of index on every backend."""

import math

import keras
from keras import ops

from zoo.backend import Tensor

# Under JAX and TensorFlow the width of a block is a multiple of this: XLA finds maxima
# of 48 values three times as fast as those of 32 or 34.
_BLOCK = 48
_ROWS = 8  # of values under torch, see `_of_columns`
FEW = 64  # torch sorts up to this many values


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
        return _of_blocks(values, k)
    import torch

    if k == 1:
        return _largest(values)
    size = values.shape[-1]
    if size <= FEW:
        largest, indices = values.sort(dim=-1, descending=True, stable=True)
        return largest[..., :k], indices[..., :k]
    largest, indices, tied = any_top_k(values, k, floor)
    if not tied:
        return largest, indices
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


def any_top_k(values: Tensor, k: int, floor: float) -> tuple[Tensor, Tensor, Tensor]:
    """`top_k` under torch with ties in any order, and whether there are any."""
    # One more value shows whether the last one has an equal.
    largest, indices = _of_columns(values, min(k + 1, values.shape[-1]))
    equal = (largest[..., 1:] == largest[..., :-1]) & (largest[..., 1:] > floor)
    return largest[..., :k], indices[..., :k], equal.any()


def _largest(values):
    """The largest value, the first of equals, under torch; faster for many on a CPU.

    It is in the first of `_ROWS` rows that has it, or left over after whole rows.
    """
    import torch

    count = int(values.shape[-1]) // _ROWS
    if count < FEW or values.device.type != "cpu":
        indices = values.argmax(-1, keepdim=True)  # the first of equals
        return values.gather(-1, indices), indices
    rows = values[..., : count * _ROWS].unflatten(-1, (_ROWS, count))
    chosen = rows.amax(-1).argmax(-1, keepdim=True)
    row = rows.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, count)).squeeze(-2)
    found = torch.cat([row, values[..., count * _ROWS :]], -1)
    places = found.argmax(-1, keepdim=True)
    last = places + (_ROWS - 1) * count
    indices = torch.where(places < count, chosen * count + places, last)
    return found.gather(-1, places), indices


def _of_columns(values, k):
    """`torch.topk`, twice as fast for many values on a CPU, with ties in any order.

    The values stand in `_ROWS` rows; the k largest are in the k columns with the
    largest maxima, or left over after whole columns.
    """
    import torch

    size = int(values.shape[-1])  # a tensor while a step is recorded
    count = size // _ROWS
    if count < 32 * k or values.device.type != "cpu":
        return torch.topk(values, k)
    rows = values[..., : count * _ROWS].unflatten(-1, (_ROWS, count))
    chosen = rows.amax(-2).topk(k).indices
    found = rows.gather(-1, chosen.unsqueeze(-2).expand(*rows.shape[:-1], k))
    found = torch.cat([found.flatten(-2), values[..., count * _ROWS :]], -1)
    largest, places = found.topk(k)
    indices = chosen.gather(-1, places % k) + places // k * count
    last = places + _ROWS * (count - k)
    return largest, torch.where(places < _ROWS * k, indices, last)


def _of_blocks(values, k):
    """`ops.top_k`, faster for many values, which it sorts or nearly so.

    The k largest values are in the k blocks with the largest maxima, and maxima are
    found by a plain reduction.
    """
    size = values.shape[-1]
    width = _BLOCK * math.ceil(math.isqrt(size // k) / _BLOCK)
    if size < 4 * k * width:
        return ops.top_k(values, k)
    count = size // width
    shape, rows = ops.shape(values)[:-1], ops.reshape(values, (-1, size))
    blocks = ops.reshape(rows[:, : count * width], (-1, count, width))
    _, chosen = ops.top_k(ops.max(blocks, axis=-1), k)
    # In the order of their indices, so that the first of equals stays the first.
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)
    first = ops.arange(ops.shape(rows)[0], dtype="int32")[:, None] * count
    found = ops.take(ops.reshape(blocks, (-1, width)), first + chosen, axis=0)
    # What is left over after whole blocks is one more, the last.
    found = [ops.reshape(found, (-1, k * width)), rows[:, count * width :]]
    chosen = ops.pad(chosen, ((0, 0), (0, 1)), constant_values=count)
    largest, places = ops.top_k(ops.concatenate(found, axis=-1), k)
    places = ops.cast(places, "int32")
    indices = ops.take_along_axis(chosen, places // width, axis=-1) * width
    indices = indices + places % width
    return ops.reshape(largest, (*shape, k)), ops.reshape(indices, (*shape, k))
