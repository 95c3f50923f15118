"""The command `zoo explore`: a page in which models show what they look at."""

import argparse
import subprocess
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import zoo
from zoo.cli.common import (
    BadInput,
    add_presets,
    as_options,
    bad_input,
    count,
    every_preset,
    option,
    progress,
)
from zoo.cli.export import needs_process, run_under_tensorflow
from zoo.cli.presets import find_preset, model_name
from zoo.files import cache_folder
from zoo.presets.card import digest
from zoo.serving.export.manifest import MANIFEST

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
    option(command, "--host HOST", text)
    option(command, "--port PORT", "(default 8650)", count)
    option(command, "--open", "open the page in the browser")


def run(arguments: argparse.Namespace) -> int | None:
    """Runs `zoo explore`; returns the exit code of another process that exported."""
    site = arguments.site
    if site and not site.startswith(("https://", "http://")):
        raise BadInput(f"--site should be an address, as https://…, received {site}")
    given = ("host", "port", "open")
    if arguments.export and (wrong := [x for x in given if getattr(arguments, x)]):
        raise BadInput(f"--export serves nothing, received also {as_options(wrong)}")
    named = bool(arguments.preset or arguments.words)
    chosen = _found(every_preset(arguments) if named else EXPLORED)
    if not arguments.export:
        return _serve(chosen, arguments)
    code = _export(arguments.export, chosen, site)
    if not code:
        print(arguments.export)
    return code


def _export(folder: str, presets: Presets, site: str | None = None) -> int | None:
    from zoo.serving.export.export_folder import require_packages

    require_packages("onnx")
    if needs_process():
        words = ["explore", "--export", folder, *(str(path) for _, path in presets)]
        words += ["--site", site] if site else []
        return run_under_tensorflow(words, stdout=subprocess.DEVNULL)
    from zoo.explorer.folder import write_folder

    progress(f"exporting {' '.join(name for name, _ in presets)}")
    with bad_input():
        infos = write_folder(folder, presets, site)
    for info in infos:
        progress(f"{info['name']}: {info['bytes'] / 1e6:.1f} MB ({info['dtype']})")
    return None


def _serve(presets: Presets, arguments: argparse.Namespace) -> int | None:
    from zoo.explorer.folder import write_folder
    from zoo.explorer.static_server import StaticServer, is_loopback

    host, port = arguments.host or "127.0.0.1", arguments.port or 8650
    shown = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "page"
        # What makes an address unusable comes before the work.
        with bad_input(OSError, f"{shown} cannot be served, choose another by --port"):
            server = StaticServer(page, host, port)
        with server:
            models = _exported(presets)
            with bad_input():
                write_folder(page, presets, arguments.site, models)
            if not is_loopback(host):
                progress(
                    f"warning: whoever can reach {host} can fetch these models; there "
                    "is no password and no encryption"
                )
            progress(f"{shown} (Ctrl-C ends it)")
            if arguments.open:
                webbrowser.open(shown)
            server.serve_forever()
    return None


def _exported(presets: Presets) -> dict[str, Path]:
    """Names of models and their folders in the cache, exported if they are new."""
    cache = cache_folder() / "explorer" / zoo.__version__
    models = {name: cache / digest(path)[:16] / name for name, path in presets}
    new = [x for x in presets if not (models[x[0]] / MANIFEST).is_file()]
    if not new:
        return models
    progress(f"exporting to {cache}, once")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=cache) as temporary:
        page = Path(temporary) / "page"
        if _export(str(page), new):
            raise BadInput(f"{' '.join(name for name, _ in new)} cannot be exported")
        for name, _ in new:
            models[name].parent.mkdir(exist_ok=True)
            try:
                (page / "models" / name).rename(models[name])
            except OSError:  # another process was faster
                if not models[name].is_dir():
                    raise
    return models


def _found(names):
    """Names and folders of presets that translate."""
    found = [(name, find_preset(name, "translate")) for name in names]
    named = [(model_name(name, folder), folder) for name, folder in found]
    if len(dict(named)) < len(named):
        raise BadInput(f"model names must be unique, received {' '.join(names)}")
    return named
