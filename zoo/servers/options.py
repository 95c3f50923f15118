"""Arguments and logging that the servers' commands share."""

import argparse
import logging
import warnings
from collections.abc import Mapping
from typing import Any

# Option -> its default, and what it is.
COMMON = {
    "port": (8500, "gRPC port"),
    "rest_port": (8501, "REST port"),
    "threads": (1, "threads per operation"),
    "batch_size": (64, "texts that run together; 1: each request on its own"),
    "queue": (1024, "texts that may wait; further requests are refused"),
    "wait": (0.0, "seconds that an idle worker waits for more texts"),
    "timeout": (30.0, "seconds until a request is answered or given up"),
}


def make_parser(
    module: str, doc: str, options: Mapping[str, tuple[Any, str]]
) -> argparse.ArgumentParser:
    """Returns the parser of a server's command, `NAME=FOLDER ...` and its options.

    Args:
        module: the module that is run.
        doc: its docstring.
        options: further options, as in `COMMON`; one without a default is a type.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=doc.splitlines()[0]
    )
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER", type=_pair)
    for name, (default, text) in {**COMMON, **options}.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(default, type):
            parser.add_argument(flag, type=default, help=text)
        else:
            text = f"{text} (default {default})"
            parser.add_argument(flag, type=type(default), default=default, help=text)
    return parser


def set_up_logging() -> None:
    """Makes a server's process log what it loads, and no warning of each text."""
    warnings.simplefilter("ignore", UserWarning)  # of each text that is cut
    logging.basicConfig(format="%(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("zoo.servers").setLevel(logging.INFO)


def _pair(text):
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(f"expected NAME=FOLDER, received {text!r}")
    return name, folder
