"""Requests that a model server runs before it accepts others."""

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.serving.export.export_folder import EXTRA, require_packages
from zoo.serving.protocol import make_tensor, takes_bytes

FILE = "tf_serving_warmup_requests"  # TensorFlow Serving's name for it
# (texts, words of each): the first request of each shape is slow.
SHAPES = ((1, 4), (1, 24), (8, 12), (32, 12))
# A white pixel, as PNG.
_IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJ"
    "RU5ErkJggg=="
)


def warmup_inputs(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields the inputs of a signature, by their names, for requests of each shape."""
    for count, words in SHAPES:
        text = " ".join(["a"] * words)
        yield {x: [_IMAGE if takes_bytes(x) else text] * count for x in names}


def write_warmup(folder: StrPath, metadata: dict[str, Any]) -> Path:
    """Writes a version's warm-up records, one for each signature and shape.

    `serving_default` has its own, since the server treats it as a separate signature.

    Args:
        folder: the version's folder.
        metadata: its metadata, as from `zoo.serving.read_metadata`.

    Returns:
        The path of the file, PredictionLogs in a TFRecord.

    Raises:
        ImportError: without tensorflow-serving-api.
    """
    require_packages("warmup")
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = Path(folder) / EXTRA / FILE
    signatures = metadata["signatures"]
    default = signatures[metadata["serving_default"]]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in {"serving_default": default, **signatures}.items():
            for given in warmup_inputs(inputs):
                record = prediction_log_pb2.PredictionLog()
                request = record.predict_log.request
                request.model_spec.name = metadata["name"]
                request.model_spec.signature_name = signature
                for name, values in given.items():
                    request.inputs[name].CopyFrom(make_tensor(values))
                writer.write(record.SerializeToString())
    return path
