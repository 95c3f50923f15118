"""The command `zoo serve`."""

import os
import shlex
from pathlib import Path

from zoo.cli.common import (
    BadInput,
    add_presets,
    bad_input,
    count,
    every_preset,
    progress,
)
from zoo.cli.export import FOLDER, export_preset, model_name
from zoo.cli.presets import find_preset

HELP = "run a TensorFlow model server"


def add_arguments(command):
    """Adds the arguments of `zoo serve` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.description = f"{HELP}; a preset that isn't exported yet is"
    text = "where the exported models are (default exports)"
    command.add_argument("--folder", default=FOLDER, help=text)
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
    text = "export, write the server's files, print its command, and don't start it"
    command.add_argument("--no-start", action="store_true", help=text)
    text = "say what would be done, and do nothing"
    command.add_argument("--dry-run", action="store_true", help=text)


def run(arguments):
    """Runs `zoo serve`: becomes the model server, unless it is told not to.

    Args:
        arguments: `argparse.Namespace` of the command.

    Returns:
        The exit code of an export that failed, or None.

    Raises:
        BadInput: if a name is no preset.
        FileNotFoundError: with neither the server's binary nor Docker, unless it is
            not to be started.
    """
    from zoo.serving import server

    given, names, folder = every_preset(arguments), [], arguments.folder
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
        if not arguments.no_start and not arguments.dry_run:
            raise
        progress(str(error))
        command = None
    missing = {}  # names to what has to be exported for them
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
    if arguments.dry_run:
        return _tell(command, missing, folder)
    for name in missing.values():
        if code := export_preset(name, folder):
            return code
    path = server.write_server_files(folder, names, arguments.allowed_batch_sizes)
    if command is None:
        progress(f"wrote {path}")
        return None
    progress(f"gRPC at port {arguments.port}, REST at port {arguments.rest_port}")
    print(shlex.join(command), flush=True)
    if not arguments.no_start:
        os.execvp(command[0], command)
    return None


def _tell(command, missing, folder):
    """Says what would be done, and does nothing."""
    for served, name in missing.items():
        progress(f"would export {name} to {Path(folder) / served}")
    progress(f"would write the server's files to {folder}")
    if command:
        print(shlex.join(command), flush=True)


def _to_serve(name, folder):
    """The name that is served, and why it has to be exported first, if it has."""
    from zoo.presets.card import digest
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
