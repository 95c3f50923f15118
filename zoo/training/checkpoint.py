"""Training state on disk: written aside and renamed, refused when it doesn't fit."""

import base64
import contextlib
import csv
import json
import os
import re
import zipfile

import h5py
import keras
import numpy as np
from keras import ops

from zoo.files import write_aside, write_bytes


class CheckpointError(ValueError):
    """A checkpoint that is broken or belongs to another run."""


def trim_log(path, epochs):
    """Removes the rows of a log behind the checkpoint's epochs, which come again.

    Args:
        path: the `log.csv`, or where there is none yet.
        epochs: how many epochs are done; without any, the header goes too.

    Raises:
        CheckpointError: if it is no log of a training, in what is kept of it.
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
        # The last one may be half a row of an epoch that comes again.
        for row in [*rows[:-1], *kept[1:]]:
            whole = re.fullmatch(rb"\d+(,[-+.\w]*)*\r?\n", row)
            if not whole or row.count(b",") + 1 != len(names):
                raise _damaged(path, row)
    if kept != lines:
        write_bytes(path, b"".join(kept))


def trim_samples(path, epochs):
    """Removes the lines of a `samples.jsonl` behind the checkpoint's epochs.

    Args, Raises: as of `trim_log`; these epochs count from 1.
    """
    lines = _lines(path)
    kept = []
    for line in lines:
        try:
            known = json.loads(line)["epoch"] <= epochs
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            if epochs and line is not lines[-1]:  # that may be half a line
                raise _damaged(path, line) from error
            continue
        if known and not line.endswith(b"\n"):  # the next one would go on with it
            raise _damaged(path, line)
        if known:
            kept.append(line)
    if kept != lines:
        write_bytes(path, b"".join(kept))


def _lines(path):
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return file.readlines()


def _damaged(path, line):
    return CheckpointError(
        f"{path} is damaged. Remove it to go on without what it holds of the epochs so "
        f"far, or start afresh with --restart. Received the line: {line[:80]!r}"
    )


def check_weights(path):
    """Refuses a file of weights that is missing or damaged.

    Raises:
        CheckpointError: naming the file.
    """
    with _best_weights(path), h5py.File(path) as file:
        file.visititems(
            lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None
        )


def load_weights(model, path):
    """Loads the best weights that a run has written into the model.

    Raises:
        CheckpointError: if the file is missing or damaged.
    """
    with _best_weights(path):
        model.load_weights(path)


@contextlib.contextmanager
def _best_weights(path):
    try:
        yield
    # OSError, ValueError, RuntimeError, KeyError, … by what is damaged.
    except Exception as error:
        raise CheckpointError(
            f"{path}, the weights of the best epoch so far, can't be read: put it "
            f"back, or start afresh with --restart. Received: {error}"
        ) from error


def save_state(path, model, state):
    """Writes all variables of a model and its optimizer, and a JSON-able state.

    The file appears whole or not at all; see `write_aside`.

    Args:
        path: the file, `.npz`.
        model: a compiled Keras model.
        state: dict of numbers, strings and lists.

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
                f"The weights are not finite: no checkpoint is made of them. "
                f"Received: {variable.path}"
            )
    arrays["state"] = np.array(json.dumps(state))

    def write(aside):
        with open(aside, "wb") as file:
            np.savez(file, **arrays)

    write_aside(path, write)


def read_state(path, expected=()):
    """Reads the state alone of what `save_state` wrote, which needs no model.

    Args:
        path: the file.
        expected: dict of entries that the state must hold with equal values.

    Returns:
        The state.

    Raises:
        CheckpointError: if the file is broken, or made by another run; the first entry
            that differs is named, in a nested dict too.
    """
    with _reading(path) as file:
        state = dict(json.loads(str(file["state"])))
    _check(path, "", dict(expected), state)
    return state


def load_state(path, model, expected=()):
    """Reads what `save_state` wrote into the model and its optimizer.

    Nothing is assigned before everything has been read and checked.

    Args:
        path: the file.
        model: a compiled Keras model with a built optimizer.
        expected: dict of entries that the state must hold with equal values.

    Returns:
        The state.

    Raises:
        CheckpointError: if the file is broken, or made by another model or run.
    """
    state = read_state(path, expected)
    with _reading(path) as file:
        arrays = [file[f"v{i}"] for i in range(len(file.files) - 1)]
    variables = _variables(model)
    shapes = [tuple(variable.shape) for variable in variables]
    found = [array.shape for array in arrays]
    if shapes != found:
        odd = next(
            (i for i, (a, b) in enumerate(zip(shapes, found, strict=False)) if a != b),
            min(len(shapes), len(found)),
        )
        name = f" ({variables[odd].path})" if odd < len(variables) else ""
        raise CheckpointError(
            f"The checkpoint {os.path.basename(path)} is of another architecture: the "
            f"model has {len(shapes)} variables, the file {len(found)}; they first "
            f"differ at number {odd}{name}. Expected {shapes[odd : odd + 1]}. "
            f"Received: {found[odd : odd + 1]}"
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return state


def get_metrics(model):
    """Values of a model's metrics, of the running loss too, as nested lists."""
    return [
        ops.convert_to_numpy(variable.value).tolist()
        for metric in model.metrics
        for variable in metric.variables
    ]


def set_metrics(model, values):
    """Puts the metrics back to the values from `get_metrics`."""
    variables = [v for metric in model.metrics for v in metric.variables]
    for variable, value in zip(variables, values, strict=True):
        variable.assign(np.array(value, variable.dtype))


def get_generator():
    """States of the random generators outside the model, as texts; None if there are
    none.

    Keras's dropout under torch draws from torch's own generator of the device.
    """
    if keras.backend.backend() != "torch":
        return None
    import torch

    states = [torch.get_rng_state()]
    if torch.cuda.is_available():
        states += torch.cuda.get_rng_state_all()
    return [base64.b64encode(state.numpy().tobytes()).decode() for state in states]


def set_generator(texts):
    """Puts the generators back into the states from `get_generator`."""
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
def _reading(path):
    try:
        with zipfile.ZipFile(path):
            pass  # np.load takes other files too
        with np.load(path, allow_pickle=False) as file:
            yield file
    except CheckpointError:
        raise
    # Of NumPy, zipfile, zlib, lzma or even Python's tokenizer, by what is damaged.
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path, error):
    return CheckpointError(
        f"The checkpoint {os.path.basename(path)} can't be read: it is "
        f"truncated or no checkpoint. Start the run afresh with --restart. Received: "
        f"{error}"
    )


def _check(path, name, expected, found):
    for key, value in expected.items():
        other = found.get(key)
        if value == other:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            _check(path, f"{name}{key}.", {**dict.fromkeys(other), **value}, other)
            continue
        raise CheckpointError(
            f"The checkpoint {os.path.basename(path)} belongs to another run: "
            f"its {name}{key} differs. Expected {value!r}. Received: {other!r}"
        )


def _variables(model):
    # Seeds of dropout are among the model's variables, so they resume too.
    metrics = {id(v) for metric in model.metrics for v in metric.variables}
    own = [v for v in model.variables if id(v) not in metrics]
    return own + list(model.optimizer.variables)
