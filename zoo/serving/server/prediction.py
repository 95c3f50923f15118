"""TensorFlow Serving's gRPC API: what its methods answer, for any gRPC server."""

import functools
from typing import Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from zoo.backend import quiet_start
from zoo.serving.server.rest import (
    Models,
    model_metadata,
    model_status,
    read_values,
    served_model,
)
from zoo.serving.server.server_options import INSTALL, MAX_REQUEST_BYTES
from zoo.serving.server.signatures import Refusal, internal, invalid
from zoo.strings import describe

# Service -> its methods; the service's others are UNIMPLEMENTED, as gRPC says itself.
SERVICES = {
    "tensorflow.serving.PredictionService": ("Predict", "GetModelMetadata"),
    "tensorflow.serving.ModelService": ("GetModelStatus",),
}
_STRING, _FLOAT = 7, 1  # of the enum DataType
_SIGNATURES = "signature_def"  # the only metadata that there is
# UTF-8 bytes of an error's text. gRPC writes each as up to three, in a header, and
# clients refuse headers of more than 8 KiB.
_MAX_DETAILS = 4096 // 3


@functools.cache
def message(name: str) -> Any:
    """Returns the class of one of TensorFlow Serving's messages by its name."""
    try:
        with quiet_start():
            from tensorflow_serving.apis import (
                get_model_metadata_pb2,
                get_model_status_pb2,
                predict_pb2,
            )
    except ModuleNotFoundError as error:
        text = f"gRPC needs {error.name} on the server: {INSTALL}"
        raise Refusal("UNIMPLEMENTED", text) from None
    modules = predict_pb2, get_model_metadata_pb2, get_model_status_pb2
    return next(vars(module)[name] for module in modules if name in vars(module))


async def answer_grpc(models: Models, method: str, data: bytes) -> Any:
    """Returns the message that answers the bytes of a request, or a refusal.

    Args:
        models: the served models by name.
        method: one of `SERVICES`.
        data: the request's message.
    """
    with internal(method):
        check_size(len(data))
        try:
            request = message(f"{method}Request").FromString(data)
        except DecodeError as error:
            raise invalid(f"{method}: {error}") from None
        spec = request.model_spec
        if not spec.name:
            raise invalid("Missing ModelSpec")
        model = served_model(models, spec.name)
        version = spec.version.value if spec.HasField("version") else None
        place = version, spec.version_label or None
        if method == "GetModelStatus":
            answer = message("GetModelStatusResponse")()
            return json_format.ParseDict(model_status(model, *place), answer)
        number = model.find(*place)
        if method == "Predict":
            return await _predict(model, number, request)
        return _metadata(model, number, request)


def check_size(size: int) -> None:
    """Refuses a request of too many bytes, by the code that gRPC has for it."""
    if size > MAX_REQUEST_BYTES:
        raise Refusal(
            "RESOURCE_EXHAUSTED",
            f"a request may have {MAX_REQUEST_BYTES:,} bytes, received {size:,}",
        )


def cut_details(text: str) -> str:
    """Returns as much of an error's text as has room in gRPC's headers."""
    return text.encode("utf-8", "replace")[:_MAX_DETAILS].decode("utf-8", "ignore")


def _metadata(model, number, request):
    wanted = list(request.metadata_field)
    if set(wanted) != {_SIGNATURES}:
        raise invalid(
            f"metadata_field must be {_SIGNATURES!r}, received {describe(wanted)}",
        )
    found = model_metadata(model, number)
    answer = message("GetModelMetadataResponse")()
    json_format.ParseDict(found["model_spec"], answer.model_spec)
    signatures = json_format.ParseDict(
        found["metadata"][_SIGNATURES], message("SignatureDefMap")()
    )
    answer.metadata[_SIGNATURES].Pack(signatures)
    return answer


async def _predict(model, number, request):
    name = request.model_spec.signature_name
    signature = model.signature(name, number)
    wanted = list(request.output_filter) or list(signature.outputs)
    if unknown := set(wanted) - set(signature.outputs):
        raise invalid(
            f"the outputs are {list(signature.outputs)}, received {sorted(unknown)}",
        )
    if len(set(wanted)) < len(wanted):
        raise invalid(
            f"output_filter must name each output once, received {describe(wanted)}",
        )
    # Before any text is read.
    if set(request.inputs) != set(signature.inputs):
        raise invalid(
            f"expected the inputs {list(signature.inputs)}, received "
            f"{describe(sorted(request.inputs))}",
        )
    inputs = {key: _read(tensor, key) for key, tensor in request.inputs.items()}
    outputs = await model.answer(signature, inputs)
    answer = message("PredictResponse")()
    answer.model_spec.name, answer.model_spec.signature_name = model.name, name
    answer.model_spec.version.value = number
    for key in wanted:
        _write(outputs[key], answer.outputs[key])
    return answer


def _read(tensor, name):
    """Returns the values of a TensorProto of strings, `(B,)`; see `read_values`."""
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    values = list(tensor.string_val)
    fits = (
        tensor.dtype == _STRING
        and not tensor.tensor_content
        and not tensor.tensor_shape.unknown_rank
        # TensorFlow repeats the last value for those that are left out. Here that
        # would make a request of 8 MB one of gigabytes.
        and sizes == [len(values)]
    )
    if not fits:
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
