"""Training state on disk: written aside and renamed, refused when it doesn't fit."""

import base64
import json
import os
import zipfile
import zlib

import keras
import numpy as np
from keras import ops


class CheckpointError(ValueError):
    """A checkpoint that is broken or belongs to another run."""


def save_state(path, model, state):
    """Writes all variables of a model and its optimizer, and a JSON-able state.

    The file appears whole or not at all: it is written beside its place and renamed.

    Args:
        path: the file, `.npz`.
        model: a compiled Keras model.
        state: dict of numbers, strings and lists.
    """
    arrays = {
        f"v{i}": ops.convert_to_numpy(variable.value)
        for i, variable in enumerate(_variables(model))
    }
    arrays["state"] = np.array(json.dumps(state))
    aside = f"{path}.part"
    with open(aside, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


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
    try:
        with zipfile.ZipFile(path):
            pass  # np.load takes other files too
        with np.load(path, allow_pickle=False) as file:
            state = dict(json.loads(str(file["state"])))
            arrays = [file[f"v{i}"] for i in range(len(file.files) - 1)]
    # What a damaged archive makes NumPy, zipfile and zlib raise.
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError) as error:
        raise _unreadable(path, error) from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, error) from error
    for name, value in dict(expected).items():
        if state.get(name) != value:
            raise CheckpointError(
                f"The checkpoint {os.path.basename(path)} belongs to another run: its "
                f"{name} differs. Expected {value!r}. Received: {state.get(name)!r}"
            )
    variables = _variables(model)
    shapes = [tuple(variable.shape) for variable in variables]
    found = [array.shape for array in arrays]
    if shapes != found:
        odd = next(
            (i for i, (a, b) in enumerate(zip(shapes, found, strict=False)) if a != b),
            min(len(shapes), len(found)),
        )
        raise CheckpointError(
            f"The checkpoint {os.path.basename(path)} is of another architecture: the "
            f"model has {len(shapes)} variables, the file {len(found)}; they first "
            f"differ at number {odd}. Expected {shapes[odd : odd + 1]}. "
            f"Received: {found[odd : odd + 1]}"
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return state


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


def _unreadable(path, error):
    return CheckpointError(
        f"The checkpoint {os.path.basename(path)} can't be read: it is "
        f"truncated or no checkpoint. Received: {error}"
    )


def _variables(model):
    # Seeds of dropout are among the model's variables, so they resume too.
    metrics = {id(v) for metric in model.metrics for v in metric.variables}
    own = [v for v in model.variables if id(v) not in metrics]
    return own + list(model.optimizer.variables)
