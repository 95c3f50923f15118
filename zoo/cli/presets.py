"""Loads presets for commands: one, or several as an ensemble."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo import presets
from zoo.backend import configured_backend
from zoo.cli.common import BadInput, progress
from zoo.presets import loading
from zoo.presets.card import CARD_FILE, Card, read_card
from zoo.serving.export.manifest import MANIFEST, newest, read_manifest


def find_preset(name: str, task: str | None = None) -> Path:
    """Finds a preset's folder; `task` is what it must do."""
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


def describe(name: str) -> tuple[str | None, Sequence[str] | None]:
    """Returns a preset's or an export's task and languages, as far as it tells them."""
    if is_export(name):
        manifest = read_manifest(newest(Path(name).expanduser()))
        return manifest["task"], (manifest.get("card") or {}).get("languages")
    card = card_of(find_preset(name))
    return (card.task, card.languages) if card else (None, None)


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
        BadInput: if the preset does something else, another backend is already active,
            or an export is given one.
    """
    if task and is_export(name):
        return _load_export(name, backend, task)
    folder = find_preset(name, task)
    _start_keras(name, backend)
    model = loading.load(folder, **options)
    if task and not hasattr(model, task):  # it has no card
        raise BadInput(presets.cannot(name, task))
    return model


def _load_export(name, backend, task):
    from zoo.serving import runtime

    if backend:
        raise BadInput(
            f"{name} is an export that runs without Keras, received --backend {backend}"
        )
    progress(f"loading {name}")
    model = runtime.load(Path(name).expanduser())
    if model.task_name != task:
        raise BadInput(presets.cannot(name, task))
    return model


def _start_keras(name, backend):
    """Imports Keras and its backend, tuned for a command's process."""
    from zoo.training.fast.process import start_backend, tune_process

    running = configured_backend()
    if backend and backend != running:
        if "keras" in sys.modules:
            raise BadInput(f"Keras already runs on {running}, received {backend!r}")
        os.environ["KERAS_BACKEND"] = backend
    progress(f"loading {name}")
    tune_process()
    start_backend(presets_only=True)


def load_translator(names: Sequence[str], backend: str | None) -> Any:
    """Loads a preset that translates, or several as a `zoo.decoding.Ensemble`."""
    if len(names) > 1 and any(map(is_export, names)):
        raise BadInput(
            f"an ensemble is made of presets, not of exports, received {names}"
        )
    tasks = [load_task(name, backend, "translate") for name in names]
    if len(tasks) == 1:
        return tasks[0]
    from zoo.decoding import Ensemble

    return Ensemble(tasks)
