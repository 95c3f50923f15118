"""The command lines that start the servers of this folder."""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

from zoo.files import StrPath

INSTALL = (
    'pip install "attention-zoo[kserve]", in an environment of its own if other '
    "packages need protobuf 7"
)


def kserve_command(
    folder: StrPath,
    names: Iterable[str],
    port: int = 8500,
    rest_port: int = 8501,
    threads: int = 1,
    batching: bool = True,
) -> list[str]:
    """Returns the command that starts KServe's Python server.

    Args:
        folder: the folder with the models' folders.
        names: the models.
        port: gRPC port.
        rest_port: REST port.
        threads: threads of one operation.
        batching: whether requests are batched.

    Raises:
        ImportError: without kserve.
    """
    if importlib.util.find_spec("kserve") is None:
        raise ImportError(f"there is no kserve here: {INSTALL}", name="kserve")
    folder = Path(folder).resolve()
    return [
        *(sys.executable, "-m", "zoo.servers.kserve"),
        *(f"{name}={folder / name}" for name in names),
        *("--port", str(port), "--rest-port", str(rest_port)),
        *("--threads", str(threads)),
        *([] if batching else ["--batch-size", "1"]),
    ]
