"""The command `zoo export`."""

import argparse
import json
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
    bad_input,
    count,
    no_words,
    penalty,
    progress,
    split_presets,
)
from zoo.cli.presets import find_preset, load_task
from zoo.files import StrPath, cache_folder
from zoo.presets.card import CARD_FILE, digest, read_card
from zoo.serving.protocol import TAKES

HELP = "write a SavedModel that takes text, or ONNX graphs"
EXAMPLE = "zoo export luong_local"

# Format -> the default folder of models in it.
FOLDERS = {
    "savedmodel": "exports",
    "onnx": "exports/onnx",
}
# Engine of ONNX Runtime -> the options of its export.
ENGINES: dict[str, dict[str, str]] = {"onnx": {}, "onnx-int8": {"quantize": "int8"}}
# Option -> its type or choices, and help. All but the last two are arguments of
# `zoo.serving.Limits`.
_OPTIONS = {
    "beam_size": (count, "hypotheses of the beam search (default 5)"),
    "length_penalty": (penalty, "of Wu et al. 2016; 0 disables it (default 1)"),
    "coverage_penalty": (penalty, "of Wu et al. 2016; 0 disables it (default 0)"),
    "n_best": (count, "results of translate_n_best (default: the beam size)"),
    "max_length": (count, "longest output (default: twice the source's, plus 10)"),
    "max_source_length": (count, "longer inputs are cut (default: the preset's)"),
    "quantize": (
        ("int8", "float16"),
        "of the weights of word vectors and dense layers (float16: of graphs only)",
    ),
    "dtype": (("float32", "float16"), "of weights and computation"),
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo export` to its parser."""
    add_presets(command, "[OUT]")
    command.description = (
        f"{HELP},\nOUT/NAME/VERSION (default exports/NAME/1, exports/FORMAT/NAME/1)"
    )
    text = "a SavedModel (the default), or graphs for zoo.serving.runtime.onnx"
    command.add_argument("--format", choices=FOLDERS, default="savedmodel", help=text)
    for name, (kind, text) in _OPTIONS.items():
        choice = {"choices": kind} if isinstance(kind, tuple) else {"type": kind}
        command.add_argument(f"--{name.replace('_', '-')}", help=text, **choice)
    text = "omit the warm-up requests, which need tensorflow-serving-api"
    command.add_argument("--no-warmup", action="store_true", help=text)


def run(arguments: argparse.Namespace) -> int | None:
    """Runs `zoo export`, under TensorFlow whatever backend is configured.

    Returns:
        The exit code of the process that exported, or None for this one.

    Raises:
        BadInput: if there is no such preset, or it cannot be exported like that.
        ImportError: without TensorFlow or, unless `no_warmup`, tensorflow-serving-api.
    """
    (name,), words = split_presets(arguments)
    no_words(words[1:], arguments)
    given = {option: getattr(arguments, option) for option in _OPTIONS}
    given = {option: value for option, value in given.items() if value is not None}
    (out,) = words or [FOLDERS[arguments.format]]
    if arguments.format != "savedmodel":
        if arguments.no_warmup:
            raise BadInput("--no-warmup goes with --format savedmodel")
        return export_onnx_preset(name, out, **given)
    return export_preset(name, out, not arguments.no_warmup, **given)


def export_preset(
    name: str, out: StrPath, warmup: bool = True, **options: Any
) -> int | None:
    """Exports a preset; see `run`.

    Args:
        name: what `zoo.load` accepts.
        out: the folder for the model's folder.
        warmup: whether to include warm-up requests.
        **options: options of `zoo export` by name.
    """
    from zoo.serving.export import export_folder as folder
    from zoo.serving.export import model_server as server

    preset = find_preset(name)
    _check_limits(name, preset, options)
    if options.get("quantize") == "float16":
        raise BadInput(
            "--quantize float16 goes with --format onnx; use --dtype float16"
        )
    folder.require_tensorflow()
    if warmup:
        folder.require_serving_api()
    if needs_process():
        words = ["--no-warmup"] * (not warmup)
        return _export_elsewhere(name, out, words, options)
    dtype, quantize = options.pop("dtype", None), options.pop("quantize", None)
    task = load_task(name, None, **({"dtype": dtype} if dtype else {}))
    if quantize:
        task.quantize(quantize)
    from zoo.serving import export_savedmodel

    progress(f"exporting {name}")
    path = Path(out) / model_name(name, preset)
    with bad_input():
        version = export_savedmodel(task, path, warmup, digest(preset), **options)
    print(version)
    file = Path(out) / server.MODELS
    try:
        if server.refresh_labels(out, path.name):
            progress(f"labelled it in {file}")
    except ImportError as error:  # the export is done
        progress(f"no label was changed in {file}: {error}")
    return None


def export_onnx_preset(name: str, out: StrPath, **options: Any) -> int | None:
    """Exports a preset as ONNX graphs; see `run`.

    Args:
        name: what `zoo.load` accepts.
        out: the folder for the model's folder.
        **options: options of `zoo export` by name.
    """
    from zoo.serving.export import export_folder as folder

    preset = find_preset(name)
    if wrong := [option for option in options if option != "quantize"]:
        raise BadInput(
            "--format onnx takes the option --quantize, since limits are given to each "
            f"call; received {as_options(wrong)}"
        )
    card = preset / CARD_FILE
    folder.require_onnx()
    if needs_process():
        return _export_elsewhere(name, out, ["--format", "onnx"], options)
    task = load_task(name, None)
    from zoo.serving import export_onnx

    progress(f"exporting {name}")
    content = json.loads(card.read_text("utf-8")) if card.is_file() else None
    path = Path(out) / model_name(name, preset)
    with bad_input():
        print(export_onnx(task, path, preset=digest(preset), card=content, **options))
    return None


def add_engine(command: argparse.ArgumentParser) -> None:
    """Adds the option `--engine` to a command's parser."""
    command.add_argument(
        "--engine",
        choices=("keras", *ENGINES),
        default="keras",
        help="what computes: Keras (the default), or ONNX Runtime, without Keras, "
        "after a first export to the cache folder; int8: smaller and faster, a word "
        "may differ",
    )


def use_engine(names: list[str], arguments: argparse.Namespace, task: str) -> list[str]:
    """Returns the presets of a command, or what `--engine` runs instead.

    Args:
        names: of the presets, each what `zoo.load` accepts.
        arguments: the command's.
        task: the task that the preset has to have.

    Raises:
        BadInput: for several presets or a backend; see `exported`.
        ImportError: see `exported`.
    """
    if arguments.engine == "keras":
        return names
    if len(names) > 1 or arguments.backend:
        raise BadInput(f"--engine {arguments.engine} takes one preset and no --backend")
    return [exported(names[0], arguments.engine, task)]


def exported(name: str, engine: str, task: str) -> str:
    """Returns the folder of a preset's ONNX export in the cache folder.

    What is not there yet is exported, once for each content of a preset.

    Args:
        name: what `zoo.load` accepts.
        engine: one of `ENGINES`.
        task: the task that the preset has to have.

    Raises:
        BadInput: if there is no such preset, it does something else, or it cannot be
            exported.
        ImportError: without the packages of an export.
    """
    from zoo.serving import versions
    from zoo.serving.export import export_folder as folder

    preset = find_preset(name, task)
    served = model_name(name, preset)
    out = cache_folder() / "exports" / engine / digest(preset)[:16]
    if not versions(out / served):
        folder.require_onnx()
        progress(f"exporting {name} to {out}, once")
        code = _export_elsewhere(
            str(preset), out, ["--format", "onnx"], ENGINES[engine], stdout=sys.stderr
        )
        if code:
            raise BadInput(f"{name} cannot be exported; --engine keras needs no export")
    return str(out / served)


def needs_process() -> bool:
    """Returns whether another process has to export: Keras uses another backend."""
    backend = configured_backend()
    if backend != "tensorflow":
        progress(f"Keras uses {backend}: exporting in a process with tensorflow")
        return True
    os.environ["KERAS_BACKEND"] = "tensorflow"
    return False


def _check_limits(name, found, options):
    """Rejects limits that a preset's task does not have, before it is loaded."""
    if not (found / CARD_FILE).is_file():
        return
    task = read_card(found).task
    allowed = [*TAKES[task], "quantize", "dtype"]
    wrong = [option for option in options if option not in allowed]
    if wrong:
        raise BadInput(
            f"{name} ({task}) takes the options {as_options(allowed)}, received "
            f"{as_options(wrong)}"
        )


def model_name(name: str, folder: Path) -> str:
    """Returns the name under which a preset is served: its card's, or its folder's.

    Args:
        name: what `zoo.load` accepts.
        folder: the preset's folder.
    """
    if (folder / CARD_FILE).is_file():
        return read_card(folder).name
    return Path(name).resolve().name


def _export_elsewhere(name, out, words, options, stdout=None):
    """Exports in a process under TensorFlow, and returns its exit code."""
    words = ["export", name, str(out), *words]
    for option, value in options.items():
        words += [f"--{option.replace('_', '-')}", str(value)]
    return run_under_tensorflow(words, stdout)


def run_under_tensorflow(words: Sequence[str], stdout: Any = None) -> int:
    """Runs a command of zoo in a process of its own; returns its exit code.

    Args:
        words: the command's words, without `zoo`.
        stdout: where it writes. Default: where this process does.
    """
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
