"""The commands that serve a preset: `zoo export`, `zoo serve`."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

from zoo.cli import BadInput, bad_input, count, penalty, progress
from zoo.configured import configured_backend

_FOLDER = "savedmodels"
# Option -> its type and help. All but the last two are arguments of
# `zoo.serving.Limits`.
_OPTIONS = {
    "beam_size": (count, "hypotheses of the beam search (default 5)"),
    "length_penalty": (penalty, "of Wu et al. 2016; 0 for none (default 1)"),
    "coverage_penalty": (penalty, "of Wu et al. 2016 (default 0, none)"),
    "n_best": (count, "what translate_n_best gives (default: the beam size)"),
    "max_length": (count, "longest output (default: twice the source's, plus 10)"),
    "max_source_length": (count, "what is longer is cut (default: the preset's)"),
    "quantize": (("int8",), "of the weights of word vectors and dense layers"),
    "dtype": (("float32", "float16"), "of weights and computation"),
}


def add_export_arguments(command):
    """Adds the arguments of `zoo export` to a parser."""
    command.add_argument("name", metavar="NAME", help="name, folder or handle")
    command.add_argument(
        "out",
        metavar="OUT",
        nargs="?",
        default=_FOLDER,
        help="folder that gets NAME/VERSION (default savedmodels)",
    )
    for name, (kind, text) in _OPTIONS.items():
        choice = {"choices": kind} if isinstance(kind, tuple) else {"type": kind}
        command.add_argument(f"--{name.replace('_', '-')}", help=text, **choice)
    text = "leave out the warm-up requests, which need tensorflow-serving-api"
    command.add_argument("--no-warmup", action="store_true", help=text)


def add_serve_arguments(command):
    """Adds the arguments of `zoo serve` to a parser."""
    text = "presets; one that isn't exported yet is"
    command.add_argument("names", metavar="NAME", nargs="+", help=text)
    text = "where the exported models are (default savedmodels)"
    command.add_argument("--folder", default=_FOLDER, help=text)
    command.add_argument("--port", type=count, default=8500, help="gRPC (default 8500)")
    command.add_argument(
        "--rest-port", type=count, default=8501, help="REST (default 8501)"
    )
    text = "threads of one operation; 0: the server's choice (default 1)"
    command.add_argument("--intra-op-threads", type=_threads, default=1, help=text)
    text = "Docker's image (default: see docs/serving.md)"
    command.add_argument("--image", help=text)
    text = "run each request by itself"
    command.add_argument("--no-batching", action="store_true", help=text)
    text = "fill batches up to these sizes (default: none; see docs/serving.md)"
    sizes = {"metavar": "SIZE", "nargs": "+", "type": count, "default": ()}
    command.add_argument("--allowed-batch-sizes", help=text, **sizes)
    text = "write the server's files, print its command, and don't start it"
    command.add_argument("--dry-run", action="store_true", help=text)


def export(arguments):
    """Runs `zoo export`, under TensorFlow whatever backend is configured.

    Args:
        arguments: `argparse.Namespace` of the command.

    Returns:
        The exit code of the process that did it, or None.

    Raises:
        BadInput: if there is no such preset, or it can't be exported like that.
        ImportError: without TensorFlow or, unless `no_warmup`, tensorflow-serving-api.
    """
    from zoo.cards import digest
    from zoo.cli_presets import find_preset, load_task
    from zoo.serving import export_savedmodel, folder, server

    found = find_preset(arguments.name)
    folder.require_tensorflow()
    if not arguments.no_warmup:
        folder.require_serving_api()
    backend = configured_backend()
    if backend != "tensorflow":
        progress(f"Keras is set to {backend}: exporting in a process with tensorflow")
        return _export_elsewhere(arguments)
    os.environ["KERAS_BACKEND"] = "tensorflow"
    given = {name: getattr(arguments, name) for name in _OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    dtype, quantize = given.pop("dtype", None), given.pop("quantize", None)
    task = load_task(arguments.name, None, **({"dtype": dtype} if dtype else {}))
    if not hasattr(task, "export_savedmodel"):
        raise BadInput(f"{arguments.name} is a {type(task).__name__}, not served")
    if quantize:
        task.quantize(quantize)
    progress(f"exporting {arguments.name}")
    path = Path(arguments.out) / model_name(arguments.name, found)
    with bad_input():
        version = export_savedmodel(
            task, path, not arguments.no_warmup, digest(found), **given
        )
    print(version)
    file = Path(arguments.out) / server.MODELS
    try:
        if server.refresh_labels(arguments.out, path.name):
            progress(f"labelled it in {file}")
    except ImportError as error:  # the export is done
        progress(f"no label was changed in {file}: {error}")


def serve(arguments):
    """Runs `zoo serve`: becomes the model server, unless it is a dry run.

    Args:
        arguments: `argparse.Namespace` of the command.

    Returns:
        The exit code of an export that failed, or None.

    Raises:
        BadInput: if a name is no preset.
        FileNotFoundError: with neither the server's binary nor Docker; a dry run goes
            without them.
    """
    from zoo.serving import server

    folder, names = arguments.folder, []
    # First of all: without a server the rest is in vain.
    try:
        command = server.server_command(
            folder,
            arguments.port,
            arguments.rest_port,
            batching=not arguments.no_batching,
            intra_op_threads=arguments.intra_op_threads,
            image=arguments.image or server.IMAGE,
        )
    except FileNotFoundError as error:
        if not arguments.dry_run:
            raise
        progress(str(error))
        command = None
    for name in arguments.names:
        served, reason = _to_serve(name, Path(folder))
        if reason and served in names:
            raise BadInput(
                f"two presets are named {served}; a server has one of a name, received "
                f"{' '.join(arguments.names)}"
            )
        if reason:
            progress(reason)
            from zoo.cli import main

            if code := main(["export", name, folder]):
                return code
        if served not in names:
            names.append(served)
    path = server.write_server_files(folder, names, arguments.allowed_batch_sizes)
    if command is None:
        progress(f"wrote {path}")
        return
    progress(f"gRPC at port {arguments.port}, REST at port {arguments.rest_port}")
    print(shlex.join(command), flush=True)
    if not arguments.dry_run:
        os.execvp(command[0], command)


def model_name(name, folder):
    """The name that a preset is served by: its card's, or that of its folder.

    Args:
        name: str. What `zoo.load` takes.
        folder: path of the preset.
    """
    from zoo.cards import CARD_FILE, read_card

    if (folder / CARD_FILE).is_file():
        return read_card(folder).name
    return Path(name).resolve().name


def _to_serve(name, folder):
    """The name that is served, and why it has to be exported first, if it has."""
    from zoo.cards import digest
    from zoo.cli_presets import find_preset
    from zoo.serving import read_metadata, versions

    # A name that is exported already is taken as it is; a path is a preset, whatever
    # lies in the folder of models.
    if Path(name).name == name and versions(folder / name):
        return name, None
    found = find_preset(name)
    served = model_name(name, found)
    there = versions(folder / served)
    if not there:
        return served, f"{served} is not in {folder} yet"
    newest = folder / served / str(there[-1])
    with bad_input():
        preset = read_metadata(newest).get("preset")
    if preset is None:  # by `export_savedmodel`
        progress(f"{newest} doesn't say what preset it is of: serving it as it is")
    if preset in (None, digest(found)):
        return served, None
    return served, f"{newest} was not exported from {name}"


def _threads(text):
    return 0 if text == "0" else count(text)


def _export_elsewhere(arguments):
    words = ["export", arguments.name, arguments.out]
    for name in _OPTIONS:
        if getattr(arguments, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    words += ["--no-warmup"] * arguments.no_warmup
    # The package may be where only this process finds it.
    home = str(Path(importlib.util.find_spec("zoo").origin).parent.parent)
    paths = [home, os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    return subprocess.run(
        [sys.executable, "-m", "zoo", *words], env=environment
    ).returncode
