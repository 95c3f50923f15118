"""Finds presets by name, verifies and loads them.

What is no handle (`hf://`, `kaggle://`) is looked up, in this order, as a path, among
the presets that come with zoo, among those of other packages (their entry points
`zoo.presets`), and in the cache folder. A preset is verified against its card (sizes,
then sha256) before any of its files is read.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from zoo.backend import quiet_start
from zoo.files import StrPath, bundled_folder, cache_folder, sha256
from zoo.presets.card import (
    CARD_FILE,
    CONFIG_FILE,
    TASK_FILE,
    Card,
    PresetError,
    loaded_files,
    read_card,
)
from zoo.registration import import_tasks
from zoo.strings import did_you_mean, warn_caller

RUN_PRESETS = "preset"  # a run's folder with its presets by name
# What is fetched of a hub's files: no code, and no other checkpoint formats.
HUB_FILES = ["*.json", "*.h5", "assets/*"]
ENTRY_POINTS = "zoo.presets"
# The packages that bring what a wheel of zoo leaves out; tools/presets/packages.py
# builds them.
PACKAGES = {
    "attention-zoo-presets-translation": "bahdanau lstmn luong_global "
    "rnn_encoder_decoder seq2seq transformer",
    "attention-zoo-presets-more": "gru lstm lstmn_lm lstmn_sentiment luong_concat "
    "luong_dot luong_local_m luong_location luong_reversed",
    "attention-zoo-presets-free": "bahdanau_tatoeba luong_local_tatoeba "
    "luong_local_tatoeba_de_en show_attend_tell show_attend_tell_formulas "
    "transformer_tatoeba transformer_tatoeba_de_en",
}


def load(name: StrPath, **kwargs: Any) -> Any:
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
        ValueError: if there is no such preset.
        PresetError: (a ValueError) if the preset is damaged, altered or not zoo's, or
            cannot be loaded with `**kwargs`.
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

        import_tasks()
        if first:
            keras.ops.zeros(())  # looks for devices
    from zoo.presets.build import build, task_class

    return build(task_class(folder), folder, kwargs)


def load_class(cls: Any, name: StrPath, kwargs: dict[str, Any]) -> Any:
    """Loads a preset as a task or a backbone of a class."""
    from zoo.presets.build import build

    return build(cls, locate(name), kwargs)


def list_presets() -> list[Card]:
    """Lists the presets that can be loaded by name.

    Returns:
        The cards of the package's presets and of those in the cache folder, sorted by
        name. Presets whose card cannot be read are left out with a UserWarning.
    """
    cards = []
    for _, folder in sorted(_named_folders().items()):
        try:
            cards.append(read_card(folder))
        except PresetError as error:
            warn_caller(f"left out of the list: {error}")
    return cards


def not_installed() -> dict[str, str]:
    """Returns zoo's presets that are not on this machine: name -> its package."""
    named = _named_folders()
    return {
        name: package
        for package, names in PACKAGES.items()
        for name in names.split()
        if name not in named
    }


def cannot(name: str, task: str) -> str:
    """Returns the error message for a preset that cannot do a task.

    Args:
        name: the user's name for the preset, or for a model.
        task: as in cards: "translate", "tag", "generate", "classify", "caption".

    Returns:
        The message, with the names of the presets that can do it.
    """
    able = [card.name for card in list_presets() if card.task == task]
    which = f"the presets for it are {', '.join(able)}"
    return f"{name} cannot {task}; {which if able else 'no preset here can'}"


def locate(name: StrPath) -> Path:
    """Finds a preset's folder and verifies it, before its files are loaded.

    Without a card there is nothing to verify it against, which gives a UserWarning. It
    raises the errors of `find` and `verify`.
    """
    folder = find(name)
    if (folder / CARD_FILE).is_file():
        verify(folder)
    else:
        warn_caller(f"{folder} has no {CARD_FILE}: its files cannot be verified")
    return folder


