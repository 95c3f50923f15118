"""The command `zoo explore`: a page in which models show what they look at."""

import argparse
import subprocess
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import zoo
from zoo.cli.common import BadInput, add_presets, count, every_preset, option, progress
from zoo.cli.export import needs_process, run_under_tensorflow
from zoo.cli.presets import find_preset, model_name
from zoo.files import cache_folder
from zoo.presets.card import digest

HELP = "see translators at work, in the browser"
EXAMPLE = "zoo explore luong_local"

EXPLORED = ("luong_local", "bahdanau", "transformer")
Presets = Sequence[tuple[str, Path]]  # names and folders


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo explore` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.usage = (
        f"{command.prog} [PRESET ...] [--open] [--host HOST] [--port PORT]\n"
        f"       {command.prog} [PRESET ...] --export FOLDER"
    )
    command.description = (
        f"{HELP}:\nserves a page whose models run in the browser, or writes it as a "
        f"folder of\nplain files (default: {' '.join(EXPLORED)}).\n"
        "A model is exported to the cache folder when it is first served."
    )
    text = "write the page with its models, for any web server"
    option(command, "--export FOLDER", text)
    text = "address of the documentation, to link to (default: no links)"
    option(command, "--site URL", text)
    text = "address to serve at (default 127.0.0.1, which this machine alone can reach)"
    option(command, "--host HOST", text, default="127.0.0.1")
    option(command, "--port PORT", "(default 8650)", count, default=8650)
    option(command, "--open", "open the page in the browser")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo explore`."""
    named = bool(arguments.preset or arguments.words)
    names = every_preset(arguments) if named else EXPLORED
    folders = [(name, find_preset(name, "translate")) for name in names]
    presets = [(model_name(name, folder), folder) for name, folder in folders]
    if len(dict(presets)) < len(presets):
        raise BadInput(f"model names must be unique, received {' '.join(names)}")
    if arguments.export:
        _write(arguments.export, presets, arguments.site)
        print(arguments.export)
    else:
        _serve(presets, arguments)


def _write(folder: str | Path, presets: Presets, site: str | None) -> None:
    from zoo.explorer.folder import write_folder

    for info in write_folder(folder, _exported(presets), site):
        progress(f"{info['name']}: {info['bytes'] / 1e6:.1f} MB ({info['dtype']})")


def _serve(presets: Presets, arguments: argparse.Namespace) -> None:
    from zoo.explorer.folder import static_server

    host, port = arguments.host, arguments.port
    shown = f"http://{host}:{port}"
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "page"
        try:  # before the work
            server = static_server(page, host, port)
        except OSError as error:
            raise BadInput(f"{shown} cannot be served: {error.strerror}") from error
        with server:
            _write(page, presets, arguments.site)
            if host not in ("127.0.0.1", "localhost"):
                progress(
                    f"warning: whoever can reach {host} can fetch these models; there "
                    "is no password and no encryption"
                )
            progress(f"{shown} (Ctrl-C ends it)")
            if arguments.open:
                webbrowser.open(shown)
            server.serve_forever()


def _exported(presets: Presets) -> dict[str, tuple[Path, Path]]:
    """Name -> a preset's folder, and its graphs in the cache, exported if missing."""
    from zoo.serving.export.export_folder import require_packages

    cache = cache_folder() / "explorer" / zoo.__version__
    models = {name: (path, cache / digest(path)[:16]) for name, path in presets}
    new = {name: pair for name, pair in models.items() if not pair[1].is_dir()}
    if not new:
        return models
    require_packages("onnx")
    progress(f"exporting {' '.join(new)} to {cache}, once")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=cache) as temporary:
        if needs_process():
            # It fills the same cache.
            words = ["explore", "--export", str(Path(temporary) / "page")]
            words += [str(preset) for preset, _ in new.values()]
            if run_under_tensorflow(words, stdout=subprocess.DEVNULL):
                raise BadInput(f"{' '.join(new)} cannot be exported")
            return models
        for name, (preset, graphs) in new.items():
            part = Path(temporary) / name
            part.mkdir()
            _export(preset, part)
            if not graphs.is_dir():  # unless another command was faster
                part.rename(graphs)
    return models


def _export(preset: Path, folder: Path) -> None:
    from zoo.explorer.graphs import write_model

    write_model(zoo.load(preset), folder)
