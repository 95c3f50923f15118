"""Builds models from the files of verified presets.

Nothing here unpickles, and Keras's safe mode stays on.
"""

import contextlib
import json
import warnings
from pathlib import Path
from typing import Any

import keras
import keras_hub

from zoo.backend import without_tensorflow
from zoo.files import StrPath
from zoo.presets.card import CONFIG_FILE, TASK_FILE, PresetError
from zoo.presets.registry import locate
from zoo.presets.weights import check_finite, fitting

# What Keras, h5py and SentencePiece raise for a file that does not fit. RuntimeError
# covers a RecursionError, LookupError a key or an index.
_MISFITS = (AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def build_named(cls: Any, name: StrPath, kwargs: dict[str, Any]) -> Any:
    """Builds a task or a backbone from what `zoo.load` takes; see `build`."""
    return build(cls, locate(name), kwargs)


def build(cls: Any, folder: StrPath, kwargs: dict[str, Any]) -> Any:
    """Builds a task or a backbone of the class from the files of a verified folder.

    Raises:
        PresetError: if the files do not make such an object.
        ValueError: if they do not together with `kwargs`.
    """
    # zoo's `from_preset` would verify the folder again.
    from_folder = getattr(cls, "_from_folder", cls.from_preset)
    casts = {} if "dtype" in kwargs else _casts(folder)
    weighted = kwargs.get("load_weights", True)
    try:
        with (
            warnings.catch_warnings(),
            without_tensorflow(),
            fitting(folder) if weighted else contextlib.nullcontext(),
        ):
            # Keras only warns if it finds no weights for layers in a nested list.
            warnings.filterwarnings("error", message=".*freshly-initialized weights")
            # An absolute path, since KerasHub would fetch a bare name of its own.
            model = from_folder(str(Path(folder).absolute()), **kwargs, **casts)
    except (*_MISFITS, UserWarning) as error:
        reason = " ".join(str(error).split())
        if kwargs:  # the files may be fine, and these not
            given = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
            raise ValueError(
                f"cannot build a {cls.__name__} from the files of {folder} with the "
                f"arguments {given}: {reason}"
            ) from error
        raise PresetError(
            f"the files of {folder} do not make a {cls.__name__}: {reason}"
        ) from error
    check_finite(model, folder)
    return model


def _casts(folder):
    """Returns the dtype argument for a preset that was saved in mixed precision.

    It is Keras's current policy, as KerasHub has it for other floating-point policies.
    """
    try:
        config = json.loads((Path(folder) / CONFIG_FILE).read_text(encoding="utf-8"))
        name = config["config"]["dtype"]["config"]["name"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}  # reported when the preset is loaded
    mixed = isinstance(name, str) and name.startswith("mixed_")
    return {"dtype": keras.config.dtype_policy()} if mixed else {}


def task_class(folder: Path) -> Any:
    """Returns the task's class in zoo; rejects any other class before it is loaded."""
    cls, name = _registered_class(folder, TASK_FILE)
    if not (cls and issubclass(cls, keras_hub.models.Task)):
        raise PresetError(
            f"{TASK_FILE} in {folder} should name a task of zoo.models, received "
            f"{name!r}"
        )
    backbone, name = _registered_class(folder, CONFIG_FILE)
    if backbone is not cls.backbone_cls:
        raise PresetError(
            f"{CONFIG_FILE} in {folder} should name {cls.backbone_cls.__name__} of "
            f"zoo.models, the backbone of {cls.__name__}, received {name!r}"
        )
    return cls


def _registered_class(folder, file_name):
    """Returns the class that a file names, None for one not of zoo, and its name."""
    try:
        config = json.loads((folder / file_name).read_text(encoding="utf-8"))
        name = config["registered_name"]
    except FileNotFoundError:
        raise PresetError(
            f"{file_name} is missing from {folder}: only a task that was saved with "
            "save_to_preset can be loaded by name"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise PresetError(
            f"{file_name} in {folder} is not a KerasHub configuration: {error!r}"
        ) from None
    zoos = isinstance(name, str) and name.startswith("zoo>")
    cls = keras.saving.get_registered_object(name) if zoos else None
    return cls if isinstance(cls, type) else None, name
