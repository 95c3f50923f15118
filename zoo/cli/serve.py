"""The command `zoo serve`."""

import argparse
import importlib.util
import os
import shlex
import sys
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
from zoo.cli.presets import find_preset, model_name

HELP = "run a model server"
EXAMPLE = "zoo serve luong_local"

_ENGINES = {"tensorflow": "savedmodel", "ray": "onnx"}  # and their default formats
# Option -> the engine that has it.
_OWN = {"image": "tensorflow", "replicas": "ray", "max_replicas": "ray", "host": "ray"}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo serve` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.description = f"{HELP}; presets are exported if necessary"
    text = "TensorFlow Serving, or Ray Serve, by pip (default: tensorflow if its server"
    option(command, "--engine", f"{text} or Docker is here)", (*_ENGINES,))
    option(command, "--format", "of exports (default: onnx for ray)", (*FOLDERS,))
    text = "folder of the exported models (default exports, exports/onnx)"
    option(command, "--folder FOLDER", text)
    option(command, "--port PORT", "gRPC (default 8500)", count, default=8500)
    option(command, "--rest-port PORT", "REST (default 8501)", count, default=8501)
    text = "threads per operation; 0: TensorFlow Serving's choice (default 1)"
    option(command, "--intra-op-threads N", text, _threads, default=1)
    option(command, "--image IMAGE", "Docker image (default: see docs/serving.md)")
    text = "Ray: replicas, processes that serve (default 1)"
    option(command, "--replicas --min-replicas N", text, count)
    text = "Ray: maximum replicas; turns autoscaling on"
    option(command, "--max-replicas N", text, count)
    text = "Ray: REST's address (default 127.0.0.1; 0.0.0.0: that of every network)"
    option(command, "--host HOST", text)
    option(command, "--no-batching", "run each request on its own")
    text = "export, write the server's files and print its command, but do not start it"
    option(command, "--no-start", text)


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
    engine = _engine(arguments)
    if engine == "ray" and not arguments.intra_op_threads:
        raise BadInput("--intra-op-threads 0 goes with --engine tensorflow")
    least, most = arguments.replicas or 1, arguments.max_replicas
    if most and most < least:
        raise BadInput(f"--max-replicas must be {least} or more, received {most}")
    form = arguments.format or _ENGINES[engine]
    if (engine, form) == ("tensorflow", "onnx"):
        raise BadInput("--engine tensorflow serves --format savedmodel alone")
    folder = Path(arguments.folder or FOLDERS[form])
    make_command = _tensorflow_command if engine == "tensorflow" else _ray_command
    try:  # first, since the rest is useless without a server
        startable = bool(make_command(arguments, folder, []))
    except (FileNotFoundError, ImportError) as error:
        if not arguments.no_start:
            raise
        progress(str(error))
        startable = False
    names, missing = _served_names(given, folder)
    for name in missing.values():  # Ray's server needs no warm-up requests
        if code := export_preset(name, folder, form, warmup=engine == "tensorflow"):
            return code
    if engine == "tensorflow":
        from zoo.serving.export import model_server

        progress(f"wrote {model_server.write_server_files(folder, names)}")
    if startable:
        command = make_command(arguments, folder, names)
        progress(f"gRPC at port {arguments.port}, REST at port {arguments.rest_port}")
        print(shlex.join(command), flush=True)
        if not arguments.no_start:
            os.execvp(command[0], command)
    return None


def _engine(arguments):
    """Returns `--engine`, or that of the other options, or one that can be started."""
    found = arguments.engine
    for name, engine in _OWN.items():
        if getattr(arguments, name) and (found := found or engine) != engine:
            raise BadInput(f"{as_options([name])} goes with --engine {engine}")
    if found or arguments.format == "onnx":
        return found or "ray"
    from zoo.serving.export import model_server

    try:
        model_server.server_command("")
    except FileNotFoundError as error:
        why = str(error).partition(". ")[0]
        progress(f"{why}: serving by Ray Serve, which needs neither")
        return "ray"
    return "tensorflow"


def _threads(text):
    return 0 if text == "0" else count(text)


def _tensorflow_command(arguments, folder, names):
    from zoo.serving.export import model_server

    return model_server.server_command(
        folder,
        arguments.port,
        arguments.rest_port,
        batching=not arguments.no_batching,
        intra_op_threads=arguments.intra_op_threads,
        image=arguments.image or model_server.IMAGE,
    )


def _ray_command(arguments, folder, names):
    for package in ("ray", "fastapi", "uvicorn", "grpc"):
        if importlib.util.find_spec(package) is None:
            text = f'Ray Serve needs {package}: pip install "attention-zoo[ray]"'
            raise ImportError(text, name=package)
    given = {
        "threads": arguments.intra_op_threads,
        "port": arguments.port,
        "rest-port": arguments.rest_port,
        "batch-size": 1 if arguments.no_batching else None,
        "replicas": arguments.replicas,
        "max-replicas": arguments.max_replicas,
        "host": arguments.host,
    }
    command = [sys.executable, "-m", "zoo.serving.server.ray_serve"]
    command += [f"{name}={folder.resolve() / name}" for name in names]
    for name, value in given.items():
        command += [] if value is None else [f"--{name}", str(value)]
    return command


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


def _preset_of(version):
    """Returns the digest of the preset that a version was exported from, or None."""
    from zoo.serving import read_metadata
    from zoo.serving.export import manifest

    if (version / manifest.MANIFEST).is_file():
        return manifest.read_manifest(version).get("preset")
    return read_metadata(version).get("preset")
