"""Presets for a command: one, or several as an ensemble."""

import os
import sys

from zoo.cards import CARD_FILE, read_card
from zoo.cli import BadInput, bad_input, progress


def find_preset(name):
    """The folder of a preset; `BadInput` if there is none."""
    from zoo import presets

    with bad_input(keep=(presets.PresetError, OSError)):
        return presets.find(name)


def load_task(name, backend, **options):
    """Loads a preset for a command.

    Args:
        name: str. What `zoo.load` takes.
        backend: str or None. The backend to choose before Keras is imported.
        **options: what else `zoo.load` takes.

    Returns:
        The task.

    Raises:
        BadInput: if there is no such preset, or another backend runs already.
    """
    if backend:
        if "keras" in sys.modules:
            running = sys.modules["keras"].config.backend()
            if running != backend:
                raise BadInput(f"Keras runs on {running} already, received {backend!r}")
        os.environ["KERAS_BACKEND"] = backend
    from zoo import presets
    from zoo.training.process import start_backend, tune_process

    tune_process()
    progress(f"loading {name}")
    start_backend()
    # An OSError is the disk's or a hub's, also where it is a ValueError as well.
    with bad_input(keep=(presets.PresetError, OSError)):
        return presets.load(name, **options)


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
    tasks = []
    for name in names:
        task = load_task(name, backend)
        if not hasattr(task, "translate"):
            kind = type(task).__name__
            raise BadInput(f"{name} is a {kind}, which translates nothing")
        tasks.append(task)
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
        folder = find_preset(name)
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
