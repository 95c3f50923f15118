"""Presets for a command: one, or several as an ensemble."""

import os
import sys

from zoo import loading, presets
from zoo.backend import check_backend, configured_backend
from zoo.cli.common import BadInput, bad_input, progress
from zoo.presets.card import CARD_FILE, read_card


def find_preset(name, task=None):
    """Finds a preset's folder, and asks its card what it can do.

    Args:
        name: str. What `zoo.load` takes.
        task: str or None. What it has to do, as cards name it.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        BadInput: if there is no such preset, or if it does something else.
    """
    with bad_input(keep=(presets.PresetError, OSError)):
        folder = presets.find(name)
    if task and (folder / CARD_FILE).is_file() and read_card(folder).task != task:
        raise BadInput(presets.cannot(name, task))
    return folder


def load_task(name, backend, task=None, **options):
    """Loads a preset for a command. What can be refused without Keras is refused
    before Keras is imported.

    Args:
        name: str. What `zoo.load` takes.
        backend: str or None. The backend to choose before Keras is imported.
        task: str or None. What the preset has to do, as cards name it.
        **options: what else `zoo.load` takes.

    Returns:
        The task.

    Raises:
        BadInput: if there is no such preset, if it does something else, or if there is
            no such backend here or another one runs already.
    """
    folder = find_preset(name, task)
    _choose_backend(backend)
    from zoo.training.process import spare_threads, start_backend, tune_process

    tune_process()
    progress(f"loading {name}")
    start_backend()
    spare_threads()
    # An OSError is the disk's or a hub's, also where it is a ValueError as well.
    with bad_input(keep=(presets.PresetError, OSError)):
        model = loading.load(folder, **options)
    if task and not hasattr(model, task):  # it has no card
        raise BadInput(presets.cannot(name, task))
    return model


def _choose_backend(backend):
    running = configured_backend()
    if backend and backend != running:
        if "keras" in sys.modules:
            raise BadInput(f"Keras runs on {running} already, received {backend!r}")
        os.environ["KERAS_BACKEND"] = backend
    with bad_input(ImportError):
        check_backend()


def load_translator(names, backend):
    """Loads a preset that translates, or several as an ensemble.

    Args:
        names: list of str, each what `zoo.load` takes.
        backend: see `load_task`.

    Returns:
        A `zoo.models.Translator` or a `zoo.decoding.Ensemble`.

    Raises:
        BadInput: if one does not translate, or if they make no ensemble.
    """
    read_direction(names)
    tasks = [load_task(name, backend, "translate") for name in names]
    if len(tasks) == 1:
        return tasks[0]
    from zoo.decoding import Ensemble

    with bad_input(message=f"{', '.join(names)} make no ensemble"):
        return Ensemble(tasks)


def read_direction(names):
    """Source and target language of presets, as their cards have them.

    Args:
        names: list of str, each what `zoo.load` takes.

    Returns:
        A list of two str; None where there is no card.

    Raises:
        BadInput: if one does not translate, or if they don't in one direction.
    """
    first = common = None
    for name in names:
        folder = find_preset(name, "translate")
        if not (folder / CARD_FILE).is_file():
            continue
        languages = list(read_card(folder).languages)
        if len(languages) != 2:
            raise BadInput(
                "a preset that translates does so from one language to another; the "
                f"card of {name} names the languages {languages}"
            )
        if first and languages != common:
            raise BadInput(
                "the presets of an ensemble translate in one direction; "
                f"{first} does from {' to '.join(common)}, {name} from "
                f"{' to '.join(languages)}"
            )
        first, common = name, languages
    return common
