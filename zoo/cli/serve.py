"""The command `zoo serve`."""

import argparse
import contextlib
import os
import shlex
from pathlib import Path

from zoo.cli.common import (
    BadInput,
    add_presets,
    as_options,
    count,
    every_preset,
    option,
    progress,
)
from zoo.cli.export import FOLDERS, export_preset
from zoo.cli.presets import card_of, find_preset, model_name
from zoo.serving.server.server_options import read_options

HELP = "run a model server"
EXAMPLE = "zoo serve luong_local"

# Option -> the engine that has it.
OWN = {
    "image": "tensorflow",
    **dict.fromkeys(("replicas", "min_replicas", "max_replicas", "host"), "ray"),
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo serve` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.description = f"{HELP}; presets are exported if necessary"
    text = "TensorFlow Serving, or Ray Serve, by pip (default: tensorflow if its server"
    option(command, "--engine", f"{text} or Docker is here)", ("tensorflow", "ray"))
    text = "of exports (default: onnx for ray where it serves the tasks so)"
    option(command, "--format", text, (*FOLDERS,))
    text = "folder of the exported models (default exports, exports/onnx)"
    option(command, "--folder FOLDER", text)
    option(command, "--port PORT", "gRPC (default 8500)", count, default=8500)
    option(command, "--rest-port PORT", "REST (default 8501)", count, default=8501)
    text = "threads per operation; 0: the server's choice (default 1)"
    option(command, "--intra-op-threads N", text, _threads, default=1)
    option(command, "--image IMAGE", "Docker image (default: see docs/serving.md)")
    text = "Ray: replicas, processes that serve (default 1)"
    option(command, "--replicas N", text, count)
    text = "Ray: minimum replicas, with autoscaling (default 1)"
    option(command, "--min-replicas N", text, count)
    text = "Ray: maximum replicas; turns autoscaling on"
    option(command, "--max-replicas N", text, count)
    text = "Ray: REST's address (default 127.0.0.1; 0.0.0.0: that of every network)"
    option(command, "--host HOST", text)
    option(command, "--no-batching", "run each request on its own")
    text = "export, write the server's files and print its command, but do not start it"
    option(command, "--no-start", text)
    option(command, "--dry-run", "print what would be done, and do nothing")


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
    given = every_preset(arguments)
    _choose_engine(arguments)
    form = _format(arguments, given)
    folder = arguments.folder or FOLDERS[form]
    # First, since the rest is useless without a server.
    try:
        startable = bool(_command(arguments, folder, []))
    except (FileNotFoundError, ImportError) as error:
        if not arguments.no_start and not arguments.dry_run:
            raise
        progress(str(error))
        startable = False
    names, missing = _served_names(given, Path(folder))
    command = _command(arguments, folder, names) if startable else None
    tensorflow = arguments.engine == "tensorflow"
    if arguments.dry_run:
        for served, name in missing.items():
            progress(f"would export {name} to {Path(folder) / served}")
        if tensorflow:
            progress(f"would write the server's files to {folder}")
    else:
        for name in missing.values():  # Ray's server needs no warm-up requests
            if code := export_preset(name, folder, form, warmup=tensorflow):
                return code
        if tensorflow:
            from zoo.serving.export import model_server as server

            progress(f"wrote {server.write_server_files(folder, names)}")
    if command is None:
        return None
    if not arguments.dry_run:
        progress(f"gRPC at port {arguments.port}, REST at port {arguments.rest_port}")
    print(shlex.join(command), flush=True)
    if not arguments.no_start and not arguments.dry_run:
        os.execvp(command[0], command)
    return None


def _served_names(given, folder):
    """Returns the names of the models, and name -> preset of those to export first."""
    names, missing = [], {}
    for name in given:
        served, reason = _to_serve(name, folder)
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
    return names, missing


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
    for name, engine in OWN.items():
        if getattr(arguments, name) and arguments.engine != engine:
            raise BadInput(
                f"{as_options([name])} goes with --engine {engine}, received "
                f"--engine {arguments.engine}"
            )
    if arguments.engine == "ray" and not arguments.intra_op_threads:
        raise BadInput("--intra-op-threads 0 goes with --engine tensorflow")
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
    exported_preset = _preset_of(newest)
    if exported_preset is None:  # by `export_savedmodel` or `export_onnx`
        progress(f"{newest} doesn't say what preset it is of: serving it as it is")
    if exported_preset in (None, digest(preset)):
        return served, None
    return served, f"{newest} was not exported from {name}"


def _is_served_as_graphs(name):
    """Returns whether Ray's server takes a preset's ONNX export, as far as is known."""
    from zoo.serving.protocol import SERVED_GRAPHS

    card = None
    # What is no preset is exported already.
    with contextlib.suppress(ValueError):
        card = card_of(find_preset(name))
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
