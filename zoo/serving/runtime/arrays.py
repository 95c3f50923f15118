"""The search over NumPy arrays."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from zoo.decoding.search import Search

_SAME = """
    any arange argmax clip cumsum full log logical_and logical_not logical_or max
    maximum not_equal pad power repeat reshape shape sum take take_along_axis tile
    where zeros
""".split()
_FULL = 7 / 8  # of the rows must be live: with fewer, the others are left out


def top_k(values: np.ndarray, k: int) -> Any:
    """Returns the k largest values and their indices, the lower first of equals."""
    order = np.empty((*values.shape[:-1], k), "int64")
    order[..., 0] = values.argmax(-1)  # the first of equals
    left = values
    for place in range(1, k):
        left = left.copy() if left is values else left
        np.put_along_axis(left, order[..., place - 1 : place], -np.inf, axis=-1)
        order[..., place] = left.argmax(-1)
    return np.take_along_axis(values, order, axis=-1), order


def log_sum_exp(values: np.ndarray, axis: int = -1, keepdims: bool = False) -> Any:
    """Returns log Σ exp(values), without overflow."""
    most = values.max(axis, keepdims=True)
    total = np.log(np.exp(values - most).sum(axis, keepdims=True)) + most
    return total if keepdims else np.squeeze(total, axis)


def map_structure(function: Any, structure: Any) -> Any:
    """Applies a function to the leaves of nested tuples, lists and dicts."""
    if isinstance(structure, dict):
        return {key: map_structure(function, x) for key, x in structure.items()}
    if isinstance(structure, (tuple, list)):
        return type(structure)(map_structure(function, x) for x in structure)
    return function(structure)


_OPS = SimpleNamespace(
    **{name: getattr(np, name) for name in _SAME},
    cast=lambda x, dtype: np.asarray(x).astype(dtype, copy=False),
    convert_to_tensor=np.asarray,
    logsumexp=log_sum_exp,
    segment_sum=lambda values, ids, count: np.bincount(ids, values, count),
    stop_gradient=lambda x: x,
    top_k=top_k,
)


class ArraySearch(Search):
    """`zoo.decoding.BeamSearch` over NumPy arrays, for models that compute with them.

    Sentences that are done leave the batch. It takes the arguments of a `BeamSearch`,
    and gives its results.

    Example:
        >>> ArraySearch(beam_size=3).beam_size
        3
    """

    ops = _OPS
    top_k = staticmethod(top_k)
    map_structure = staticmethod(map_structure)
    values_of = staticmethod(np.asarray)

    def find(
        self,
        model: Any,
        source: np.ndarray,
        limits: np.ndarray,
        steps: int,
        prefix: np.ndarray | None = None,
    ) -> Any:
        """See `Search.find`; the padding of batches is left out."""
        source = trim(source)[: len(limits)]
        limits = limits[: len(source)]
        steps = int(limits.max())
        if prefix is not None:
            prefix = prefix[: len(source), :steps]
        return self(model, source, limits, steps, prefix)

    def _run(self, model, beam, constants, steps):
        def height(live, rows):
            return live if live <= _FULL * rows else rows

        return self._run_shrinking(model, beam, constants, steps, height)


def trim(ids: np.ndarray) -> np.ndarray:
    """Leaves the rows and columns without ids at the end of `(B, T)` out.

    Images `(B, H, W, C)` stay as they are.
    """
    if ids.ndim > 2:
        return ids
    real = ids != 0
    height = 1 + int(np.flatnonzero(real.any(axis=1)).max(initial=0))
    width = 1 + int(np.flatnonzero(real.any(axis=0)).max(initial=0))
    return ids[:height, :width]
