"""Reads the inputs of `fit` as arrays or batches; batches texts of similar length."""

import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from zoo.backend import Tensor
from zoo.strings import describe, plain_texts
from zoo.text.graph import map_batches
from zoo.text.rows import bucket

GROUPS = 4  # of rows of like length: a shape each to compile
# The ids that labels stand beside, by which they are cut.
_LABELLED = ("target_ids", "token_ids", "word_ids")


def read(
    task: Any, x: Any, y: Any = None, sample_weight: Any = None, labelled: bool = True
) -> tuple[Any, Any, Any]:
    """Returns `(x, y, sample_weight)` of arrays, or `(batches, None, None)`.

    `zoo.tasks.fitting.TextFitMixin` says what it takes; `labelled` tells whether labels
    are needed.
    """
    if isinstance(x, tuple) and y is None:
        if len(x) not in (1, 2, 3):
            raise ValueError(
                "A tuple must be (x,), (x, y) or (x, y, sample_weight). "
                f"Received: one of {len(x)} parts"
            )
        x, y, weights = (*x, None, None)[:3]
        sample_weight = sample_weight if weights is None else weights
    elif y is None and labelled and _are_pairs(task, x):
        x, y, *weights = map(list, zip(*x, strict=True))
        sample_weight = weights[0] if weights else sample_weight
    if are_batches(x):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "Batches must hold their labels and weights. "
                f"Received: y={describe(y)}, sample_weight={describe(sample_weight)}"
            )
        return _read_batches(task, x, labelled), None, None
    if not is_text(task, x):
        return x, _column(y), _column(sample_weight)
    columns = _columns(task, x, y, labelled)
    arrays = task.preprocess_samples(*columns, sample_weight=_column(sample_weight))
    return keras.utils.unpack_x_y_sample_weight(arrays)


def are_batches(x: Any) -> bool:
    """Whether data comes in batches: a TensorFlow or Keras dataset, a generator."""
    known = (keras.utils.PyDataset, types.GeneratorType)
    return hasattr(x, "element_spec") or isinstance(x, known)


def is_text(task: Any, x: Any) -> bool:
    """Whether x must be preprocessed: ids, a dict of integer arrays, stay as given."""
    parts = x.values() if isinstance(x, dict) else [None]
    ids = all("int" in str(getattr(part, "dtype", None)) for part in parts)
    return task.preprocessor is not None and not ids


def _read_batches(task, batches, labelled):
    def of_batch(batch):
        return keras.utils.pack_x_y_sample_weight(*read(task, batch, labelled=labelled))

    if task.preprocessor is None:
        return batches
    if isinstance(batches, keras.utils.PyDataset):
        return _Preprocessed(batches, of_batch)
    if isinstance(batches, types.GeneratorType):
        return (of_batch(batch) for batch in batches)
    parts = keras.tree.flatten(batches.element_spec)
    text = any(part.dtype == "string" for part in parts)
    return map_batches(batches, of_batch) if text else batches


def _are_pairs(task, x):
    """Whether x is a list of texts with their targets or labels, and maybe weights."""
    rows = x if isinstance(x, list) and len(task.text_columns) == 2 else []
    sizes = {isinstance(row, (list, tuple)) and len(row) for row in rows}
    return sizes in ({2}, {3})


def check_class_weight(task: Any, class_weight: Any) -> None:
    """Raises a `ValueError` for weights of what are no classes of a task."""
    classes = getattr(task.backbone, "classes", ())
    if class_weight is not None and not {*class_weight} <= {*range(len(classes))}:
        raise ValueError(
            "`class_weight` must be a dict of class numbers to weights, for a "
            f"classifier alone. Received: class_weight={class_weight!r} for "
            f"{type(task).__name__}"
            + (f", whose classes are {[*enumerate(classes)]}" if classes else "")
        )


