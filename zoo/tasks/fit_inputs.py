"""Data of `fit` and its like, in any form, turned into what Keras's trainer takes."""

import reprlib
import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from zoo.strings import describe
from zoo.tasks.batches_by_length import ByLength, trimmed
from zoo.text import graph

BATCH_SIZE = 32  # Keras's own


class Reader:
    """Turns text in any form into arrays, by a task's preprocessor.

    What it takes is said in `zoo.tasks.fitting.TextFitMixin`.

    Args:
        task: a task with `text_columns`, of which the first `text_inputs` are inputs
            and the other one the labels.
        labelled: whether labels are needed.
        class_weight: dict of class numbers or names to weights, or None.

    Raises:
        ValueError: for a class that there isn't.
    """

    def __init__(
        self,
        task: Any,
        labelled: bool = True,
        class_weight: Mapping[Any, float] | None = None,
    ) -> None:
        self.task, self.labelled = task, labelled
        self.class_weight = None
        if class_weight is not None:
            self.class_weight = _class_table(class_weight, task.class_names)
        self.names = task.text_columns
        if not labelled:
            self.names = self.names[: task.text_inputs]

    def read(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
    ) -> tuple[Any, Any, Any]:
        """Returns `(x, y, sample_weight)` of arrays, or `(batches, None, None)`."""
        x, y, sample_weight = _unpacked(x, y, sample_weight)
        if are_batches(x):
            if y is not None or sample_weight is not None:
                self._refuse(x, y, "the batches must hold their labels and weights")
            return self._batches(x, batch_size), None, None
        return self.batch(x, y, sample_weight, tight=self.labelled)

    def batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, tight: bool = False
    ) -> tuple[Any, Any, Any]:
        """The arrays of texts, or ids as they are.

        Args:
            x, y, sample_weight: as `fit` has them.
            tight: whether columns are left out that are padding in all rows.
        """
        y, sample_weight = _numbers(y), _numbers(sample_weight)
        if self.task.preprocessor is None or holds_ids(x):
            if any(map(_is_text, keras.tree.flatten(x))):
                self._refuse(x, y, "without a preprocessor a task takes ids alone")
            return x, y, self._by_class(y, sample_weight)
        if not self.labelled and len(self.names) == 1:
            y = sample_weight = None  # which prediction has no use for
        columns = self._columns(x, y)
        if graph.in_graph():
            tight = False
        else:
            self._check(columns, sample_weight)
        arrays = self.task.preprocess_samples(*columns, sample_weight=sample_weight)
        x, y, weights = keras.utils.unpack_x_y_sample_weight(arrays)
        arrays = x, y, self._by_class(y, weights)
        return trimmed(*arrays) if tight else arrays

    def _by_class(self, y, weights):
        """The weights, multiplied by those of the labels' classes."""
        if self.class_weight is None or y is None:
            return weights
        if graph.in_graph():
            made = keras.KerasTensor(y.shape, "float32")
            return graph.by_python(self._times_classes, [y, weights], made)
        return self._times_classes(y, weights)

    def _times_classes(self, y, weights):
        labels = np.asarray(y)
        spare = max(0, 1 + int(labels.max(initial=0)) - len(self.class_weight))
        given = np.pad(self.class_weight, (0, spare), constant_values=1.0)[labels]
        if weights is None:
            return given
        weights = np.asarray(weights, "float32")
        more = (1,) * (labels.ndim - weights.ndim)
        return given * weights.reshape(weights.shape + more)

    def by_length(self, x: Any, y: Any, sample_weight: Any, size: int) -> Any:
        """Batches of rows of like length, where arrays are of text and fill several."""
        ids = isinstance(x, dict) and all(part.ndim == 2 for part in x.values())
        if self.task.preprocessor is None or not ids or len(y) <= size:
            return x, y, sample_weight
        return ByLength((x, y, sample_weight), size), None, None

    # === Columns ===
    def _columns(self, x, y):
        """Texts, and targets or labels: a list or an array each."""
        if hasattr(x, "collate_fn"):
            self._refuse(x, y, "x is a DataLoader: pass a generator over it or lists")
        table = _table(x)  # AutoGraph can't read an assignment in a condition
        if table is not None:
            columns = self._of_table(table, y)
        elif len(self.names) == 2 and y is None:
            columns = self._of_pairs(x)
        else:
            columns = [x] if y is None else [x, y]
        if len(columns) != len(self.names):
            self._refuse(x, y, f"there must be {' and '.join(self.names)} alone")
        return [_numbers(_as_list(column)) for column in columns]

    def _of_table(self, table, y):
        wanted = self.names if y is None else self.names[:1]
        if not set(wanted) <= set(table):
            names = ", ".join(map(str, table))
            self._refuse(table, y, f"it has the columns {names}")
        columns = [table[name] for name in wanted]
        return columns if y is None else [*columns, y]

    def _of_pairs(self, pairs):
        rows = pairs.tolist() if isinstance(pairs, np.ndarray) else pairs
        if not isinstance(rows, list) or not rows:
            self._refuse(pairs, None, "the second column is missing")
        for place, row in enumerate(rows):
            if not isinstance(row, (list, tuple)) or len(row) != 2:
                reason = f"x[{place}] is not a pair: {describe(row)}"
                self._refuse(pairs, None, reason)
        return [*map(list, zip(*rows, strict=True))]

    def _check(self, columns, sample_weight):
        for name, column in zip(self.names, columns, strict=True):
            if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
                self._refuse(*columns, reason=f"{name} must be a list or an array")
        sizes = {
            name: len(column) for name, column in zip(self.names, columns, strict=True)
        }
        if sample_weight is not None:
            sizes["sample_weight"] = len(sample_weight)
        if len(set(sizes.values())) != 1 or 0 in sizes.values():
            counts = ", ".join(f"{count} of {name}" for name, count in sizes.items())
            raise ValueError(
                "There must be equally many of each, and at least one. "
                f"Received: {counts}"
            )

    # === Batches ===
    def _batches(self, x, batch_size):
        spec = getattr(x, "element_spec", None)
        single = spec is not None and _is_single(spec)
        if single:
            x = x.batch(batch_size or BATCH_SIZE)
        if self.task.preprocessor is None and self.class_weight is None:
            return x
        if spec is not None:
            strings = (part.dtype == "string" for part in keras.tree.flatten(spec))
            if not any(strings) and self.class_weight is None:
                return x
            return x.map(self._of_elements, num_parallel_calls=-1).prefetch(-1)
        if isinstance(x, keras.utils.PyDataset):
            return _Preprocessed(x, self._of_batch)
        return (self._of_batch(batch) for batch in x)

    def _of_batch(self, batch):
        parts = _unpacked(batch)
        return keras.utils.pack_x_y_sample_weight(*self.batch(*parts))

    def _of_elements(self, *parts):
        return self._of_batch(parts if len(parts) > 1 else parts[0])

    # === Errors ===
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


