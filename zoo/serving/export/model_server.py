"""The configuration files and command line of a TensorFlow model server."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from zoo.files import StrPath, write_bytes
from zoo.serving.export.manifest import versions
from zoo.serving.protocol import MAX_ROWS

BINARY = "tensorflow_model_server"
# Not older than the TensorFlow that exports, whose operations it has to know.
IMAGE = "tensorflow/serving:2.21.0"
MODELS, BATCHING = "models.config", "batching.config"
INSTALL = (
    f"Either is enough: Docker (https://docs.docker.com/get-docker/), which fetches "
    f"{IMAGE}, or the binary from TensorFlow's apt repository: "
    "https://www.tensorflow.org/tfx/serving/setup#installing_modelserver. "
    "`--engine ray` needs neither"
)
# `batching.config`: requests that wait together are run together.
BATCHING_TEXT = f"""\
max_batch_size {{ value: {MAX_ROWS} }}
batch_timeout_micros {{ value: 2000 }}
max_enqueued_batches {{ value: 100 }}
"""


def write_server_files(folder: StrPath, names: Iterable[str]) -> Path:
    """Writes `models.config` and `batching.config`.

    The server loads the newest version of each model, and later exports at once.

    Args:
        folder: the folder with the models' folders.
        names: the models.

    Returns:
        The path of `models.config`.

    Raises:
        ValueError: for a model without an exported version.
    """
    folder = Path(folder).resolve()  # the server needs absolute paths
    lines = []
    for name in names:
        if not versions(folder / name):
            raise ValueError(
                f"{folder / name} should hold a version, as `zoo export` writes it. "
                "Received: none"
            )
        quoted = (json.dumps(x, ensure_ascii=False) for x in (name, str(folder / name)))
        line = 'config {{ name: {} base_path: {} model_platform: "tensorflow" }}\n'
        lines.append(line.format(*quoted))
    # Atomically, since a server may be reading them.
    text = f"model_config_list {{\n{''.join(lines)}}}\n"
    write_bytes(folder / MODELS, text.encode())
    write_bytes(folder / BATCHING, BATCHING_TEXT.encode())
    return folder / MODELS


def server_command(
    folder: StrPath, port: int = 8500, rest_port: int = 8501
) -> list[str]:
    """Returns the command that starts the model server: its binary, or else Docker.

    Args:
        folder: the folder of `write_server_files`.
        port: gRPC port.
        rest_port: REST port.

    Raises:
        FileNotFoundError: with neither; the message says how to get one.
    """
    folder = Path(folder).resolve()
    options = [
        f"--model_config_file={folder / MODELS}",
        "--enable_batching=true",
        f"--batching_parameters_file={folder / BATCHING}",
        # A sentence's products are too small for more threads, and concurrent requests
        # use all cores anyway.
        "--tensorflow_intra_op_parallelism=1",
    ]
    if shutil.which(BINARY):
        return [BINARY, f"--port={port}", f"--rest_api_port={rest_port}", *options]
    if not shutil.which("docker"):
        raise FileNotFoundError(f"no {BINARY} on PATH, and no docker. {INSTALL}")
    ports = ["-p", f"{port}:8500", "-p", f"{rest_port}:8501"]
    # The same paths inside: one set of files serves both.
    volume = ["-v", f"{folder}:{folder}:ro"]
    options = ["--port=8500", "--rest_api_port=8501", *options]
    # Signals stop neither the shell that is the image's entry point, nor the first
    # process of a container, which is Docker's with --init.
    start = ["--init", "--entrypoint", BINARY]
    return ["docker", "run", "--rm", *start, *ports, *volume, IMAGE, *options]
