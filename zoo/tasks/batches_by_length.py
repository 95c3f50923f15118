"""Batches of text of like length, for `fit`."""

from typing import Any

import keras
import numpy as np

from zoo.backend import Tensor
from zoo.text.rows import bucket

GROUPS = 4  # of rows of like length: a shape each to compile
# The ids that labels stand beside, by which they are cut.
_LABELLED = ("target_ids", "token_ids", "word_ids")


def is_long_text(x: Any, y: Any, batch_size: int) -> bool:
    """Whether arrays are of ids alone, and of several batches."""
    ids = isinstance(x, dict) and all(part.ndim == 2 for part in x.values())
    return ids and len(y) > batch_size


class ByLength(keras.utils.PyDataset):
    """Batches of arrays whose rows are of like length, in at most `GROUPS` widths.

    Rows are padded as far as their group asks for, and shuffled within it before each
    epoch. Only one batch may have fewer rows.

    Args:
        arrays: `(x, y, sample_weight)`; x is a dict of ids.
        batch_size: rows of a batch.
    """

    def __init__(self, arrays: tuple[Any, Any, Any], batch_size: int) -> None:
        super().__init__()
        x, *others = arrays
        arrays = {name: np.asarray(ids) for name, ids in x.items()}, *others
        self.size = batch_size
        lengths = [np.count_nonzero(ids, axis=1) for ids in arrays[0].values()]
        order = np.lexsort(lengths)
        count = -(-len(order) // batch_size)
        step = -(-count // GROUPS) * batch_size
        self.groups, widths = [], dict.fromkeys(x, 0)
        for start in range(0, len(order), step):
            part = _rows(arrays, order[start : start + step])
            # Never narrower than a group before, so that the first and the last tell
            # TensorFlow which axes vary.
            used = {name: ids.shape[1] for name, ids in trimmed(*part)[0].items()}
            widths = {name: max(widths[name], width) for name, width in used.items()}
            self.groups.append(trimmed(*part, widths=widths))
        self.batches = [
            (group, start)
            for group, part in enumerate(self.groups)
            for start in range(0, len(part[1]), batch_size)
        ]
        self.batches.insert(1, self.batches.pop())

    @property
    def num_batches(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Any:
        group, start = self.batches[index]
        return _rows(self.groups[group], slice(start, start + self.size))

    def on_epoch_begin(self) -> None:
        self.groups = [
            _rows(part, np.random.permutation(len(part[1]))) for part in self.groups
        ]


def _rows(arrays, rows):
    """Those rows of `(x, y, sample_weight)`, of which the last may be None."""
    *parts, weights = arrays
    taken = keras.tree.map_structure(lambda array: np.asarray(array)[rows], parts)
    return *taken, None if weights is None else np.asarray(weights)[rows]


def trimmed(
    x: dict[str, Tensor],
    y: Tensor,
    sample_weight: Tensor,
    widths: dict[str, int] | None = None,
) -> Any:
    """Leaves out columns that are padding in all rows, behind a length bucket.

    `widths`: those of the ids by name, in place of the buckets.
    """
    if widths is None:
        widths = {}
        for name, ids in x.items():
            if ids.ndim == 2:
                used = np.flatnonzero(ids.any(axis=0))
                widths[name] = bucket(1 + int(used[-1]) if len(used) else 0)
    own = next((widths[name] for name in _LABELLED if name in widths), None)
    x = {name: ids[:, : widths.get(name)] for name, ids in x.items()}
    y, sample_weight = (
        part[:, :own] if getattr(part, "ndim", 0) == 2 else part
        for part in (y, sample_weight)
    )
    return x, y, sample_weight
