"""TensorFlow Serving's gRPC API: what its methods answer."""

from typing import Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

from zoo.serving.server.rest import Models, read_values, served_model
from zoo.serving.server.signatures import (
    MAX_REQUEST_BYTES,
    Refusal,
    internal,
    invalid,
)
from zoo.strings import describe

_REQUESTS = {
    "Predict": predict_pb2.PredictRequest,
    "GetModelMetadata": get_model_metadata_pb2.GetModelMetadataRequest,
    "GetModelStatus": get_model_status_pb2.GetModelStatusRequest,
}
_STRING, _FLOAT = 7, 1  # of the enum DataType
_SIGNATURES = "signature_def"  # the only metadata that there is


async def answer_grpc(models: Models, method: str, data: bytes) -> Any:
    """Returns the message that answers the bytes of a request, or a refusal.

    Args:
        models: the served models by name.
        method: "Predict", "GetModelMetadata" or "GetModelStatus".
        data: the request's message.
    """
    with internal(method):
        if len(data) > MAX_REQUEST_BYTES:
            text = f"a request may have {MAX_REQUEST_BYTES:,} bytes"
            raise Refusal("RESOURCE_EXHAUSTED", f"{text}, received {len(data):,}")
        try:
            request = _REQUESTS[method].FromString(data)
        except DecodeError as error:
            raise invalid(f"{method}: {error}") from None
        spec = request.model_spec
        if not spec.name:
            raise invalid("Missing ModelSpec")
        model = served_model(models, spec.name)
        version = spec.version.value if spec.HasField("version") else None
        if method == "GetModelStatus":
            status = model.status(version, spec.version_label)
            answer = get_model_status_pb2.GetModelStatusResponse()
            return json_format.ParseDict(status, answer)
        number = model.find(version, spec.version_label)
        if method == "Predict":
            return await _predict(model, number, request)
        return _metadata(model, number, request)


async def _predict(model, number, request):
    name = request.model_spec.signature_name
    signature = model.signature(name, number)
    wanted = list(request.output_filter) or list(signature.outputs)
    if not set(wanted) <= set(signature.outputs) or len(set(wanted)) < len(wanted):
        raise invalid(
            f"output_filter must name outputs of {list(signature.outputs)}, each once, "
            f"received {describe(wanted)}"
        )
    # Before any text is read.
    if set(request.inputs) != set(signature.inputs):
        raise invalid(
            f"expected the inputs {list(signature.inputs)}, received "
            f"{describe(sorted(request.inputs))}"
        )
    inputs = {key: _read(tensor, key) for key, tensor in request.inputs.items()}
    outputs = await model.answer(signature, inputs)
    answer = predict_pb2.PredictResponse()
    answer.model_spec.name, answer.model_spec.signature_name = model.name, name
    answer.model_spec.version.value = number
    for key in wanted:
        _write(outputs[key], answer.outputs[key])
    return answer


def _metadata(model, number, request):
    if list(request.metadata_field) != [_SIGNATURES]:
        raise invalid(
            f"metadata_field must be {_SIGNATURES!r}, received "
            f"{describe(list(request.metadata_field))}"
        )
    found = model.metadata(number)
    answer = get_model_metadata_pb2.GetModelMetadataResponse()
    json_format.ParseDict(found["model_spec"], answer.model_spec)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    json_format.ParseDict(found["metadata"][_SIGNATURES], signatures)
    answer.metadata[_SIGNATURES].Pack(signatures)
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
