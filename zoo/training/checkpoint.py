"""Training state on disk: written aside and renamed, refused when it doesn't fit."""

import base64
import contextlib
import csv
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
from keras import ops

from zoo.files import atomic_write, write_bytes


class CheckpointError(ValueError):
    """A checkpoint that is broken or belongs to another run."""


def trim_log(path: str | Path, epochs: int) -> None:
    """Drops log rows newer than the checkpoint; they will be written again.

    Args:
        path: the `log.csv`, which need not exist.
        epochs: completed epochs; if there are none, the header goes too.

    Raises:
        CheckpointError: if the remaining rows are not those of a training log.
    """
    lines = _lines(path)
    known = {str(epoch).encode() for epoch in range(epochs)}
    head, rows = lines[: bool(epochs)], lines[1:]
    kept = head + [row for row in rows if row.split(b",")[0] in known]
    for line in head:
        try:
            [names] = csv.reader([line.decode()], strict=True)
        except (ValueError, csv.Error) as error:
            raise _damaged(path, line) from error
        if names[:1] != ["epoch"] or not line.endswith(b"\n"):
            raise _damaged(path, line)
        # The last row may be cut off, if its epoch is to be trained again.
        for row in [*rows[:-1], *kept[1:]]:
            whole = re.fullmatch(rb"\d+(,[-+.\w]*)*\r?\n", row)
            if not whole or row.count(b",") + 1 != len(names):
                raise _damaged(path, row)
    if kept != lines:
        write_bytes(path, b"".join(kept))


def trim_samples(path: str | Path, epochs: int) -> None:
    """Drops samples newer than the checkpoint; they will be written again.

    Args:
        path: the `samples.jsonl`, which need not exist. Its epochs count from 1.
        epochs: completed epochs.

    Raises:
        CheckpointError: if one of the remaining lines is damaged.
    """
    lines = _lines(path)
    kept = []
    for line in lines:
        try:
            known = json.loads(line)["epoch"] <= epochs
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            if epochs and line is not lines[-1]:  # the last one may be cut off
                raise _damaged(path, line) from error
            continue
        if known and not line.endswith(b"\n"):  # the next sample would continue it
            raise _damaged(path, line)
        if known:
            kept.append(line)
    if kept != lines:
        write_bytes(path, b"".join(kept))


def _lines(path):
    path = Path(path)
    if not path.exists():
        return []
    with path.open("rb") as file:
        return file.readlines()


def _damaged(path, line):
    return CheckpointError(
        f"{path} is damaged. Remove it to go on without its record of the epochs so "
        f"far, or start afresh with --restart. Received the line: {line[:80]!r}"
    )


def check_weights(path: str | Path) -> None:
    """Reads a weights file to the end, to find out whether it is damaged.

    Raises:
        CheckpointError: if the file is missing or damaged.
    """
    with _best_weights(path), h5py.File(path) as file:
        file.visititems(
            lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None
        )


def load_weights(model: Any, path: str | Path) -> None:
    """Loads the best weights of a run into a model.

    Raises:
        CheckpointError: if the file is missing or damaged.
    """
    with _best_weights(path):
        model.load_weights(path)


@contextlib.contextmanager
def _best_weights(path):
    try:
        yield
    # Which error it is depends on what is damaged: OSError, KeyError, RuntimeError, …
    except Exception as error:
        raise CheckpointError(
            f"{path}, the weights of the best epoch so far, can't be read: put it "
            f"back, or start afresh with --restart. Received: {error}"
        ) from error


def save_state(path: str | Path, model: Any, state: dict[str, Any]) -> None:
    """Writes all variables of a model and its optimizer, and a state.

    The file appears whole or not at all; see `atomic_write`.

    Args:
        path: the file, `.npz`.
        model: a compiled Keras model.
        state: dict that JSON can hold.

    Raises:
        FloatingPointError: if a weight is not finite; the file stays as it was.
        OSError: if the file can't be written.
    """
    weights = {id(variable) for variable in model.weights}
    arrays = {}
    for i, variable in enumerate(_variables(model)):
        arrays[f"v{i}"] = array = ops.convert_to_numpy(variable.value)
        if id(variable) in weights and not np.all(np.isfinite(array)):
            raise FloatingPointError(
                f"The weights are not finite and no checkpoint is written. "
                f"Received: {variable.path}"
            )
    arrays["state"] = np.array(json.dumps(state))

    def write(aside):
        with Path(aside).open("wb") as file:
            np.savez(file, **arrays)

    atomic_write(path, write)


