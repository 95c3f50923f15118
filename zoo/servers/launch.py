"""The command line that starts Ray's server."""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.files import StrPath

_PACKAGES = "ray", "fastapi", "uvicorn", "grpc"  # without which it does not start
INSTALL = 'pip install "attention-zoo[ray]"'


def ray_command(
    folder: StrPath, names: Iterable[str], batching: bool = True, **options: Any
) -> list[str]:
    """Returns the command that starts Ray's server.

    Args:
        folder: the folder with the models' folders.
        names: the models.
        batching: whether requests are batched.
        **options: options of `python -m zoo.servers.ray`; None is left out.

    Raises:
        ImportError: without Ray's packages.
    """
    for package in _PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ImportError(f"Ray Serve needs {package}: {INSTALL}", name=package)
    folder = Path(folder).resolve()
    if not batching:
        options["batch_size"] = 1
    command = [sys.executable, "-m", "zoo.servers.ray"]
    command += [f"{name}={folder / name}" for name in names]
    for name, value in options.items():
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    return command
