"""The commands `export`, `serve` and `explore`."""

import argparse
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import webbrowser
from pathlib import Path

import zoo
from zoo.checks import need_packages
from zoo.cli.common import (
    BadInput,
    command,
    count,
    given,
    option,
    preset,
    progress,
    words,
)
from zoo.cli.presets import (
    check_runs,
    find_preset,
    model_name,
    needs_process,
    run_under_tensorflow,
    start_keras,
)
from zoo.files import cache_folder
from zoo.presets import registry
from zoo.presets.card import digest
from zoo.serving.export.manifest import newest, read_manifest, versions, write_version

# Format -> the default folder of models in it.
_FOLDERS = {
    "savedmodel": "exports",
    "onnx": "exports/onnx",
    "ctranslate2": "exports/ctranslate2",
}
# All but the first are limits of a SavedModel; the others' are given to each call.
_OPTIONS = (
    option("--quantize", "of the weights, unless a SavedModel's", ("int8",)),
    option("--beam-size K", "hypotheses of the beam search (default 5)", count),
    option("--length-penalty ALPHA", "of Wu et al. 2016; 0: none (default 1)", float),
    option("--max-length N", "longest output (default: 2 * source + 10)", count),
)


@command(
    "zoo export luong_local",
    preset(),
    words(
        "out", "OUT", "folder of models (default exports, exports/FORMAT)", nargs="?"
    ),
    option(
        "--format",
        "a SavedModel (the default); without Keras: graphs for ONNX Runtime, or a "
        "Transformer for CTranslate2",
        (*_FOLDERS,),
        default="savedmodel",
    ),
    *_OPTIONS,
)
def export(arguments: argparse.Namespace) -> int | None:
    """Writes a SavedModel that takes text, ONNX graphs, or a model of CTranslate2."""
    from zoo import serving

    name, form, options = arguments.preset, arguments.format, given(arguments, _OPTIONS)
    saved = form == "savedmodel"
    if wrong := [key for key in options if (key == "quantize") == saved]:
        raise BadInput(f"--format {form} does not take {', '.join(wrong)}")
    folder = find_preset(name)
    if not saved:
        check_runs(form, name, folder)
    if form != "ctranslate2" and needs_process():
        return run_under_tensorflow(arguments.argv)
    start_keras(name, None)
    task = registry.load(folder)
    progress(f"exporting {name}")
    path = Path(arguments.out or _FOLDERS[form]) / model_name(name, folder)
    write = getattr(serving, f"export_{form}")
    return print(write(task, path, preset=digest(folder), **options))


# === Servers ===

_ENGINES = {"tensorflow": "savedmodel", "ray": "onnx"}  # -> the format they serve
_OF_RAY = (
    option("--replicas N", "Ray: processes that serve (default 1)", count),
    option("--max-replicas N", "Ray: at most so many, by the load", count),
    option("--host HOST", "Ray: REST's address (default 127.0.0.1)"),
)


@command(
    "zoo serve luong_local",
    preset(nargs="+"),
    option(
        "--engine",
        "TensorFlow Serving (the default where its server or Docker is), or Ray Serve",
        (*_ENGINES,),
    ),
    option("--folder FOLDER", "of the exports (default exports, exports/onnx)"),
    option("--port PORT", "gRPC (default 8500)", count, default=8500),
    option("--rest-port PORT", "REST (default 8501)", count, default=8501),
    *_OF_RAY,
    option("--no-start", "only export, and write the server's files"),
)
def serve(arguments: argparse.Namespace) -> int | None:
    """Runs a model server; exports presets if necessary.

    This process becomes the server.
    """
    from zoo.serving.export import model_server

    engine = arguments.engine or _engine_here()
    form = _ENGINES[engine]
    folder = Path(arguments.folder or _FOLDERS[form])
    if engine != "ray" and given(arguments, _OF_RAY):
        raise BadInput("--replicas, --max-replicas and --host go with --engine ray")
    # First, since the rest is useless without a server.
    argv = [] if arguments.no_start else _server(engine, folder, arguments)
    names, missing = _served(arguments.preset, folder, form)
    for name in missing:
        words = ["export", name, str(folder), "--format", form]
        if code := run_under_tensorflow(words):
            return code
    if engine == "ray":
        argv += [f"{name}={folder.resolve() / name}" for name in names]
    else:
        progress(f"wrote {model_server.write_server_files(folder, names)}")
    if arguments.no_start:
        return None
    progress(f"gRPC at port {arguments.port}, REST at port {arguments.rest_port}")
    print(shlex.join(argv), flush=True)
    return os.execvp(argv[0], argv)


