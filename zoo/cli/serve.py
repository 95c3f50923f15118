"""The command `zoo serve`."""

import argparse
import contextlib
import os
import shlex
from pathlib import Path
from typing import Any

from zoo.cli.common import (
    BadInput,
    add_presets,
    as_options,
    bad_input,
    count,
    every_preset,
    progress,
)
from zoo.cli.export import FOLDERS, export_onnx_preset, export_preset, model_name
from zoo.cli.presets import find_preset
from zoo.serving.server.server_options import read_options

HELP = "run a model server"
EXAMPLE = "zoo serve luong_local"

# Option -> the engine that has it.
OWN = {
    **dict.fromkeys(("image", "allowed_batch_sizes"), "tensorflow"),
    **dict.fromkeys(("replicas", "min_replicas", "max_replicas", "host"), "ray"),
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo serve` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.description = f"{HELP}; presets are exported if necessary"
    text = (
        "TensorFlow Serving, or Ray Serve, by pip (default: tensorflow if its server "
        "or Docker is here)"
    )
    command.add_argument("--engine", choices=("tensorflow", "ray"), help=text)
    text = "of exports (default: onnx for ray where it serves the tasks so)"
    command.add_argument("--format", choices=("savedmodel", "onnx"), help=text)
    text = "folder of the exported models (default exports, exports/onnx)"
    command.add_argument("--folder", help=text)
    command.add_argument("--port", type=count, default=8500, help="gRPC (default 8500)")
    command.add_argument(
        "--rest-port", type=count, default=8501, help="REST (default 8501)"
    )
    text = "threads per operation; 0: the server's choice (default 1)"
    command.add_argument("--intra-op-threads", type=_threads, default=1, help=text)
    text = "Docker image (default: see docs/serving.md)"
    command.add_argument("--image", help=text)
    text = "Ray: replicas, processes that serve (default 1)"
    command.add_argument("--replicas", type=count, help=text)
    text = "Ray: minimum replicas, with autoscaling (default 1)"
    command.add_argument("--min-replicas", type=count, metavar="N", help=text)
    text = "Ray: maximum replicas; turns autoscaling on"
    command.add_argument("--max-replicas", type=count, metavar="N", help=text)
    text = "Ray: REST's address (default 127.0.0.1; 0.0.0.0: that of every network)"
    command.add_argument("--host", help=text)
    text = "run each request on its own"
    command.add_argument("--no-batching", action="store_true", help=text)
    text = "pad batches to these sizes (default: none; see docs/serving.md)"
    sizes: Any = {"metavar": "SIZE", "nargs": "+", "type": count, "default": ()}
    command.add_argument("--allowed-batch-sizes", help=text, **sizes)
    text = "export, write the server's files and print its command, but do not start it"
    command.add_argument("--no-start", action="store_true", help=text)
    text = "print what would be done, and do nothing"
    command.add_argument("--dry-run", action="store_true", help=text)


def run(arguments: argparse.Namespace) -> int | None:
    """Runs `zoo serve`: replaces this process by the model server, unless told not to.

    Returns:
        The exit code of a failed export, or None.

    Raises:
        BadInput: if a name is not a preset, or options don't go together.
        FileNotFoundError: with neither TensorFlow Serving's binary nor Docker, if that
            server is to be started.
        ImportError: without Ray's packages, if its server is to be started.
    """
    given, names = every_preset(arguments), list[str]()
    _choose_engine(arguments)
    kind = _format(arguments, given)
    folder = arguments.folder or FOLDERS[kind]
    # First, since the rest is useless without a server.
    try:
        startable = bool(_command(arguments, folder, names))
    except (FileNotFoundError, ImportError) as error:
        if not arguments.no_start and not arguments.dry_run:
            raise
        progress(str(error))
        startable = False
    missing = {}  # served name -> preset to export
    for name in given:
        served, reason = _to_serve(name, Path(folder))
        if reason and served in names:
            raise BadInput(
                f"model names must be unique; two presets are named {served}, received "
                f"{' '.join(given)}"
            )
        if reason:
            progress(reason)
            missing[served] = name
        if served not in names:
            names.append(served)
    command = _command(arguments, folder, names) if startable else None
    if arguments.dry_run:
        return _tell(arguments, command, missing, folder)
    for name in missing.values():
        if kind == "onnx":
            code = export_onnx_preset(name, folder)
        else:  # Ray's server needs no warm-up requests
            code = export_preset(name, folder, arguments.engine == "tensorflow")
        if code:
            return code
    if arguments.engine == "tensorflow":
        from zoo.serving.export import model_server as server

        path = server.write_server_files(folder, names, arguments.allowed_batch_sizes)
        progress(f"wrote {path}")
    if command is None:
        return None
    progress(f"gRPC at port {arguments.port}, REST at port {arguments.rest_port}")
    print(shlex.join(command), flush=True)
    if not arguments.no_start:
        os.execvp(command[0], command)
    return None


def _choose_engine(arguments):
    """Sets `--engine` where it is not given, and refuses options of the other one."""
    given = {engine for name, engine in OWN.items() if getattr(arguments, name)}
    if arguments.engine is None and len(given) == 1:
        (arguments.engine,) = given
    elif arguments.engine is None and arguments.format != "onnx":
        from zoo.serving.export import model_server as server

        try:
            server.server_command("")
            arguments.engine = "tensorflow"
        except FileNotFoundError as error:
            why = str(error).partition(". ")[0]
            progress(f"{why}: serving by Ray Serve, which needs neither")
    arguments.engine = arguments.engine or "ray"
    for option, engine in OWN.items():
        if getattr(arguments, option) and arguments.engine != engine:
            raise BadInput(
                f"{as_options([option])} goes with --engine {engine}, received "
                f"--engine {arguments.engine}"
            )
    if arguments.engine == "ray" and not arguments.intra_op_threads:
        raise BadInput("--intra-op-threads 0 goes with --engine tensorflow")
    with bad_input():
        names = "replicas", "min_replicas", "max_replicas"
        replicas = {name: getattr(arguments, name) for name in names}
        read_options({"models": {"": ""}, **replicas})


def _format(arguments, names):
    """Returns the format of the exports that the engine is to serve."""
    others = [name for name in names if not _is_served_as_graphs(name)]
    if arguments.engine == "tensorflow":
        if arguments.format == "onnx":
            raise BadInput("--engine tensorflow serves --format savedmodel alone")
        return "savedmodel"
    if arguments.format == "onnx" and others:
        raise BadInput(
            "Ray Serve takes translators and captioners as ONNX exports; language "
            "models, taggers and classifiers with --format savedmodel; received "
            f"{' '.join(others)}"
        )
    return arguments.format or ("savedmodel" if others else "onnx")


def _command(arguments, folder, names):
    """Returns the command that starts the server."""
    common = {
        "port": arguments.port,
        "rest_port": arguments.rest_port,
        "batching": not arguments.no_batching,
    }
    threads = arguments.intra_op_threads
    if arguments.engine == "ray":
        from zoo.serving.server.server_options import ray_command

        own = [name for name, engine in OWN.items() if engine == "ray"]
        options = {name: getattr(arguments, name) for name in own}
        return ray_command(folder, names, threads=threads, **options, **common)
    from zoo.serving.export import model_server as server

    return server.server_command(
        folder,
        intra_op_threads=threads,
        image=arguments.image or server.IMAGE,
        **common,
    )


def _tell(arguments, command, missing, folder):
    """Prints what would be done."""
    for served, name in missing.items():
        progress(f"would export {name} to {Path(folder) / served}")
    if arguments.engine == "tensorflow":
        progress(f"would write the server's files to {folder}")
    if command:
        print(shlex.join(command), flush=True)


def _to_serve(name, folder):
    """Returns the served name, and why it has to be exported first, or None."""
    from zoo.presets.card import digest
    from zoo.serving import versions

    # An exported name is served as it is; a path always means a preset.
    if Path(name).name == name and versions(folder / name):
        return name, None
    preset = find_preset(name)
    served = model_name(name, preset)
    existing = versions(folder / served)
    if not existing:
        return served, f"{served} is not in {folder} yet"
    newest = folder / served / str(existing[-1])
    with bad_input():
        exported_preset = _preset_of(newest)
    if exported_preset is None:  # by `export_savedmodel` or `export_onnx`
        progress(f"{newest} doesn't say what preset it is of: serving it as it is")
    if exported_preset in (None, digest(preset)):
        return served, None
    return served, f"{newest} was not exported from {name}"


def _is_served_as_graphs(name):
    """Returns whether Ray's server takes a preset's ONNX export, as far as is known."""
    from zoo import presets
    from zoo.presets.card import CARD_FILE, read_card
    from zoo.serving.protocol import SERVED_GRAPHS

    card = presets.pending(name)
    # What is no preset is exported already.
    with contextlib.suppress(BadInput, presets.PresetError):
        if not card and ((preset := find_preset(name)) / CARD_FILE).is_file():
            card = read_card(preset)
    return card is None or card.task in SERVED_GRAPHS


def _preset_of(version):
    """Returns the digest of the preset that a version was exported from, or None."""
    from zoo.serving import read_metadata
    from zoo.serving.export import manifest

    if (version / manifest.MANIFEST).is_file():
        return manifest.read_manifest(version).get("preset")
    return read_metadata(version).get("preset")


def _threads(text):
    return 0 if text == "0" else count(text)
