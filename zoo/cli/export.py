"""The command `zoo export`."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zoo
from zoo.backend import configured_backend
from zoo.cli.common import (
    BadInput,
    add_presets,
    as_options,
    count,
    given_options,
    no_words,
    number,
    option,
    progress,
    split_presets,
)
from zoo.cli.presets import card_of, find_preset, load_task, model_name
from zoo.files import StrPath, cache_folder
from zoo.presets.card import digest

HELP = "write a SavedModel that takes text, or ONNX graphs"
EXAMPLE = "zoo export luong_local"

# Format -> the default folder of models in it.
FOLDERS = {"savedmodel": "exports", "onnx": "exports/onnx"}
# Engine of ONNX Runtime -> the options of its export.
ENGINES: dict[str, dict[str, str]] = {"onnx": {}, "onnx-int8": {"quantize": "int8"}}
# Option -> its help and type. All but the last two are arguments of
# `zoo.serving.Limits`.
_OPTIONS: dict[str, tuple[str, Any]] = {
    "beam_size K": ("hypotheses of the beam search (default 5)", count),
    "length_penalty ALPHA": ("of Wu et al. 2016; 0 disables it (default 1)", number),
    "coverage_penalty BETA": ("of Wu et al. 2016; 0 disables it (default 0)", number),
    "n_best N": ("results of translate_n_best (default: the beam size)", count),
    "max_length N": ("longest output (default: twice the source's, plus 10)", count),
    "max_source_length N": ("longer inputs are cut (default: the preset's)", count),
    "quantize": (
        "of the weights of word vectors and dense layers (float16: of graphs only)",
        ("int8", "float16"),
    ),
    "dtype": ("of weights and computation", ("float32", "float16")),
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo export` to its parser."""
    add_presets(command, "[OUT]")
    command.description = (
        f"{HELP},\nOUT/NAME/VERSION (default exports/NAME/1, exports/FORMAT/NAME/1)"
    )
    text = "a SavedModel (the default), or graphs for zoo.serving.runtime.onnx"
    option(command, "--format", text, (*FOLDERS,), default="savedmodel")
    for form, given in _OPTIONS.items():
        option(command, f"--{form.replace('_', '-')}", *given)
    text = "omit the warm-up requests, which need tensorflow-serving-api"
    option(command, "--no-warmup", text)


def run(arguments: argparse.Namespace) -> int | None:
    """Runs `zoo export`; returns the exit code of another process that exported."""
    (name,), words = split_presets(arguments)
    no_words(words[1:], arguments)
    out = words[0] if words else FOLDERS[arguments.format]
    options = given_options(arguments, (form.split()[0] for form in _OPTIONS))
    wrong = [key for key in options if key != "quantize"]
    if arguments.format == "onnx" and wrong:
        raise BadInput(
            "--format onnx takes the option --quantize, since limits are given to "
            f"each call; received {as_options(wrong)}"
        )
    warmup = not arguments.no_warmup
    return export_preset(name, out, arguments.format, warmup, **options)


def export_preset(
    name: str, out: StrPath, form: str, warmup: bool = True, **options: Any
) -> int | None:
    """Exports a preset, under TensorFlow whatever backend is configured.

    Args:
        name: what `zoo.load` accepts.
        out: the folder for the model's folder.
        form: "savedmodel" or "onnx".
        warmup: whether a SavedModel has warm-up requests.
        **options: options of `zoo export` by name.

    Returns:
        The exit code of the process that exported, or None for this one.
    """
    from zoo import serving

    preset = find_preset(name)
    if needs_process():
        return _export_elsewhere(name, out, form, warmup, options)
    dtype = options.pop("dtype", None)
    task = load_task(name, None, **({"dtype": dtype} if dtype else {}))
    progress(f"exporting {name}")
    path = Path(out) / model_name(name, preset)
    if form == "onnx":
        card = card_of(preset)
        options["card"] = card and card.to_dict()
        print(serving.export_onnx(task, path, preset=digest(preset), **options))
        return None
    if quantize := options.pop("quantize", None):
        task.quantize(quantize)
    print(serving.export_savedmodel(task, path, warmup, digest(preset), **options))
    from zoo.serving.export import model_server

    if model_server.refresh_labels(path.parent, path.name):
        progress(f"labelled it in {path.parent / model_server.MODELS}")
    return None


# === Engines ===


def add_engine(command: argparse.ArgumentParser) -> None:
    """Adds the option `--engine` to a command's parser."""
    text = "what computes: Keras (the default), or ONNX Runtime, without Keras, after a"
    text += " first export to the cache folder; int8: smaller and faster, a word may "
    text += "differ"
    option(command, "--engine", text, ("keras", *ENGINES), default="keras")


def use_engine(names: list[str], arguments: argparse.Namespace, task: str) -> list[str]:
    """Returns the presets of a command, or the export that `--engine` runs instead.

    It is made in the cache folder, once for each content of a preset.

    Args:
        names: of the presets, each what `zoo.load` accepts.
        arguments: the command's.
        task: the task that the preset has to have.

    Raises:
        BadInput: for several presets or a backend, or if the preset does something else
            or cannot be exported.
    """
    engine = arguments.engine
    if engine == "keras":
        return names
    if len(names) > 1 or arguments.backend:
        raise BadInput(f"--engine {engine} takes one preset and no --backend")
    from zoo.serving import versions

    [name] = names
    preset = find_preset(name, task)
    out = cache_folder() / "exports" / engine / digest(preset)[:16]
    model = out / model_name(name, preset)
    if not versions(model):
        progress(f"exporting {name} to {out}, once")
        options = ENGINES[engine]
        if _export_elsewhere(str(preset), out, "onnx", True, options, sys.stderr):
            raise BadInput(f"{name} cannot be exported; --engine keras needs no export")
    return [str(model)]


# === Processes ===


def needs_process() -> bool:
    """Returns whether another process has to export: Keras uses another backend."""
    backend = configured_backend()
    if backend != "tensorflow":
        progress(f"Keras uses {backend}: exporting in a process with tensorflow")
    return backend != "tensorflow"


def _export_elsewhere(name, out, form, warmup, options, stdout=None):
    """Exports in a process under TensorFlow, and returns its exit code."""
    words = ["export", name, str(out), *([] if warmup else ["--no-warmup"])]
    for key, value in {"format": form, **options}.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return run_under_tensorflow(words, stdout)


def run_under_tensorflow(words: Sequence[str], stdout: Any = None) -> int:
    """Runs a command of zoo in a process of its own; returns its exit code."""
    # The package may be importable in this process only.
    home = str(Path(zoo.__file__).parent.parent)
    paths = [home, os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    return subprocess.run(
        [sys.executable, "-m", "zoo", *words], env=environment, stdout=stdout
    ).returncode