def read_state(path: str | Path, expected: Any = ()) -> dict[str, Any]:
    """Reads only the state that `save_state` wrote, which needs no model.

    Args:
        path: the file.
        expected: dict of entries that the state must have.

    Returns:
        The state.

    Raises:
        CheckpointError: if the file is broken, or written by another run; the first
            entry that differs is named, in a nested dict too.
    """
    with _reading(path) as file:
        state = dict(json.loads(str(file["state"])))
    _check(path, "", dict(expected), state)
    return state


def load_state(path: str | Path, model: Any, expected: Any = ()) -> dict[str, Any]:
    """Restores a model and its optimizer from what `save_state` wrote.

    Nothing is assigned before everything has been read and checked.

    Args:
        path: the file.
        model: a compiled Keras model with a built optimizer.
        expected: dict of entries that the state must have.

    Returns:
        The state.

    Raises:
        CheckpointError: if the file is broken, or written by another model or run.
    """
    state = read_state(path, expected)
    with _reading(path) as file:
        arrays = [file[f"v{i}"] for i in range(len(file.files) - 1)]
    variables = _variables(model)
    expected_shapes = [tuple(variable.shape) for variable in variables]
    shapes = [array.shape for array in arrays]
    if shapes != expected_shapes:
        pairs = enumerate(zip(expected_shapes, shapes, strict=False))
        first = next(
            (i for i, (a, b) in pairs if a != b), min(map(len, (arrays, variables)))
        )
        name = f" ({variables[first].path})" if first < len(variables) else ""
        raise CheckpointError(
            f"The checkpoint {Path(path).name} is of another architecture: the "
            f"model has {len(variables)} variables, the file {len(arrays)}; they first "
            f"differ at number {first}{name}. Expected "
            f"{expected_shapes[first : first + 1]}. "
            f"Received: {shapes[first : first + 1]}"
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return state


def get_metrics(model: Any) -> list[Any]:
    """Returns the values of a model's metrics, with the running loss."""
    return [
        ops.convert_to_numpy(variable.value).tolist()
        for metric in model.metrics
        for variable in metric.variables
    ]


def set_metrics(model: Any, values: list[Any]) -> None:
    """Restores metrics from `get_metrics`."""
    variables = [v for metric in model.metrics for v in metric.variables]
    for variable, value in zip(variables, values, strict=True):
        variable.assign(np.array(value, variable.dtype))


def get_generator() -> list[str] | None:
    """Returns the states of torch's random generators; None under other backends.

    Under torch, Keras's dropout draws from the device's generator; under the others,
    from variables of the model.
    """
    if keras.backend.backend() != "torch":
        return None
    import torch

    states = [torch.get_rng_state()]
    if torch.cuda.is_available():
        states += torch.cuda.get_rng_state_all()
    return [base64.b64encode(state.numpy().tobytes()).decode() for state in states]


def set_generator(texts: list[str] | None) -> None:
    """Restores random generators from `get_generator`."""
    if texts is None or keras.backend.backend() != "torch":
        return
    import torch

    states = [
        torch.from_numpy(np.frombuffer(base64.b64decode(text), "uint8").copy())
        for text in texts
    ]
    torch.set_rng_state(states[0])
    if torch.cuda.is_available() and len(states) == 1 + torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states[1:])


@contextlib.contextmanager
def _reading(path: str | Path) -> Iterator[Any]:
    try:
        with zipfile.ZipFile(path):
            pass  # np.load would accept other files, too
        with np.load(path, allow_pickle=False) as file:
            yield file
    except CheckpointError:
        raise
    # NumPy, zipfile, zlib, lzma and even Python's tokenizer have their own errors.
    except Exception as error:
        raise CheckpointError(
            f"The checkpoint {Path(path).name} can't be read: it is truncated or no "
            f"checkpoint. Start the run afresh with --restart. Received: {error}"
        ) from error


def _check(path, name, expected, state):
    for key, value in expected.items():
        other = state.get(key)
        if value == other:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            _check(path, f"{name}{key}.", {**dict.fromkeys(other), **value}, other)
            continue
        raise CheckpointError(
            f"The checkpoint {Path(path).name} belongs to another run: "
            f"its {name}{key} differs. Expected {value!r}. Received: {other!r}"
        )


def _variables(model):
    """All variables but those of the metrics; dropout's seeds are among the model's."""
    metrics = {id(v) for metric in model.metrics for v in metric.variables}
    variables = [v for v in model.variables if id(v) not in metrics]
    return variables + list(model.optimizer.variables)