def find(name: StrPath) -> Path:
    """Finds a preset's folder, fetching the preset if the name is a hub's handle.

    Args:
        name: as for `load`.

    Returns:
        A folder with a `card.json` or KerasHub's `config.json`.

    Raises:
        ValueError: if there is no such preset; the message gives the names.
        OSError: if a handle's preset cannot be downloaded.
    """
    name = os.fspath(name)
    scheme, _, handle = name.partition("://")
    if scheme == "hf":
        import huggingface_hub

        return Path(huggingface_hub.snapshot_download(handle, allow_patterns=HUB_FILES))
    if scheme == "kaggle":
        import kagglehub

        return Path(kagglehub.model_download(handle))
    folder = Path(name).expanduser()
    if _is_run(folder):
        return _of_run(folder)
    if _is_preset(folder):
        return folder
    named = _named_folders()
    if name in named:
        return named[name]
    absent = not_installed()
    if name in absent:
        raise ValueError(
            f"{name} is not installed: pip install {absent[name]} brings it"
        )
    raise ValueError(
        f"unknown preset{did_you_mean(name, {*named, *absent})}; allowed are the "
        "folder of a preset or of a run, a handle as hf://user/name, and the names "
        f"[{', '.join(sorted(named))}]; received {name!r}"
    )


def verify(folder: StrPath) -> Card:
    """Verifies a preset folder against its card: every file, its size, its sha256.

    Returns:
        The folder's card.

    Raises:
        PresetError: naming the first file that is missing, has another size or
            content, or is read by loading but not listed in the card.
    """
    folder = Path(folder)
    card = read_card(folder)
    for name, entry in card.files.items():
        path = folder / name
        if not path.is_file():
            raise PresetError(f"{name} is missing from the preset folder {folder}")
        size = path.stat().st_size
        if size != entry["bytes"] or sha256(path) != entry["sha256"].lower():
            raise PresetError(
                f"{name} in {folder} is truncated or altered: {CARD_FILE} gives "
                f"{entry['bytes']} bytes of sha256 {entry['sha256']}, received {size}"
            )
    if extra := set(loaded_files(folder)) - set(card.files):
        raise PresetError(f"{min(extra)} in {folder} is not listed in {CARD_FILE}")
    return card


# === Finding ===


def _is_preset(folder):
    return (folder / CARD_FILE).is_file() or (folder / CONFIG_FILE).is_file()


def _is_run(folder):
    """Whether a folder is a training run, which has a config.json as well."""
    if (folder / CARD_FILE).is_file() or (folder / TASK_FILE).is_file():
        return False
    try:
        return "recipe" in json.loads((folder / CONFIG_FILE).read_text("utf-8"))
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _of_run(folder):
    """Returns the one preset in a run's folder."""
    presets = sorted(p for p in folder.glob(f"{RUN_PRESETS}/*") if _is_preset(p))
    if len(presets) != 1:
        raise ValueError(
            f"a run must have one preset to be loaded, received {folder} with "
            f"{', '.join(map(str, presets)) or 'none'} (without one: resume it by zoo "
            f"train --resume {folder}; with several: name one)"
        )
    return presets[0]


def _installed_folders():
    """Returns the folders of packages with presets, without importing them."""
    folders = []
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            package, *inner = point.module.split(".")
            spec = importlib.util.find_spec(package)  # of an inner one it would import
        except (AttributeError, ImportError, ValueError):  # of a malformed value
            inner, spec = [], None
        places = (spec and spec.submodule_search_locations) or ()
        found = [x for place in places if (x := Path(place, *inner)).is_dir()]
        if not found:
            warn_caller(
                f"left out: the entry point {point.name} = {point.value} of "
                f"{ENTRY_POINTS} must name a folder of a package that is installed"
            )
        folders += found
    return folders


def _named_folders():
    """Returns name -> folder; the package's presets take precedence."""
    bundled = bundled_folder("_presets", "savedmodels")
    roots = cache_folder() / "presets", *_installed_folders(), bundled
    cards = (card for root in roots for card in root.glob(f"*/{CARD_FILE}"))
    return {card.parent.name: card.parent for card in cards}
