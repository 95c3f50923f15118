"""Finds and loads presets for commands, under Keras or without."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo import presets
from zoo.backend import configured_backend
from zoo.cli.common import BadInput, option, progress
from zoo.files import cache_folder
from zoo.presets import registry
from zoo.presets.card import card_of, digest
from zoo.serving.export.manifest import GRAPH_TASKS, MANIFEST, newest, versions

# Engine without Keras -> the format and options of its export.
_ENGINES = {
    "onnx": ["onnx"],
    "onnx-int8": ["onnx", "--quantize", "int8"],
    "ctranslate2": ["ctranslate2"],
    "ctranslate2-int8": ["ctranslate2", "--quantize", "int8"],
}
ENGINE = option(
    "--engine",
    "what computes: Keras (the default), or ONNX Runtime or, for a Transformer, "
    "CTranslate2, without Keras, after a first export to the cache folder; int8: "
    "smaller and faster, a word may differ",
    ("keras", *_ENGINES),
    default="keras",
)


def find_preset(name: str, task: str | None = None) -> Path:
    """Finds a preset's folder; `task` is what it must do."""
    folder = presets.find(name)
    card = card_of(folder)
    if task and card and card.task != task:
        raise BadInput(presets.cannot(name, task))
    return folder


def check_runs(form: str, name: str, folder: Path) -> None:
    """Checks that a format without Keras takes a preset, as far as its card tells."""
    if not (card := card_of(folder)):
        return
    if form == "ctranslate2" and card.architecture != "TransformerTranslator":
        raise BadInput(
            f"CTranslate2 is for a TransformerTranslator; {name} is a "
            f"{card.architecture}"
        )
    if card.task not in GRAPH_TASKS:
        raise BadInput(
            f"ONNX, and so Ray, is for {', '.join(GRAPH_TASKS)}; {name} can {card.task}"
        )


def model_name(name: str, folder: Path) -> str:
    """Returns the name under which a preset is served: its card's, or its folder's."""
    card = card_of(folder)
    return card.name if card else Path(name).resolve().name


def is_export(name: str) -> bool:
    """Returns whether a name is the folder of an export, or of its versions."""
    return (newest(Path(name).expanduser()) / MANIFEST).is_file()


def load_task(name: str, arguments: argparse.Namespace, task: str) -> Any:
    """Loads a preset or an export, checking all it can before importing Keras.

    `arguments` are a command's, with `engine` and `backend`; `task` is as in cards.
    """
    engine = getattr(arguments, "engine", "keras")
    if engine != "keras":
        name = _exported(name, engine, task)
    if is_export(name):
        from zoo.serving import runtime

        progress(f"loading {name}")
        model = runtime.load(Path(name).expanduser())
        able = model.task_name == task
    else:
        folder = find_preset(name, task)
        start_keras(name, arguments.backend)
        model = registry.load(folder)
        able = hasattr(model, task)  # it may have no card
    if not able:
        raise BadInput(presets.cannot(name, task))
    return model


def load_translator(arguments: argparse.Namespace) -> Any:
    """Loads a translator, or several, as "a,b", as a `zoo.decoding.Ensemble`."""
    names = arguments.preset.split(",")
    if len(names) > 1 and arguments.engine != "keras":
        raise BadInput(
            f"--engine {arguments.engine} takes one preset, received {names}"
        )
    tasks = [load_task(name, arguments, "translate") for name in names]
    if len(tasks) == 1:
        return tasks[0]
    from zoo.decoding import Ensemble

    return Ensemble(tasks)


def start_keras(name: str, backend: str | None) -> None:
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


# === Exports ===


def _exported(name, engine, task):
    """Returns a preset's export, made in the cache folder once for each content."""
    preset = find_preset(name, task)
    check_runs(_ENGINES[engine][0], name, preset)
    out = cache_folder() / "exports" / engine / digest(preset)[:16]
    model = out / model_name(name, preset)
    if not versions(model):
        progress(f"exporting {name} to {out}, once")
        words = ["export", str(preset), str(out), "--format", *_ENGINES[engine]]
        if run_under_tensorflow(words, sys.stderr):
            raise BadInput(f"{name} cannot be exported; --engine keras needs no export")
    return str(model)


def needs_process() -> bool:
    """Returns whether another process has to export: Keras uses another backend."""
    backend = configured_backend()
    if backend != "tensorflow":
        progress(f"Keras uses {backend}: exporting in a process with tensorflow")
    return backend != "tensorflow"


def run_under_tensorflow(words: Sequence[str], stdout: Any = None) -> int:
    """Runs a command of zoo in a process of its own; returns its exit code."""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    command = [sys.executable, "-m", "zoo", *words]
    return subprocess.run(command, env=environment, stdout=stdout).returncode