class _Preprocessed(keras.utils.PyDataset):
    """The batches of another one, preprocessed when they are asked for."""

    def __init__(self, batches: Any, prepare: Callable) -> None:
        names = "workers", "use_multiprocessing", "max_queue_size"
        super().__init__(**{name: getattr(batches, name) for name in names})
        self.batches, self.prepare = batches, prepare

    @property
    def num_batches(self) -> int | None:
        return self.batches.num_batches

    def __getitem__(self, index: int) -> Any:
        return self.prepare(self.batches[index])

    def on_epoch_begin(self) -> None:
        self.batches.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self.batches.on_epoch_end()


def _columns(task, x, y, labelled):
    """Texts, and targets or labels: a list or an array each."""
    names = task.text_columns[: None if labelled else task.text_inputs]
    table = None
    if isinstance(x, Mapping) or hasattr(x, "columns") or hasattr(x, "column_names"):
        table = list(getattr(x, "column_names", getattr(x, "columns", x)))
        if y is None and set(names) <= set(table):
            x, *y = (x[name] for name in names)
            y = y[0] if y else None
            table = None
    given = [x] if y is None or len(names) == 1 and not labelled else [x, y]
    columns = [_column(column) for column in given]
    sizes = [len(column) if hasattr(column, "__len__") else -1 for column in columns]
    strings = any(isinstance(column, (str, bytes)) for column in columns)
    if table or strings or len(given) != len(names) or len({*sizes, *sizes[:1]}) != 1:
        received = f"columns {table}" if table else f"x={describe(x)}, y={describe(y)}"
        raise ValueError(
            f"{type(task).__name__} takes {' and '.join(names)} as equally long lists "
            f"or arrays,{' a list of pairs,' * (len(names) == 2)} a dict or table with "
            f"these columns, or batches of them. Received: {received}"
        )
    if sizes[0] < 1:
        raise ValueError(
            f"There must be at least one {names[0]}. Received: {describe(x)}"
        )
    return columns


def _column(values):
    """A column as a list, or an array if it is of numbers; arrays as they are."""
    if isinstance(values, np.ndarray):  # bytes in one are UTF-8
        return plain_texts(values) if values.dtype == object else values
    if hasattr(values, "numpy") or not hasattr(values, "__iter__"):
        return values
    values = values if isinstance(values, (str, bytes)) else list(values)
    numbers = len(values) and isinstance(values[0], (int, float, np.number))
    return np.asarray(values) if numbers else values


def weighted(arrays: Any, sample_weight: Any) -> Any:
    """Multiplies the weights that a preprocessor made by those that were given.

    Args:
        arrays: what a preprocessor returned.
        sample_weight: one number a text, `(B,)`, or None.

    Returns:
        `(x, y, sample_weight)`, or `x`.

    Raises:
        ValueError: for weights that are not one number a text.
    """
    x, y, made = keras.utils.unpack_x_y_sample_weight(arrays)
    if sample_weight is not None and made is not None:
        if np.shape(sample_weight) != (len(made),):
            raise ValueError(
                "`sample_weight` must hold one number for each text. "
                f"Received: an array of shape {np.shape(sample_weight)}"
            )
        sample_weight = made * np.asarray(sample_weight, made.dtype)[:, None]
    return keras.utils.pack_x_y_sample_weight(
        x, y, made if sample_weight is None else sample_weight
    )


# === Batches of like length ===


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
        self.size, x = batch_size, arrays[0]
        lengths = [np.count_nonzero(ids, axis=1) for ids in x.values()]
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
        rows = _rows(self.groups[group], slice(start, start + self.size))
        return keras.utils.pack_x_y_sample_weight(*rows)

    def on_epoch_begin(self) -> None:
        self.groups = [
            _rows(part, np.random.permutation(len(part[1]))) for part in self.groups
        ]


def _rows(arrays, rows):
    """Those rows of `(x, y, sample_weight)`, of which the last may be None."""
    return keras.tree.map_structure(
        lambda array: None if array is None else np.asarray(array)[rows], arrays
    )


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
