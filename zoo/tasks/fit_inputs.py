"""Data of `fit` and its like, in any form, turned into what Keras's trainer takes."""

import reprlib
import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from zoo.strings import describe
from zoo.tasks.batches_by_length import trimmed
from zoo.text.graph import map_batches


class Reader:
    """Turns text in any form into arrays, by a task's preprocessor.

    `zoo.tasks.fitting.TextFitMixin` says what it takes.

    Args:
        task: a task with `text_columns`, of which the first `text_inputs` are inputs
            and the other one the labels.
        labelled: whether labels are needed.
        class_weight: dict of class numbers or names to weights, or None.
    """

    def __init__(
        self,
        task: Any,
        labelled: bool = True,
        class_weight: Mapping[Any, float] | None = None,
    ) -> None:
        self.task, self.labelled = task, labelled
        self.class_weight = _by_number(class_weight or {}, task.class_names)
        count = None if labelled else task.text_inputs
        self.names = task.text_columns[:count]

    def read(
        self, x: Any, y: Any = None, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns `(x, y, sample_weight)` of arrays, or `(batches, None, None)`."""
        x, y, sample_weight = _unpacked(x, y, sample_weight)
        if not are_batches(x):
            arrays = self._batch(x, y, sample_weight)
            return trimmed(*arrays) if self.labelled and self.reads(x) else arrays
        if y is not None or sample_weight is not None:
            self._refuse(x, y, "the batches must hold their labels and weights")
        if self.task.preprocessor is None and not self.class_weight:
            return x, None, None
        if hasattr(x, "element_spec"):
            parts = keras.tree.flatten(x.element_spec)
            text = any(part.dtype == "string" for part in parts) or self.class_weight
            return map_batches(x, self._of_batch) if text else x, None, None
        if isinstance(x, keras.utils.PyDataset):
            return _Preprocessed(x, self._of_batch), None, None
        return (self._of_batch(batch) for batch in x), None, None

    def reads(self, x: Any) -> bool:
        """Whether x is text: ids, a dict of integer arrays, are left as they are."""
        if self.task.preprocessor is None:
            return False
        parts = x.values() if isinstance(x, dict) else [None]
        return not all("int" in str(getattr(part, "dtype", None)) for part in parts)

    def _of_batch(self, batch):
        return keras.utils.pack_x_y_sample_weight(*self._batch(*_unpacked(batch)))

    def _batch(self, x, y=None, sample_weight=None):
        """The arrays of texts, or ids as they are, with the weights of classes."""
        x, y, weights = self._arrays(x, y, sample_weight)
        if not self.class_weight or y is None:
            return x, y, weights
        labels = keras.ops.convert_to_numpy(y)
        given = [self.class_weight.get(int(label), 1.0) for label in labels.flat]
        by_class = np.array(given, "float32").reshape(labels.shape)
        if weights is None:
            return x, y, by_class
        weights = keras.ops.convert_to_numpy(weights)
        more = (1,) * (labels.ndim - weights.ndim)
        return x, y, by_class * weights.reshape(weights.shape + more)

    def _arrays(self, x, y, sample_weight):
        if not self.reads(x):
            if any(map(_is_text, keras.tree.flatten(x))):
                self._refuse(x, y, "without a preprocessor a task takes ids alone")
            return x, *(x if x is None else _column(x) for x in (y, sample_weight))
        if not self.labelled and len(self.names) == 1:
            y = sample_weight = None  # which prediction has no use for
        columns = self._columns(x, y)
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)
        self._check(columns, sample_weight)
        arrays = self.task.preprocess_samples(*columns, sample_weight=sample_weight)
        return keras.utils.unpack_x_y_sample_weight(arrays)

    def _columns(self, x, y):
        """Texts, and targets or labels: a list or an array each."""
        table = _table(x)
        if table is not None:
            names = self.names if y is None else self.names[:1]
            if not set(names) <= set(table):
                found = ", ".join(map(str, table))
                self._refuse(x, y, f"it has the columns {found}")
            columns = [table[name] for name in names]
        elif len(self.names) == 2 and y is None:
            columns = self._of_pairs(x)
        else:
            columns = [x]
        columns += [] if y is None else [y]
        if len(columns) != len(self.names):
            self._refuse(x, y, f"there must be {' and '.join(self.names)} alone")
        return [_column(column) for column in columns]

    def _of_pairs(self, pairs):
        if not isinstance(pairs, list) or not pairs:
            self._refuse(pairs, None, "the second column is missing")
        for place, row in enumerate(pairs):
            if not isinstance(row, (list, tuple)) or len(row) != 2:
                reason = f"x[{place}] is not a pair: {describe(row)}"
                self._refuse(pairs, None, reason)
        return [*map(list, zip(*pairs, strict=True))]

    def _check(self, columns, sample_weight):
        sizes = {}
        for name, column in zip(self.names, columns, strict=True):
            if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
                self._refuse(*columns, reason=f"{name} must be a list or an array")
            sizes[name] = len(column)
        if sample_weight is not None:
            sizes["sample_weight"] = len(sample_weight)
        if len(set(sizes.values())) != 1 or 0 in sizes.values():
            counts = ", ".join(f"{count} of {name}" for name, count in sizes.items())
            raise ValueError(
                "There must be equally many of each, and at least one. "
                f"Received: {counts}"
            )

    def _refuse(self, x, y=None, reason=""):
        names = self.names
        forms = "a list or an array of texts"
        if len(names) == 2:
            forms = (
                f"({names[0]}, {names[1]}) as two lists or arrays, a list of pairs, or "
                f"a dict or a table with the columns {names[0]!r} and {names[1]!r}"
            )
        raise ValueError(
            f"{type(self.task).__name__} takes {forms}; batches of them from a "
            "tf.data.Dataset, a keras.utils.PyDataset or a generator; or ids, a dict "
            f"of integer arrays. Here {reason}. Received: "
            f"x={describe(x)}, y={describe(y)}"
        )


def _by_number(weights, names):
    """The weights of classes by their numbers."""
    found = {}
    for key, weight in weights.items():
        number = names.index(key) if key in names else key
        whole = isinstance(number, (int, np.integer))
        if not whole or number < 0 or (names and number >= len(names)):
            raise ValueError(
                "`class_weight` must be a dict of class numbers or names to weights. "
                f"Received: the class {key!r}, not one of {reprlib.repr(names)}"
            )
        found[int(number)] = float(weight)
    return found


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
        if np.ndim(sample_weight) != 1:
            raise ValueError(
                "`sample_weight` must hold one number for each text. "
                f"Received: an array of shape {np.shape(sample_weight)}"
            )
        sample_weight = made * np.asarray(sample_weight, made.dtype)[:, None]
    return keras.utils.pack_x_y_sample_weight(
        x, y, made if sample_weight is None else sample_weight
    )


def are_batches(x: Any) -> bool:
    """Whether data comes in batches: a Keras or TensorFlow dataset, a generator."""
    known = (keras.utils.PyDataset, types.GeneratorType)
    return hasattr(x, "element_spec") or isinstance(x, known)


def _unpacked(x, y=None, sample_weight=None):
    """`(x, y, sample_weight)` where x may be a tuple of them, but not one of texts."""
    if not isinstance(x, tuple) or y is not None:
        return x, y, sample_weight
    if x and isinstance(x[0], str):
        return list(x), y, sample_weight
    if len(x) not in (1, 2, 3):
        raise ValueError(
            "A tuple must be (x,), (x, y) or (x, y, sample_weight). Received: one of "
            f"{len(x)} parts"
        )
    x, y, weights = (*x, None, None)[:3]
    return x, y, sample_weight if weights is None else weights


def _is_text(x):
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    return isinstance(x, (str, bytes)) or kind in ("U", "S", "O")


def _table(x):
    """A dict or a table as a dict of its columns; None for anything else."""
    if isinstance(x, Mapping):
        return dict(x)
    names = getattr(x, "column_names", getattr(x, "columns", None))
    return None if names is None else {name: x[name] for name in names}


def _column(values):
    """A column as a list, or an array if it is of numbers; arrays as they are."""
    array = isinstance(values, np.ndarray) and values.dtype != object
    if array or hasattr(values, "numpy") or not hasattr(values, "__iter__"):
        return values
    values = values if isinstance(values, (str, bytes)) else list(values)
    numbers = len(values) and isinstance(values[0], (int, float, np.number))
    return np.asarray(values) if numbers else values