def _server(engine, folder, arguments):
    """Returns the command that starts a server; Ray's then takes the models."""
    from zoo.serving.export.model_server import server_command

    if engine == "tensorflow":
        return server_command(folder, arguments.port, arguments.rest_port)
    need_packages("zoo serve", "ray", "ray")
    argv = [sys.executable, "-m", "zoo.serving.server.ray_serve"]
    ports = {"port": arguments.port, "rest_port": arguments.rest_port}
    for name, value in {**ports, **given(arguments, _OF_RAY)}.items():
        argv += [f"--{name.replace('_', '-')}", str(value)]
    return argv


def _engine_here():
    """Returns TensorFlow Serving where it can be started, or else Ray Serve."""
    from zoo.serving.export.model_server import BINARY

    docker = shutil.which("docker")
    runs = docker and subprocess.run([docker, "info"], capture_output=True)
    if shutil.which(BINARY) or (runs and not runs.returncode):
        return "tensorflow"
    progress(f"no {BINARY} on PATH, and no docker that runs: serving by Ray Serve")
    return "ray"


def _served(asked, folder, form):
    """The models' names, and the presets whose content is to be exported first."""
    names, missing = [], []
    for name in dict.fromkeys(asked):
        served = name
        if Path(name).name != name or not versions(folder / name):
            found = find_preset(name)
            if form == "onnx":
                check_runs(form, name, found)
            served = model_name(name, found)
            path = folder / served
            exported = versions(path) and read_manifest(newest(path)).get("preset")
            if exported != digest(found):
                progress(f"{served} in {folder} is not an export of {found} yet")
                missing.append(str(found))
        if served in names:
            raise BadInput(f"model names must be unique, received {' '.join(asked)}")
        names.append(served)
    return names, missing


# === The explorer ===

EXPLORED = ["luong_local", "bahdanau", "transformer"]


@command(
    "zoo explore luong_local",
    preset(f" (default: {' '.join(EXPLORED)})", nargs="*"),
    option("--export FOLDER", "write the page as a folder, for any web server"),
    option("--site URL", "address of the documentation, to link to"),
    option("--port PORT", "(default 8650)", count, default=8650),
    option("--open", "open the page in the browser"),
)
def explore(arguments: argparse.Namespace) -> int | None:
    """Shows translators at work, in the browser.

    A model is exported to the cache folder when it is first shown.
    """
    from zoo.explorer.folder import static_server, write_folder

    names = arguments.preset or EXPLORED
    cache, models = cache_folder() / "explorer" / zoo.__version__, {}
    for name in names:
        folder = find_preset(name, "translate")
        models[model_name(name, folder)] = folder, cache / digest(folder)[:16] / "1"
    if len(models) < len(names):
        raise BadInput(f"model names must be unique, received {' '.join(names)}")
    new = [pair for pair in models.values() if not pair[1].is_dir()]
    if new and needs_process():
        return run_under_tensorflow(arguments.argv)
    for folder, graphs in new:
        from zoo.explorer.graphs import write_model  # imports Keras

        progress(f"exporting {folder} to {graphs}, once")
        write_version(graphs.parent, functools.partial(write_model, zoo.load(folder)))
    with tempfile.TemporaryDirectory() as temporary:
        page = arguments.export or Path(temporary) / "page"
        for told in write_folder(page, models, arguments.site):
            progress(f"{told['name']}: {told['bytes'] / 1e6:.1f} MB ({told['dtype']})")
        if arguments.export:
            return print(page)
        shown = f"http://127.0.0.1:{arguments.port}"
        with static_server(page, port=arguments.port) as server:
            progress(f"{shown} (Ctrl-C ends it)")
            if arguments.open:
                webbrowser.open(shown)
            server.serve_forever()
    return None
