"""`Predict` of TensorFlow Serving's gRPC API."""

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import predict_pb2

from zoo.serving.server.rest import Models, Run, find_model, read_values
from zoo.serving.server.served_model import MAX_REQUEST_BYTES, Refusal, invalid
from zoo.strings import describe

_STRING, _FLOAT = 7, 1  # of the enum DataType


async def answer_grpc(models: Models, run: Run, data: bytes) -> Any:
    """Returns the PredictResponse to the bytes of a PredictRequest, or a refusal.

    It has all outputs: an `output_filter` is not read.
    """
    if len(data) > MAX_REQUEST_BYTES:
        text = f"a request may have {MAX_REQUEST_BYTES:,} bytes"
        raise Refusal("RESOURCE_EXHAUSTED", f"{text}, received {len(data):,}")
    try:
        request = predict_pb2.PredictRequest.FromString(data)
    except DecodeError as error:
        raise invalid(f"Predict: {error}") from None
    spec = request.model_spec
    version = spec.version.value if spec.HasField("version") else None
    model = find_model(models, spec.name, version)
    names = model.signature(spec.signature_name).inputs
    if set(request.inputs) != set(names):  # before any text is read
        found = describe(sorted(request.inputs))
        raise invalid(f"expected the inputs {list(names)}, received {found}")
    inputs = {key: _read(tensor, key) for key, tensor in request.inputs.items()}
    outputs = await run(model.request(spec.signature_name, inputs))
    answer = predict_pb2.PredictResponse(model_spec=spec)
    answer.model_spec.version.value = model.version
    for key, array in outputs.items():
        _write(array, answer.outputs[key])
    return answer


def _read(tensor, name):
    """Returns the values of a TensorProto of strings, `(B,)`; see `read_values`."""
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    values = list(tensor.string_val)
    # TensorFlow repeats the last value for those that are left out. Here that would
    # make a request of 8 MB one of gigabytes.
    whole = sizes == [len(values)] and not tensor.tensor_shape.unknown_rank
    if tensor.dtype != _STRING or tensor.tensor_content or not whole:
        raise invalid(
            f"{name} must be a tensor of strings (B,), received the type "
            f"{tensor.dtype} of the shape {describe(sizes)} with {len(values)} strings",
        )
    return read_values(values, name)


def _write(array: np.ndarray, tensor: Any) -> None:
    """Fills a TensorProto."""
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        tensor.dtype = _STRING
        tensor.string_val.extend(text.encode() for text in array.ravel())
    else:
        tensor.dtype = _FLOAT
        tensor.float_val.extend(array.ravel().tolist())
