"""The configuration files and command line of a TensorFlow model server."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from zoo.files import StrPath, write_bytes
from zoo.serving.export.export_folder import require_packages, versions

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
# `batching.config`: requests that wait together are run together.
BATCHING_TEXT = f"""\
max_batch_size {{ value: {MAX_BATCH_SIZE} }}
batch_timeout_micros {{ value: 2000 }}
max_enqueued_batches {{ value: 100 }}
"""
# `monitoring.config`: metrics for Prometheus at the REST port.
MONITORING_TEXT = """\
prometheus_config {
  enable: true
  path: "/monitoring/prometheus/metrics"
}
"""


def write_server_files(folder: StrPath, names: Iterable[str]) -> Path:
    """Writes `models.config`, `batching.config` and `monitoring.config`.

    The server loads the three newest versions of each model. The label "stable" is the
    newest version, "previous" the one before it. Later exports are loaded at once, and
    labelled by `refresh_labels`, which `zoo export` calls.

    Args:
        folder: the folder with the models' folders.
        names: the models.

    Returns:
        The path of `models.config`.

    Raises:
        ValueError: for a model without an exported version.
        ImportError: without tensorflow-serving-api.
    """
    folder = Path(folder).resolve()  # the server needs absolute paths
    config = _config("")
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
    write_bytes(folder / MODELS, str(config).encode())
    write_bytes(folder / BATCHING, BATCHING_TEXT.encode())
    write_bytes(folder / MONITORING, MONITORING_TEXT.encode())
    return folder / MODELS


def refresh_labels(folder: StrPath, name: str) -> bool:
    """Moves a model's labels in `models.config` after an export.

    A model server reads the file once a minute. A `stable` that somebody put on another
    version than the previously newest stays, and so do those of chosen versions.

    Args:
        folder: the folder with the models' folders.
        name: the model.

    Returns:
        Whether the labels have changed.
    """
    path = Path(folder) / MODELS
    if not path.is_file():
        return False
    config = _config(path.read_text(encoding="utf-8"))
    for model in config.model_config_list.config:
        before = versions(model.base_path)[-2:-1]
        latest = model.name == name and model.model_version_policy.HasField("latest")
        if latest and [model.version_labels["stable"]] == before:
            _label(model)
            write_bytes(path, str(config).encode())
            return True
    return False


def _config(text):
    """Returns the server's own message of `models.config`."""
    require_packages("warmup")
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    return text_format.Parse(text, model_server_config_pb2.ModelServerConfig())


def _label(model):
    """Labels a model's newest versions."""
    for label, version in zip(LABELS, versions(model.base_path)[::-1], strict=False):
        model.version_labels[label] = version


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
    if not _docker_runs():
        raise FileNotFoundError(
            f"no {BINARY} on PATH, and no docker with a running daemon. {INSTALL}"
        )
    ports = ["-p", f"{port}:8500", "-p", f"{rest_port}:8501"]
    # The same paths inside: one set of files serves both.
    volume = ["-v", f"{folder}:{folder}:ro"]
    options = ["--port=8500", "--rest_api_port=8501", *options]
    # Signals stop neither the shell that is the image's entry point, nor the first
    # process of a container, which is Docker's with --init.
    start = ["--init", "--entrypoint", BINARY]
    return ["docker", "run", "--rm", *start, *ports, *volume, image, *options]


def _docker_runs():
    """Returns whether Docker is here, and its daemon answers."""
    if not shutil.which("docker"):
        return False
    try:
        done = subprocess.run(["docker", "version"], capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return False
    return not done.returncode
