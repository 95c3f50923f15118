"""Writes a trained task as a preset with float16 weights."""

import os
import shlex
import shutil

import h5py
import keras

from zoo.files import write_aside
from zoo.presets.card import TASKS, WEIGHTS_FILES


def save_preset(task, folder):
    """Saves a task in KerasHub's preset layout, its weights stored as float16.

    The folder appears whole or not at all: it is written aside and renamed. A model
    trained in mixed precision is saved as one that computes in float32, which a preset
    does unless it is loaded with another `dtype`.

    Args:
        task: a task with a preprocessor, without optimizer state.
        folder: where to; what stands there is replaced.
    """
    task = in_float32(task)
    aside = f"{folder}.part"
    shutil.rmtree(aside, ignore_errors=True)
    task.save_to_preset(aside)
    for name in WEIGHTS_FILES:
        path = os.path.join(aside, name)
        if os.path.exists(path):
            halve_weights(path)
    old = f"{folder}.old"
    shutil.rmtree(old, ignore_errors=True)
    if os.path.exists(folder):
        os.replace(folder, old)
    os.replace(aside, folder)
    shutil.rmtree(old, ignore_errors=True)


def in_float32(task):
    """The task itself, or for one in mixed precision its copy that computes in float32.

    Args:
        task: a task with a preprocessor.

    Returns:
        A task with the same weights.
    """
    policy = task.backbone.dtype_policy
    if policy.quantization_mode or policy.name == "float32":
        return task
    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")  # for what asks for no policy of its own
    try:
        config = {**task.backbone.get_config(), "dtype": "float32"}
        backbone = type(task.backbone).from_config(config)
        backbone.set_weights(task.backbone.get_weights())
        return type(task)(backbone, task.preprocessor)
    finally:
        keras.config.set_dtype_policy(around)


def use_of(task, output):
    """The command that uses the preset of a finished run.

    Args:
        task: the task that was trained.
        output: path of the run's folder.

    Returns:
        str, such as `zoo translate runs/mine TEXT`.
    """
    found = (name for name in TASKS if hasattr(task, name))
    name = getattr(task, "task_name", None) or next(found, "info")
    return shlex.join(["zoo", name, str(output), "TEXT"])


def halve_weights(path):
    """Rewrites a Keras weights file with its float32 arrays as float16.

    Args:
        path: a `.weights.h5` file.

    Raises:
        ValueError: if a weight is too large for float16; the file stays as it was.
    """

    def write(aside):
        with h5py.File(path) as old, h5py.File(aside, "w") as new:
            _copy(old, new)

    write_aside(path, write)


def _copy(old, new):
    new.attrs.update(old.attrs)
    for name, item in old.items():
        if isinstance(item, h5py.Group):
            _copy(item, new.create_group(name))
            continue
        values = item[()]
        if values.dtype == "float32":
            if abs(values).max(initial=0) > 65504:
                raise ValueError(
                    "float16 holds values up to 65504. "
                    f"Received: {abs(values).max()} in {item.name}"
                )
            values = values.astype("float16")
        new.create_dataset(name, data=values).attrs.update(item.attrs)
