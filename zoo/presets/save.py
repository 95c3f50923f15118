"""Saves a trained task as a preset with float16 weights."""

import shutil
from pathlib import Path
from typing import Any

import h5py
import keras

from zoo.files import StrPath, atomic_write
from zoo.presets.card import WEIGHTS_FILES


def save_preset(task: Any, folder: StrPath) -> None:
    """Saves a task in KerasHub's preset layout, with float16 weights, atomically."""
    folder, aside, old = (Path(f"{folder}{end}") for end in ("", ".part", ".old"))
    shutil.rmtree(aside, ignore_errors=True)
    task.save_to_preset(str(aside))
    for name in WEIGHTS_FILES:
        if (aside / name).exists():
            halve_weights(aside / name)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    aside.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def in_float32(task: Any) -> Any:
    """Returns a copy of a task in float32, without the state of an optimizer."""
    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")  # for layers without a policy of their own
    try:
        config = {**task.backbone.get_config(), "dtype": "float32"}
        backbone = type(task.backbone).from_config(config)
        backbone.set_weights(task.backbone.get_weights())
        return type(task)(backbone, task.preprocessor)
    finally:
        keras.config.set_dtype_policy(around)


def halve_weights(path: StrPath) -> None:
    """Rewrites a Keras weights file with float16 instead of float32 arrays.

    Raises:
        ValueError: if a weight is too large for float16; the file is kept unchanged.
    """

    def write(aside):
        with h5py.File(path) as old, h5py.File(aside, "w") as new:
            _copy(old, new)

    atomic_write(path, write)


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
