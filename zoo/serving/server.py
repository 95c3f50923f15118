"""The files and the command line of a TensorFlow model server for exported models."""

import shutil
from pathlib import Path

from zoo.files import write_bytes
from zoo.serving.folder import require_serving_api, versions

BINARY = "tensorflow_model_server"
# Not older than the TensorFlow that writes the models: it may not know all operations.
IMAGE = "tensorflow/serving:2.21.0"
MODELS, BATCHING, MONITORING = "models.config", "batching.config", "monitoring.config"
LABELS = "stable", "previous"  # of the newest version, and the one before it
MAX_BATCH_SIZE = 512  # of a request too: a larger one is refused
INSTALL = (
    f"no {BINARY} on PATH and no docker. Either is enough: Docker "
    f"(https://docs.docker.com/get-docker/), which fetches {IMAGE}, or the binary from "
    "TensorFlow's apt repository: "
    "https://www.tensorflow.org/tfx/serving/setup#installing_modelserver"
)


def write_server_files(folder, names, allowed_batch_sizes=()):
    """Writes what a model server is started with: `models.config`, `batching.config`
    and `monitoring.config`.

    The three newest versions of each model are served. The label "stable" is the newest
    version, "previous" the one before it. A version that is exported later is loaded
    at once, and gets its label by `refresh_labels`, as `zoo export` calls it.

    Args:
        folder: path, the folder that the models' folders are in.
        names: list of str, the models.
        allowed_batch_sizes: see `batching_text`.

    Returns:
        `pathlib.Path` of `models.config`.

    Raises:
        ValueError: for a model that has not been exported, or a size below 1.
        ImportError: without tensorflow-serving-api.
    """
    require_serving_api()
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    batching = batching_text(allowed_batch_sizes)
    folder = Path(folder).resolve()  # the server takes absolute paths alone
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
        # One more than labels: those of before an export are there until they move.
        model.model_version_policy.latest.num_versions = len(LABELS) + 1
        _label(model)
    # One that is read while it is written would be half a file.
    write_bytes(folder / MODELS, text_format.MessageToString(config).encode())
    write_bytes(folder / BATCHING, batching.encode())
    write_bytes(folder / MONITORING, monitoring_text().encode())
    return folder / MODELS


def refresh_labels(folder, name):
    """Gives a model's labels in `models.config` to the version just exported and the
    one before.

    A model server reads the file once a minute. What somebody has changed stays as it
    is: other labels, `stable` on another version than the newest before, another
    policy than the newest versions; and so does a file of no model server.

    Args:
        folder: path, the folder that the models' folders are in.
        name: str, the model.

    Returns:
        Whether the labels are others now.
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


def batching_text(allowed_batch_sizes=()):
    """`batching.config`, a BatchingParameters message as text: requests that wait
    together are run together.

    Args:
        allowed_batch_sizes: sizes that the server fills batches up to with copies of
            their first row; the largest is the largest batch, and request, too.
            Default: a batch keeps its size, up to 512. With sizes a request without
            texts ends the server (TensorFlow Serving 2.20): it has no row to copy.

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


def monitoring_text(path="/monitoring/prometheus/metrics"):
    """`monitoring.config`, a MonitoringConfig message as text: figures for Prometheus
    at the REST port."""
    return f'prometheus_config {{\n  enable: true\n  path: "{path}"\n}}\n'


def server_command(
    folder, port=8500, rest_port=8501, batching=True, intra_op_threads=1, image=IMAGE
):
    """The command that starts the model server: the binary, or else Docker's.

    Args:
        folder: path, where `write_server_files` has written.
        port: of gRPC. Default 8500.
        rest_port: of REST. Default 8501.
        batching: whether requests are batched. Default True.
        intra_op_threads: threads of one operation; 0 lets the server choose. Default 1:
            a sentence's products are too small for more, and requests that come
            together use all cores nevertheless.
        image: Docker's. Default: the TensorFlow Serving of zoo's TensorFlow.

    Returns:
        A list of str.

    Raises:
        FileNotFoundError: with neither; the message says how to get one.
    """
    folder = Path(folder).resolve()
    options = [
        f"--model_config_file={folder / MODELS}",
        "--model_config_file_poll_wait_seconds=60",
        # At the start no version is loaded yet that a label could be given to.
        "--allow_version_labels_for_unavailable_models=true",
        f"--monitoring_config_file={folder / MONITORING}",
        f"--tensorflow_intra_op_parallelism={intra_op_threads}",
    ]
    if batching:
        options.append("--enable_batching=true")
        options.append(f"--batching_parameters_file={folder / BATCHING}")
    if shutil.which(BINARY):
        return [BINARY, f"--port={port}", f"--rest_api_port={rest_port}", *options]
    if shutil.which("docker"):
        ports = ["-p", f"{port}:8500", "-p", f"{rest_port}:8501"]
        # The same paths inside: one set of files serves both.
        volume = ["-v", f"{folder}:{folder}:ro"]
        options = ["--port=8500", "--rest_api_port=8501", *options]
        # The image's own entry point is a shell, which no signal ends; nor does one end
        # the first process of a container, which is Docker's with --init.
        start = ["--init", "--entrypoint", BINARY]
        return ["docker", "run", "--rm", *start, *ports, *volume, image, *options]
    raise FileNotFoundError(INSTALL)
