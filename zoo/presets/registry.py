"""Finds presets by name and verifies them, without Keras.

A name is looked up, in this order, as a path, among the presets that come with the
package, in the cache folder, and as an `hf://` or `kaggle://` handle. A preset is
compared with its card (sizes, then sha256) before anything in it is read.
"""

import json
import os
import warnings
from pathlib import Path

from zoo.files import bundled_folder, cache_folder, sha256
from zoo.presets import hubs
from zoo.presets.card import (
    CARD_FILE,
    CONFIG_FILE,
    TASK_FILE,
    PresetError,
    loaded_files,
    read_card,
)
from zoo.strings import did_you_mean

RUN_PRESETS = "preset"  # the folder of a run that has its preset, by name


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
            f"{CONFIG_FILE}, nor a run's {RUN_PRESETS}/NAME"
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
    return (folder / CARD_FILE).is_file() or (folder / CONFIG_FILE).is_file()


def _is_run(folder):
    """Whether a folder is that of a training run, which has a config.json as well."""
    if (folder / CARD_FILE).is_file() or (folder / TASK_FILE).is_file():
        return False
    try:
        return "recipe" in json.loads((folder / CONFIG_FILE).read_text("utf-8"))
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
    return bundled_folder("_presets", "savedmodels")


def _named_folders():
    """Name -> folder; a preset of the package hides one of the cache."""
    named = {}
    for root in (cache_folder() / "presets", _bundled_folder()):
        for card in root.glob(f"*/{CARD_FILE}"):
            named[card.parent.name] = card.parent
    return named


def _unknown(name, names):
    return (
        f"unknown preset{did_you_mean(name, names)}; allowed are a preset folder, a "
        "handle as hf://user/name or kaggle://user/model/keras/variation, and the "
        f"names [{', '.join(names)}]; received {name!r}"
    )
