"""The command lines that start the servers of this folder."""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.files import StrPath

# Engine -> the packages without which it does not start.
_PACKAGES = {"kserve": ("kserve",), "ray": ("ray", "fastapi", "uvicorn", "grpc")}


def engine_command(
    engine: str,
    folder: StrPath,
    names: Iterable[str],
    port: int = 8500,
    rest_port: int = 8501,
    threads: int = 1,
    batching: bool = True,
    **options: Any,
) -> list[str]:
    """Returns the command that starts a server.

    Args:
        engine: "kserve" or "ray".
        folder: the folder with the models' folders.
        names: the models.
        port: gRPC port.
        rest_port: REST port.
        threads: threads of one operation.
        batching: whether requests are batched.
        **options: further options of the engine's own; None is left out.

    Raises:
        ImportError: without the engine's packages.
    """
    for package in _PACKAGES[engine]:
        if importlib.util.find_spec(package) is None:
            raise ImportError(
                f'there is no {package} here: pip install "attention-zoo[{engine}]", '
                "in an environment of its own if other packages need other versions",
                name=package,
            )
    folder = Path(folder).resolve()
    given = {"port": port, "rest_port": rest_port, "threads": threads, **options}
    if not batching:
        given["batch_size"] = 1
    command = [sys.executable, "-m", f"zoo.servers.{engine}"]
    command += [f"{name}={folder / name}" for name in names]
    for name, value in given.items():
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    return command
