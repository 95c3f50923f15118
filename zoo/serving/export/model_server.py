"""The configuration files and command line of a TensorFlow model server."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from zoo.files import StrPath, write_bytes
from zoo.serving.export.export_folder import require_serving_api, versions

BINARY = "tensorflow_model_server"
# Not older than the TensorFlow that exports, whose operations it has to know.
IMAGE = "tensorflow/serving:2.21.0"
MODELS, BATCHING, MONITORING = "models.config", "batching.config", "monitoring.config"
LABELS = "stable", "previous"  # for the newest version, and the one before it
VERSIONS = len(LABELS) + 1  # that are served: labels move some time after an export
MAX_BATCH_SIZE = 512  # also of a request: larger ones are rejected
INSTALL = (
    f"Either is enough: Docker (https://docs.docker.com/get-docker/), which fetches "
    f"{IMAGE}, or the binary from TensorFlow's apt repository: "
    "https://www.tensorflow.org/tfx/serving/setup#installing_modelserver. "
    "`--engine ray` needs neither"
)


def write_server_files(
    folder: StrPath, names: Iterable[str], allowed_batch_sizes: Iterable[int] = ()
) -> Path:
    """Writes `models.config`, `batching.config` and `monitoring.config`.

    The server loads the three newest versions of each model. The label "stable" is the
    newest version, "previous" the one before it. Later exports are loaded at once, and
    labelled by `refresh_labels`, which `zoo export` calls.

    Args:
        folder: the folder with the models' folders.
        names: the models.
        allowed_batch_sizes: see `batching_text`.

    Returns:
        The path of `models.config`.

    Raises:
        ValueError: for a model without an exported version, or a size below 1.
        ImportError: without tensorflow-serving-api.
    """
    require_serving_api()
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    batching = batching_text(allowed_batch_sizes)
    folder = Path(folder).resolve()  # the server needs absolute paths
    config = model_server_config_pb2.ModelServerConfig()
    for name in names:
        if not versions(folder / name):
            raise ValueError(
                f"{folder / name} should hold a version, as `zoo export` writes it. "
                "Received: none"
            )
        model = config.model_config_list.config.add(
            name=name, base_path=str(folder / name), model_platform="tensorflow"
        )
        model.model_version_policy.latest.num_versions = VERSIONS
        _label(model)
    # Atomically, since the server may be reading them.
    write_bytes(folder / MODELS, text_format.MessageToString(config).encode())
    write_bytes(folder / BATCHING, batching.encode())
    write_bytes(folder / MONITORING, monitoring_text().encode())
    return folder / MODELS


def refresh_labels(folder: StrPath, name: str) -> bool:
    """Moves a model's labels in `models.config` after an export.

    A model server reads the file once a minute. Manual changes are kept: other labels,
    `stable` on another version than the previously newest, another version policy. A
    file of another kind is left alone.

    Args:
        folder: the folder with the models' folders.
        name: the model.

    Returns:
        Whether the labels have changed.
    """
    path = Path(folder) / MODELS
    if not path.is_file():
        return False
    require_serving_api()
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    config = model_server_config_pb2.ModelServerConfig()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), config)
    except (text_format.ParseError, UnicodeDecodeError):
        return False
    for model in config.model_config_list.config:
        before, labels = versions(model.base_path)[:-1], dict(model.version_labels)
        if (
            model.name == name
            and model.model_version_policy.HasField("latest")
            and set(labels) <= set(LABELS)
            and before
            and labels.get("stable") == before[-1]
        ):
            _label(model)
            write_bytes(path, text_format.MessageToString(config).encode())
            return True
    return False


def _label(model):
    """Labels a model's newest versions."""
    for label, version in zip(LABELS, versions(model.base_path)[::-1], strict=False):
        model.version_labels[label] = version


def batching_text(allowed_batch_sizes: Iterable[int] = ()) -> str:
    """Returns `batching.config`, a BatchingParameters message as text.

    Requests that wait together are run together.

    Args:
        allowed_batch_sizes: sizes that the server pads batches to with copies of their
            first row; the largest is also the maximum size of batches and requests.
            Default: batches are not padded and have up to 512 rows. With sizes, a
            request without texts crashes the server (TensorFlow Serving 2.20), since it
            has no row to copy.

    Raises:
        ValueError: for a size below 1.
    """
    sizes = sorted(set(allowed_batch_sizes))
    if sizes and sizes[0] < 1:
        raise ValueError(f"Batch sizes must be from 1. Received: {sizes}")
    lines = [
        f"max_batch_size {{ value: {sizes[-1] if sizes else MAX_BATCH_SIZE} }}",
        "batch_timeout_micros { value: 2000 }",
        "max_enqueued_batches { value: 100 }",
        *(f"allowed_batch_sizes: {size}" for size in sizes),
    ]
    return "".join(f"{line}\n" for line in lines)


def monitoring_text(path: str = "/monitoring/prometheus/metrics") -> str:
    """Returns `monitoring.config`: metrics for Prometheus at the REST port."""
    return f'prometheus_config {{\n  enable: true\n  path: "{path}"\n}}\n'


def server_command(
    folder: StrPath,
    port: int = 8500,
    rest_port: int = 8501,
    batching: bool = True,
    intra_op_threads: int = 1,
    image: str = IMAGE,
) -> list[str]:
    """Returns the command that starts the model server: its binary, or else Docker.

    Args:
        folder: the folder of `write_server_files`.
        port: gRPC port.
        rest_port: REST port.
        batching: whether requests are batched.
        intra_op_threads: threads of one operation; 0 lets the server choose. A
            sentence's products are too small for more than one, and concurrent requests
            use all cores anyway.
        image: Docker image. Default: the TensorFlow Serving of zoo's TensorFlow.

    Raises:
        FileNotFoundError: with neither, or if Docker's daemon doesn't run; the message
            says how to get one.
    """
    folder = Path(folder).resolve()
    options = [
        f"--model_config_file={folder / MODELS}",
        "--model_config_file_poll_wait_seconds=60",
        # At start no version is loaded yet that could be labelled.
        "--allow_version_labels_for_unavailable_models=true",
        f"--monitoring_config_file={folder / MONITORING}",
        f"--tensorflow_intra_op_parallelism={intra_op_threads}",
    ]
    if batching:
        options.append("--enable_batching=true")
        options.append(f"--batching_parameters_file={folder / BATCHING}")
    if shutil.which(BINARY):
        return [BINARY, f"--port={port}", f"--rest_api_port={rest_port}", *options]
    if docker := shutil.which("docker"):
        if not _docker_runs(docker):
            raise FileNotFoundError(
                f"no {BINARY} on PATH, and docker without a running daemon. {INSTALL}"
            )
        ports = ["-p", f"{port}:8500", "-p", f"{rest_port}:8501"]
        # The same paths inside: one set of files serves both.
        volume = ["-v", f"{folder}:{folder}:ro"]
        options = ["--port=8500", "--rest_api_port=8501", *options]
        # Signals stop neither the shell that is the image's entry point, nor the first
        # process of a container, which is Docker's with --init.
        start = ["--init", "--entrypoint", BINARY]
        return ["docker", "run", "--rm", *start, *ports, *volume, image, *options]
    raise FileNotFoundError(f"no {BINARY} on PATH and no docker. {INSTALL}")


def _docker_runs(docker):
    """Returns whether Docker's daemon answers."""
    command = [docker, "version"]
    try:
        return not subprocess.run(command, capture_output=True, timeout=20).returncode
    except subprocess.TimeoutExpired:
        return False
