"""Turns the inputs of a task's `fit` and `evaluate` into arrays or batches."""

import contextlib
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from zoo.strings import describe, plain_texts
from zoo.text.graph import map_batches
from zoo.text.rows import bucket

BATCH_SIZE = 32  # Keras's own
GROUPS = 4  # of rows of like length: a shape each to compile
# The ids that labels stand beside, by which they are cut.
_LABELLED = ("target_ids", "token_ids", "word_ids")


def run_method(task: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Calls a method of `keras.Model` with the arrays of what is given."""
    # Not the methods of KerasHub, which would preprocess once more.
    method = getattr(keras.Model, name)
    signature = inspect.signature(method)
    given = signature.bind(task, *args, **kwargs).arguments
    given |= given.pop("kwargs", {})  # Keras's own
    _check_class_weight(task, given.get("class_weight"))
    data = {key: given.pop(key, None) for key in ("x", "y", "sample_weight")}
    labelled = "y" in signature.parameters
    arrays = _read(task, **data, labelled=labelled)
    first = data["x"][0] if isinstance(data["x"], tuple) else data["x"]
    if labelled and is_text(task, first) and not _are_batches(first):
        arrays = _trimmed(arrays, _widths(_lengths(arrays[0])))
        whole = given.get("validation_split") or given.get("steps_per_epoch")
        if name == "fit" and given.get("shuffle", True) and not whole:
            arrays = _by_length(arrays, given.get("batch_size") or BATCH_SIZE)
    if _are_batches(arrays[0]):
        given.pop("batch_size", None)
    data = dict(zip(data, arrays, strict=True))
    given |= {key: data[key] for key in data if key in signature.parameters}
    if (held_out := given.get("validation_data")) is not None:
        held = _read(task, held_out)
        given["validation_data"] = held[0] if _are_batches(held[0]) else held
    with _values_kept(task):
        return method(**given)


@contextlib.contextmanager
def _values_kept(task):
    """Gives a task back, also after an error, what Keras's JAX trainer takes out."""
    held = [*task.variables, *task.metrics_variables]
    optimizer = getattr(task, "optimizer", None)  # none before `compile`
    held += getattr(optimizer, "variables", ())
    values = [variable._value for variable in held]
    try:
        yield
    finally:
        if keras.backend.backend() == "jax":
            task.jax_state_sync()
            for variable, value in zip(held, values, strict=True):
                if variable._value is None:
                    variable._value = value


# === What is given ===
def _read(task, x, y=None, sample_weight=None, labelled=True):
    """Returns `(x, y, sample_weight)` for Keras: arrays, or batches alone."""
    if isinstance(x, tuple) and y is None:
        x, y, weights = keras.utils.unpack_x_y_sample_weight(x)
        sample_weight = sample_weight if weights is None else weights
    elif y is None and labelled and _are_pairs(task, x):
        x, y, *weights = map(list, zip(*x, strict=True))
        sample_weight = weights[0] if weights else sample_weight
    if _are_batches(x):
        return _read_batches(task, x, labelled), y, sample_weight
    if not is_text(task, x):
        return x, _column(y), _column(sample_weight)
    columns = _columns(task, x, y, labelled)
    arrays = task.preprocess_samples(*columns, sample_weight=_column(sample_weight))
    return keras.utils.unpack_x_y_sample_weight(arrays)


def _are_batches(x):
    """Whether data comes in batches: a TensorFlow or Keras dataset, a generator."""
    known = (keras.utils.PyDataset, types.GeneratorType)
    return hasattr(x, "element_spec") or isinstance(x, known)


def is_text(task: Any, x: Any) -> bool:
    """Whether x must be preprocessed: ids, a dict of integer arrays, stay as given."""
    parts = x.values() if isinstance(x, dict) else [None]
    ids = all("int" in str(getattr(part, "dtype", None)) for part in parts)
    return task.preprocessor is not None and not ids


def _are_pairs(task, x):
    """Whether x is a list of texts with their targets or labels, and maybe weights."""
    rows = x if isinstance(x, list) and len(task.text_columns) == 2 else []
    sizes = {isinstance(row, (list, tuple)) and len(row) for row in rows}
    return sizes in ({2}, {3})


def _check_class_weight(task, class_weight):
    classes = [*enumerate(getattr(task.backbone, "classes", ()))]
    if not {*(class_weight or ())} <= {*range(len(classes))}:
        raise ValueError(
            "`class_weight` must be a dict of class numbers to weights, for a "
            f"classifier alone. Received: class_weight={class_weight!r} for "
            f"{type(task).__name__}, whose classes are {classes}"
        )


def _read_batches(task, batches, labelled):
    def of_batch(batch):
        arrays = _read(task, batch, labelled=labelled)
        return keras.utils.pack_x_y_sample_weight(*arrays)

    if task.preprocessor is None:
        return batches
    if isinstance(batches, keras.utils.PyDataset):
        return _Preprocessed(batches, of_batch)
    if isinstance(batches, types.GeneratorType):
        return (of_batch(batch) for batch in batches)
    parts = keras.tree.flatten(batches.element_spec)
    text = any(part.dtype == "string" for part in parts)
    return map_batches(batches, of_batch) if text else batches


class _Preprocessed(keras.utils.PyDataset):
    """The batches of another one, preprocessed when they are asked for."""

    def __init__(self, batches: Any, prepare: Callable) -> None:
        names = "workers", "use_multiprocessing", "max_queue_size"
        super().__init__(**{name: getattr(batches, name) for name in names})
        self.batches, self.prepare = batches, prepare
        self.on_epoch_begin = batches.on_epoch_begin
        self.on_epoch_end = batches.on_epoch_end

    @property
    def num_batches(self) -> int | None:
        return self.batches.num_batches

    def __getitem__(self, index: int) -> Any:
        return self.prepare(self.batches[index])


def _columns(task, x, y, labelled):
    """Texts, and targets or labels: a list or an array each."""
    names = task.text_columns[: None if labelled else task.text_inputs]
    table = x if isinstance(x, Mapping) else getattr(x, "columns", ())
    keys = [*getattr(x, "column_names", table)]
    given = [x] if y is None or len(names) == 1 and not labelled else [x, y]
    if keys and y is None and {*names} <= {*keys}:
        given, keys = [x[name] for name in names], []
    columns = [_column(column) for column in given]
    lists = [hasattr(c, "__len__") and not isinstance(c, (str, bytes)) for c in columns]
    sizes = {len(column) for column in columns} if all(lists) else ()
    if keys or len(given) != len(names) or len(sizes) != 1:
        received = f"columns {keys}" if keys else f"x={describe(x)}, y={describe(y)}"
        raise ValueError(
            f"{type(task).__name__} takes {' and '.join(names)} as equally long lists "
            f"or arrays,{' a list of pairs,' * (len(names) == 2)} a dict or table with "
            f"these columns, or batches of them. Received: {received}"
        )
    if sizes == {0}:
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
    """Multiplies a preprocessor's weights by those that were given, one a text."""
    x, y, made = keras.utils.unpack_x_y_sample_weight(arrays)
    if sample_weight is not None and made is not None:
        if np.shape(sample_weight) != (len(made),):
            raise ValueError(
                "`sample_weight` must hold one number for each text. "
                f"Received: an array of shape {np.shape(sample_weight)}"
            )
        made = made * np.asarray(sample_weight, made.dtype)[:, None]
    elif made is None:
        made = sample_weight
    return keras.utils.pack_x_y_sample_weight(x, y, made)


# === Batches of like length ===
def _by_length(arrays, batch_size):
    """`ByLength` batches as an `arrays`, of rows of ids that fill more than one."""
    x, y, _ = arrays
    few = len(y) <= batch_size or any(ids.ndim != 2 for ids in x.values())
    return arrays if few else (ByLength(arrays, batch_size), None, None)


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
        self.arrays, lengths = _rows(arrays, ...), _lengths(arrays[0])
        order = np.lexsort([*lengths.values()])
        step = -(-len(order) // (batch_size * GROUPS)) * batch_size
        self.groups = [order[i : i + step] for i in range(0, len(order), step)]
        self.batches: list[tuple[Any, dict[str, int]]] = []
        for end, group in enumerate(self.groups, start=1):
            # Never narrower than a group before, so that the first and the last tell
            # TensorFlow which axes vary.
            widths = _widths(lengths, order[: end * step])
            starts = range(0, len(group), batch_size)
            self.batches += [(group[i : i + batch_size], widths) for i in starts]
        self.batches.insert(1, self.batches.pop())

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Any:
        rows, widths = self.batches[index]
        part = _trimmed(_rows(self.arrays, rows), widths)
        return keras.utils.pack_x_y_sample_weight(*part)

    def on_epoch_begin(self) -> None:
        for group in self.groups:
            np.random.shuffle(group)  # the batches are views of it


def _rows(arrays, rows):
    """Those rows of `(x, y, sample_weight)`, of which the last may be None."""
    return keras.tree.map_structure(
        lambda array: None if array is None else np.asarray(array)[rows], arrays
    )


def _lengths(x):
    """How many ids each row has, by the names of the ids."""
    rows = {name: ids for name, ids in x.items() if ids.ndim == 2}
    return {name: np.count_nonzero(ids, axis=1) for name, ids in rows.items()}


def _widths(lengths, rows=...):
    """The buckets of the longest of some rows, by the names of the ids."""
    return {name: bucket(int(used[rows].max())) for name, used in lengths.items()}


def _trimmed(arrays, widths):
    """Leaves out the columns behind these widths."""
    x, *labels = arrays
    own = next((widths[name] for name in _LABELLED if name in widths), None)
    x = {name: ids[:, : widths.get(name)] for name, ids in x.items()}
    y, weights = (
        part[:, :own] if getattr(part, "ndim", 0) == 2 else part for part in labels
    )
    return x, y, weights
