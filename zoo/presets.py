"""Presets by name: find them, check them, load them.

`zoo.load(name)` looks, in this order, at a path, the presets that come with the
package, the cache folder, and `hf://` and `kaggle://` handles. What it finds is
compared with its card (sizes, then sha256) before anything in it is read. Nothing
here unpickles, and Keras's safe mode stays on.
"""

import contextlib
import json
import os
import warnings
from pathlib import Path

from zoo import hubs
from zoo.cards import CARD_FILE, Card, PresetError, loaded_files, read_card, sha256
from zoo.configured import without_tensorflow
from zoo.preset_weights import check_finite, fitting
from zoo.strings import did_you_mean

__all__ = [
    "Card",
    "PresetError",
    "cannot",
    "find",
    "list_presets",
    "load",
    "locate",
    "verify",
]

# What KerasHub's `save_to_preset` writes.
_CONFIG_FILE = "config.json"
_TASK_FILE = "task.json"
RUN_PRESETS = "preset"  # the folder of a run that has its preset, by name
# What a file that does not fit makes Keras, h5py or SentencePiece raise. A RuntimeError
# is that of too deep a recursion too, a LookupError that of a key or an index.
_MISFITS = (AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def list_presets():
    """Lists the presets that can be loaded by name without a network.

    Returns:
        List of `Card`, sorted by name: the presets that come with the package,
        and those in the cache folder. One whose card cannot be read, or is that of a
        preset of another name, is left out with a UserWarning.
    """
    cards = []
    for name, folder in sorted(_named_folders().items()):
        try:
            card = read_card(folder)
            if card.name != name:
                raise PresetError(
                    f"{CARD_FILE} in {folder} is that of {card.name!r}, which should "
                    "be the folder's name"
                )
        except PresetError as error:
            warnings.warn(f"left out of the list: {error}", stacklevel=2)
        else:
            cards.append(card)
    return cards


def cannot(name, task):
    """The words for a preset that is asked for a task that is not its own.

    Args:
        name: str. What the user called the preset, or a model.
        task: str. As cards name it: "translate", "tag", "generate", "classify".

    Returns:
        str, with the names of the presets that can do it.
    """
    able = [card.name for card in list_presets() if card.task == task]
    which = f"the presets that can are {', '.join(able)}"
    return f"{name} cannot {task}; {which if able else 'no preset here can'}"


def load(name, **kwargs):
    """Loads a preset: the task with its weights, ready for `translate`.

    Args:
        name: str or path. A preset folder, the folder of a run that has finished, a
            name that `list_presets` gives, or a handle: `hf://user/name`,
            `kaggle://user/model/keras/variation`.
        **kwargs: passed to the class's `from_preset`, such as `dtype` or
            `load_weights=False`.

    Returns:
        A task of `zoo.models`, such as `zoo.models.LuongTranslator`.

    Raises:
        ValueError: if there is no such preset, or if it cannot be loaded with
            `**kwargs`.
        PresetError: (a ValueError) if the preset is damaged, altered or foreign.
        OSError, ImportError: if a handle cannot be fetched.

    Example:
        ```python
        translator = zoo.load("luong_local")
        translator.translate("A dog runs.")
        ```
    """
    return _build(locate(name), kwargs)


def locate(name):
    """Finds a preset's folder and verifies it: what comes before loading its files.

    Args:
        name: str or path, as for `load`.

    Returns:
        `pathlib.Path` of the folder. If it has no card there is nothing to compare it
        with: that gives a UserWarning.

    Raises:
        ValueError, OSError, ImportError: see `find`.
        PresetError: see `verify`.
    """
    folder = find(name)
    if (folder / CARD_FILE).is_file():
        verify(folder)
    else:
        warnings.warn(
            f"{folder} has no {CARD_FILE}: its files cannot be verified",
            stacklevel=3,  # whoever called `load`, or a class's `from_preset`
        )
    return folder


def find(name):
    """Finds a preset's folder, fetching it if `name` is a hub's handle.

    Args:
        name: str or path, as for `load`.

    Returns:
        `pathlib.Path` of a folder with a `card.json` or KerasHub's `config.json`.

    Raises:
        ValueError: if there is no such preset; the message gives the nearest names.
        ImportError: if the package that fetches the handle is not installed.
    """
    name = os.fspath(name)
    if fetched := hubs.fetch(name):
        return Path(fetched)
    folder = Path(name).expanduser()
    if _is_run(folder):
        return _of_run(folder)
    if _is_preset(folder):
        return folder
    named = _named_folders()
    if name in named:
        return named[name]
    if folder.is_dir():
        raise ValueError(
            f"the folder {name!r} is not a preset: it has neither {CARD_FILE} nor "
            f"{_CONFIG_FILE}, nor a run's {RUN_PRESETS}/NAME"
        )
    raise ValueError(_unknown(name, sorted(named)))


def verify(folder):
    """Compares a preset folder with its card: every file, its size, its sha256.

    Args:
        folder: path of the preset folder.

    Returns:
        The folder's `Card`.

    Raises:
        PresetError: naming the first file that is missing, of another size, of
            other content, or read by loading though the card does not list it.
    """
    folder = Path(folder)
    card = read_card(folder)
    for name, entry in card.files.items():
        path = folder / name
        if not path.is_file():
            raise PresetError(f"{name} is missing from the preset folder {folder}")
        size = path.stat().st_size
        if size != entry["bytes"]:
            raise PresetError(
                f"{name} in {folder} is truncated or altered: {CARD_FILE} gives "
                f"{entry['bytes']} bytes, received {size}"
            )
    for name, entry in card.files.items():
        digest = sha256(folder / name)
        if digest != entry["sha256"].lower():
            raise PresetError(
                f"{name} in {folder} is altered: {CARD_FILE} gives sha256 "
                f"{entry['sha256']}, received {digest}"
            )
    for name in loaded_files(folder):
        if name not in card.files:
            raise PresetError(
                f"{name} in {folder} is not listed in {CARD_FILE}, which lists "
                f"{', '.join(card.files) or 'no file'}"
            )
    return card


# === Finding ===


def _is_preset(folder):
    return (folder / CARD_FILE).is_file() or (folder / _CONFIG_FILE).is_file()


def _is_run(folder):
    """Whether a folder is that of a training run, which has a config.json as well."""
    if (folder / CARD_FILE).is_file() or (folder / _TASK_FILE).is_file():
        return False
    try:
        return "recipe" in json.loads((folder / _CONFIG_FILE).read_text("utf-8"))
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _of_run(folder):
    """The preset that a run wrote into its folder.

    Raises:
        ValueError: if it wrote several, or none yet.
    """
    presets = sorted(p for p in folder.glob(f"{RUN_PRESETS}/*") if _is_preset(p))
    if not presets:
        raise ValueError(
            f"the run {str(folder)!r} has no preset yet: go on with it, zoo train "
            f"--resume {folder} (with --finish: end it here)"
        )
    if len(presets) > 1:
        raise ValueError(
            f"the run {str(folder)!r} has several presets: name one of "
            f"{', '.join(map(str, presets))}"
        )
    return presets[0]


def _bundled_folder():
    """Inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "_presets"
    return inside if inside.is_dir() else package.parent / "savedmodels"


def _cache_folder():
    root = os.environ.get("ZOO_CACHE_DIR") or Path.home() / ".cache" / "zoo"
    return Path(root) / "presets"


def _named_folders():
    """Name -> folder; a preset of the package hides one of the cache."""
    named = {}
    for root in (_cache_folder(), _bundled_folder()):
        for card in root.glob(f"*/{CARD_FILE}"):
            named[card.parent.name] = card.parent
    return named


def _unknown(name, names):
    return (
        f"unknown preset{did_you_mean(name, names)}; allowed are a preset folder, a "
        "handle as hf://user/name or kaggle://user/model/keras/variation, and the "
        f"names [{', '.join(names)}]; received {name!r}"
    )


# === Building ===


def _build(folder, kwargs):
    """Makes the task of a folder whose files have been verified."""
    import zoo.models  # noqa: F401  (registers zoo's classes with Keras)

    return build(_task_class(folder), folder, kwargs)


def build(cls, folder, kwargs):
    """Makes a task or a backbone from the files of a verified folder.

    Args:
        cls: the class that the files are for.
        folder: path of the preset folder.
        kwargs: dict, arguments for KerasHub's `from_preset`.

    Raises:
        PresetError: if the files don't make one.
        ValueError: if they don't together with `kwargs`.
    """
    # zoo's own `from_preset` would verify the folder once more.
    from_folder = getattr(cls, "_from_folder", cls.from_preset)
    casts = {} if "dtype" in kwargs else _casts(folder)
    weighted = kwargs.get("load_weights", True)
    try:
        with (
            warnings.catch_warnings(),
            without_tensorflow(),
            fitting(folder) if weighted else contextlib.nullcontext(),
        ):
            # Keras only warns when it finds no weights for layers in a nested list.
            warnings.filterwarnings("error", message=".*freshly-initialized weights")
            # By its whole path: a bare name may be one of KerasHub's own presets, which
            # it would fetch.
            model = from_folder(str(Path(folder).absolute()), **kwargs, **casts)
    except (*_MISFITS, UserWarning) as error:
        reason = " ".join(str(error).split())
        if kwargs:  # the files may be in order, and these not
            given = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
            raise ValueError(
                f"cannot make a {cls.__name__} from the files of {folder} with the "
                f"arguments {given}: {reason}"
            ) from error
        raise PresetError(
            f"the files of {folder} do not make a {cls.__name__}: {reason}"
        ) from error
    check_finite(model, folder)
    return model


def _casts(folder):
    """The dtype for loading a preset saved in mixed precision: Keras's current policy,
    as KerasHub has it for every other floating-point precision."""
    import keras

    try:
        config = json.loads((Path(folder) / _CONFIG_FILE).read_text(encoding="utf-8"))
        name = config["config"]["dtype"]["config"]["name"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}  # reported when the preset is loaded
    mixed = isinstance(name, str) and name.startswith("mixed_")
    return {"dtype": keras.config.dtype_policy()} if mixed else {}


def _task_class(folder):
    """The task's class in zoo; any other class is refused before it is loaded."""
    import keras_hub

    cls = _registered_class(folder, _TASK_FILE)
    if not issubclass(cls, keras_hub.models.Task):
        raise PresetError(
            f"{_TASK_FILE} in {folder} should name a task of zoo.models, received "
            f"{cls.__name__}"
        )
    backbone = _registered_class(folder, _CONFIG_FILE)
    if backbone is not cls.backbone_cls:
        raise PresetError(
            f"{_CONFIG_FILE} in {folder} should name {cls.backbone_cls.__name__}, the "
            f"backbone of {cls.__name__}, received {backbone.__name__}"
        )
    return cls


def _registered_class(folder, file_name):
    import keras

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
    cls = None
    if isinstance(name, str) and name.startswith("zoo>"):
        cls = keras.saving.get_registered_object(name)
    if not isinstance(cls, type):
        raise PresetError(
            f"{file_name} in {folder} should name a class of zoo.models, registered "
            f"as 'zoo>...', received {name!r}"
        )
    return cls
