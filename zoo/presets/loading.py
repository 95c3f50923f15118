"""`zoo.load`: turns a preset's name into a task that is ready for text."""

import contextlib
import os
import sys
from typing import Any

from zoo.backend import quiet_start
from zoo.presets.registry import locate


def load(name: str | os.PathLike, **kwargs: Any) -> Any:
    """Loads a preset: the task with its weights, ready for `translate`.

    Args:
        name: a preset folder, the folder of a finished run, a name from
            `list_presets`, or a handle: `hf://user/name`,
            `kaggle://user/model/keras/variation`.
        **kwargs: passed to the class's `from_preset`, such as `dtype` or
            `load_weights=False`.

    Returns:
        A task of `zoo.models`, such as `zoo.models.LuongTranslator`.

    Raises:
        ValueError: if there is no such preset, or it cannot be loaded with `**kwargs`.
        PresetError: (a ValueError) if the preset is damaged, altered or not zoo's.
        OSError: if a preset cannot be downloaded.

    Example:
        ```python
        translator = zoo.load("luong_local")
        translator.translate("A dog runs.")
        ```
    """
    folder = locate(name)  # before Keras is imported, which takes seconds
    first = "keras" not in sys.modules
    with quiet_start() if first else contextlib.nullcontext():
        import keras

        import zoo.tasks  # noqa: F401  (registers zoo's classes with Keras)

        if first:
            keras.ops.zeros(())  # looks for devices
    from zoo.presets.build import build, task_class

    return build(task_class(folder), folder, kwargs)
