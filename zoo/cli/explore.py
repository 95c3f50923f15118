"""The command `zoo explore`: a page in which models show what they look at."""

import argparse
import threading
import webbrowser

from zoo import presets
from zoo.backend import BACKENDS
from zoo.cli.common import (
    BadInput,
    add_presets,
    as_options,
    bad_input,
    count,
    every_preset,
    progress,
)
from zoo.cli.export import model_name, needs_process, run_under_tensorflow
from zoo.cli.presets import choose_backend, find_preset, start_keras

HELP = "see models at work, in the browser"
EXAMPLE = "zoo explore luong_local"

EXPORTED = ("luong_local", "bahdanau", "transformer")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo explore` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.usage = (
        f"{command.prog} [PRESET ...] [--open] [--host HOST] [--port PORT]\n"
        f"       {command.prog} [PRESET ...] --export FOLDER"
    )
    command.description = (
        f"{HELP}:\nserves the page, whose models run in this process (default: all "
        "bundled\npresets), or writes it as a folder of plain files, whose models "
        "translate in\nthe browser (default: "
        f"{' '.join(EXPORTED)})"
    )
    text = "write the page with its models, for any web server"
    command.add_argument("--export", metavar="FOLDER", help=text)
    text = "address of the documentation, to link to (default: no links)"
    command.add_argument("--site", metavar="URL", help=text)
    text = "address to serve at (default 127.0.0.1, which this machine alone can reach)"
    command.add_argument("--host", help=text)
    command.add_argument("--port", type=count, help="(default 8650)")
    text = "open the page in the browser"
    command.add_argument("--open", action="store_true", help=text)
    text = "of the served models (default: Keras's own)"
    command.add_argument("--backend", choices=BACKENDS, help=text)


def run(arguments: argparse.Namespace) -> int | None:
    """Runs `zoo explore`.

    Returns:
        The exit code of the process that exported, or None.

    Raises:
        BadInput: if there is no such preset, it is to be exported and doesn't
            translate, or an option doesn't go with `--export`.
        ImportError: if a package is missing; the message names the extra.
    """
    site = arguments.site
    if site and not site.startswith(("https://", "http://")):
        raise BadInput(f"--site should be an address, as https://…, received {site}")
    if arguments.export:
        return _export(arguments)
    return _serve(arguments)


def _export(arguments):
    given = ("host", "port", "open", "backend")
    if wrong := [name for name in given if getattr(arguments, name)]:
        raise BadInput(f"--export serves nothing, received also {as_options(wrong)}")
    chosen = _named(_given(arguments) or EXPORTED, "translate")
    from zoo.serving.folder import require_onnx

    require_onnx()
    if needs_process():
        words = ["explore", "--export", arguments.export]
        words += ["--site", arguments.site] * bool(arguments.site)
        return run_under_tensorflow([*words, *(str(path) for _, path in chosen)])
    from zoo.explorer.folder import write_folder

    progress(f"exporting {' '.join(name for name, _ in chosen)}")
    with bad_input():
        infos = write_folder(arguments.export, chosen, arguments.site)
    for info in infos:
        progress(f"{info['name']}: {info['bytes'] / 1e6:.1f} MB ({info['dtype']})")
    print(arguments.export)
    return None


def _serve(arguments):
    from zoo.explorer import server

    server.require_server()
    chosen = _named(_given(arguments) or _here())
    host, port = arguments.host or "127.0.0.1", arguments.port or 8650
    choose_backend(arguments.backend)
    start_keras()
    if not server.is_loopback(host):
        progress(
            f"warning: whoever can reach {host} can use these models; there is no "
            "password and no encryption"
        )
    shown = f"[{host}]" if ":" in host else host
    progress(f"http://{shown}:{port} (Ctrl-C ends it)")
    if arguments.open:  # when it has started
        opening = threading.Timer(1.0, webbrowser.open, [f"http://{shown}:{port}"])
        opening.daemon = True
        opening.start()
    server.serve(chosen, host, port, arguments.site)


def _here():
    """Returns the presets that need no download, and tells which others there are."""
    names = [card.name for card in presets.list_presets()]
    if later := [name for name in names if presets.pending(name)]:
        progress(
            f"left out, since not downloaded yet: {', '.join(later)}; zoo explore NAME "
            "downloads those that it names"
        )
    return [name for name in names if name not in later]


def _given(arguments):
    return every_preset(arguments) if arguments.preset or arguments.words else []


def _named(names, task=None):
    """Names and folders of presets; see `find_preset` for the task."""
    found = [(name, find_preset(name, task)) for name in names]
    named = [(model_name(name, folder), folder) for name, folder in found]
    if len(dict(named)) < len(named):
        raise BadInput(f"model names must be unique, received {' '.join(names)}")
    return named
