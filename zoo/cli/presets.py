"""Loads presets for commands: one, or several as an ensemble."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo import presets
from zoo.backend import check_backend, configured_backend
from zoo.cli.common import BadInput, bad_input, progress
from zoo.presets import loading
from zoo.presets.card import CARD_FILE, Card, make_card, read_card
from zoo.serving.export.manifest import MANIFEST, newest, read_manifest


def find_preset(name: str, task: str | None = None) -> Path:
    """Finds a preset's folder; `task` is what it must do."""
    with bad_input(keep=(presets.PresetError, OSError)):
        folder = presets.find(name)
    card = card_of(folder)
    if task and card and card.task != task:
        raise BadInput(presets.cannot(name, task))
    return folder


def card_of(folder: Path) -> Card | None:
    """Returns the card of a preset's folder, if it has one."""
    return read_card(folder) if (folder / CARD_FILE).is_file() else None


def model_name(name: str, folder: Path) -> str:
    """Returns the name under which a preset is served: its card's, or its folder's."""
    card = card_of(folder)
    return card.name if card else Path(name).resolve().name


def is_export(name: str) -> bool:
    """Returns whether a name is the folder of exported graphs, or of their versions."""
    return (newest(Path(name).expanduser()) / MANIFEST).is_file()


def describe(name: str, task: str | None = None) -> tuple[str | None, Card | None]:
    """Returns the task and the card of a preset or of exported graphs, if it has one.

    Raises:
        BadInput: if there is no such preset, it does not do `task`, or the export is
            damaged.
    """
    if not is_export(name):
        card = card_of(find_preset(name, task))
        return card.task if card else None, card
    with bad_input():
        manifest = read_manifest(newest(Path(name).expanduser()))
        content = manifest.get("card")
        card = make_card(content, f"the card in {name}") if content else None
    if task not in (None, manifest["task"]):
        raise BadInput(presets.cannot(name, task))
    return manifest["task"], card


def load_task(
    name: str, backend: str | None, task: str | None = None, **options: Any
) -> Any:
    """Loads a preset for a command, checking all it can before importing Keras.

    Args:
        name: what `zoo.load` accepts, or with a task the folder of exported graphs.
        backend: the backend to select; None for the configured one.
        task: the required task, as in cards; None for any.
        **options: further arguments of `zoo.load`.

    Raises:
        BadInput: if there is no such preset, it does something else, the backend is not
            available, another one is already active, or an export is given one.
    """
    if task and is_export(name):
        if backend:
            raise BadInput(
                f"{name} is an export that runs without Keras, received --backend "
                f"{backend}"
            )
        from zoo.serving import runtime

        progress(f"loading {name}")
        model = runtime.load(Path(name).expanduser())
        able = model.task_name == task
    else:
        folder = find_preset(name, task)
        _choose_backend(backend)
        progress(f"loading {name}")
        _start_keras()
        # An OSError comes from the disk or a hub, even if it is a ValueError too.
        with bad_input(keep=(presets.PresetError, OSError)):
            model = loading.load(folder, **options)
        able = not task or hasattr(model, task)  # it may have no card
    if not able:
        raise BadInput(presets.cannot(name, task))
    return model


def _choose_backend(backend):
    running = configured_backend()
    if backend and backend != running:
        if "keras" in sys.modules:
            raise BadInput(f"Keras already runs on {running}, received {backend!r}")
        os.environ["KERAS_BACKEND"] = backend
    with bad_input(ImportError):
        check_backend()


def _start_keras():
    """Imports Keras and its backend, tuned for a command's process."""
    from zoo.training.fast.process import start_backend, tune_process

    tune_process()
    start_backend(presets_only=True)


def load_translator(names: Sequence[str], backend: str | None) -> Any:
    """Loads a preset that translates, or several as a `zoo.decoding.Ensemble`.

    Raises:
        BadInput: if one does not translate, or they cannot form an ensemble.
    """
    exports = [name for name in names if is_export(name)]
    if exports and len(names) > 1:
        raise BadInput(
            "an ensemble is made of presets, without exports, received "
            f"{', '.join(exports)}"
        )
    if not exports:
        read_direction(names)
    tasks = [load_task(name, backend, "translate") for name in names]
    if len(tasks) == 1:
        return tasks[0]
    from zoo.decoding import Ensemble

    with bad_input(message=f"{', '.join(names)} cannot form an ensemble"):
        return Ensemble(tasks)


def read_direction(names: Sequence[str]) -> list[str] | None:
    """Returns the source and target language of presets; None without a card.

    Raises:
        BadInput: if one does not translate, or their directions differ.
    """
    first, common = "", None
    for name in names:
        _, card = describe(name, "translate")
        if card is None:
            continue
        languages = list(card.languages)
        if len(languages) != 2:
            raise BadInput(
                "a preset that translates should have two languages; the card of "
                f"{name} has {languages}"
            )
        if common and languages != common:
            raise BadInput(
                "the presets of an ensemble must translate in one direction; "
                f"{first} translates from {' to '.join(common)}, {name} from "
                f"{' to '.join(languages)}"
            )
        first, common = name, languages
    return common