class _Preprocessed(keras.utils.PyDataset):
    """The batches of another one, preprocessed when they are asked for."""

    def __init__(self, batches: Any, prepare: Callable) -> None:
        options = {"workers": 1, "use_multiprocessing": False, "max_queue_size": 10}
        super().__init__(**{k: getattr(batches, k, v) for k, v in options.items()})
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


def _class_table(weights, names):
    """The weights of the classes by number, float32; 1 where none is given."""
    numbers = {}
    for key, weight in dict(weights).items():
        number = names.index(key) if key in names else key
        whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if not whole or number < 0 or (names and number >= len(names)):
            raise ValueError(
                "`class_weight` must be a dict of class numbers or names to weights. "
                f"Received: the class {key!r}, not one of {reprlib.repr(names)}"
            )
        numbers[int(number)] = float(weight)
    table = np.ones(1 + max(numbers, default=0), "float32")
    table[[*numbers]] = [*numbers.values()]
    return table


def holds_ids(x: Any) -> bool:
    """Whether data is ids, a dict of integer arrays, to be left as they are."""
    if not isinstance(x, dict):
        return False
    dtypes = [str(getattr(part, "dtype", None)) for part in x.values()]
    return all("int" in dtype for dtype in dtypes)


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
        if graph.in_graph():
            shape = keras.KerasTensor(made.shape, made.dtype.name)
            made = graph.by_python(_times_rows, [made, sample_weight], shape)
        else:
            made = _times_rows(made, sample_weight)
    return keras.utils.pack_x_y_sample_weight(
        x, y, sample_weight if made is None else made
    )


def _times_rows(weights, factors):
    factors = np.asarray(factors, weights.dtype)
    if factors.ndim != 1:
        raise ValueError(
            "`sample_weight` must hold one number for each text. "
            f"Received: an array of shape {factors.shape}"
        )
    return weights * factors[:, None]


def are_batches(x: Any) -> bool:
    """Whether data comes in batches: a Keras or TensorFlow dataset, a generator."""
    known = (keras.utils.PyDataset, types.GeneratorType)
    return hasattr(x, "element_spec") or isinstance(x, known)


def _is_single(spec):
    """Whether a dataset's elements are single texts."""
    parts = keras.tree.flatten(spec)
    return any(part.dtype == "string" and part.shape.rank == 0 for part in parts)


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


def _as_list(column):
    """A column of a table as a list; arrays, tensors and the rest as they are."""
    if isinstance(column, np.ndarray) and column.dtype == object:
        nested = any(isinstance(x, (list, tuple, np.ndarray)) for x in column)
        return [list(x) for x in column] if nested else column
    known = (str, bytes, list, np.ndarray)
    if isinstance(column, known) or hasattr(column, "numpy") or graph.in_graph():
        return column
    return list(column) if hasattr(column, "__iter__") else column


def _numbers(values):
    """A list of numbers, or of lists of them of equal length, as an array."""
    first = values
    while isinstance(first, (list, tuple)) and len(first):
        first = first[0]
    if first is values or not isinstance(first, (int, float, np.number)):
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        return values
    return array if array.dtype.kind in "iufb" else values
