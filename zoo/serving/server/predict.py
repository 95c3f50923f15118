"""`Predict` of TensorFlow's model server, by its REST API and by gRPC.

https://www.tensorflow.org/tfx/serving/api_rest; what it leaves open is as in the
server's own code (`json_tensor.cc`, `http_rest_api_handler.cc`).
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.serving.protocol import CODES, ServingError, read_tensor, write_tensor
from zoo.serving.server.served_model import (
    MAX_REQUEST_BYTES,
    Inputs,
    Request,
    ServedModel,
    invalid,
)
from zoo.strings import check_texts, describe, replace_surrogates

# gRPC code -> HTTP status; of two, the usual one.
STATUSES = {code: status for status, code in CODES.items()}
_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<version>\d{1,18}))?(?P<verb>:predict)?"
)

Models = Mapping[str, ServedModel]  # by name
Run = Callable[[Request], Awaitable[dict[str, np.ndarray]]]


def find_model(models: Models, name: str, version: int | None) -> ServedModel:
    """Returns a model by its name and version, or refuses the request."""
    model = models.get(name)
    if model is None or version not in (None, model.version):
        served = [f"{model.name} {model.version}" for model in models.values()]
        text = f"the models are {served}, received {describe(name)}, version {version}"
        raise ServingError("NOT_FOUND", text)
    return model


def read_texts(values: Any, name: str) -> list[str]:
    """Returns the texts of an input, a list of str, or refuses the request."""
    if not isinstance(values, list):
        raise invalid(f"{name} must be a list, received {describe(values)}")
    try:
        return [replace_surrogates(text) for text in check_texts(values, name)]
    except (TypeError, RecursionError) as error:
        raise invalid(str(error)) from None


# === REST ===
async def answer_rest(
    models: Models, run: Run, method: str, path: str, body: bytes
) -> tuple[int, Any]:
    """Returns the HTTP status and the JSON value that answer a request."""
    try:
        return 200, await _answer(models, run, method, path, body)
    except ServingError as error:
        return STATUSES[error.code], {"error": error.details}


async def _answer(models, run, method, path, body):
    found = _PATH.fullmatch(path)
    if not found or method != ("POST" if found["verb"] else "GET"):
        raise invalid(f"Malformed request: {method} {path}")
    version = int(found["version"]) if found["version"] else None
    model = find_model(models, found["model"], version)
    if not found["verb"]:
        state = {"version": str(model.version), "state": "AVAILABLE"}
        state["status"] = {"error_code": "OK", "error_message": ""}
        return {"model_version_status": [state]}
    try:
        request = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from None
    name = request.get("signature_name", "") if isinstance(request, dict) else None
    if not isinstance(name, str):
        raise invalid(
            "expected a JSON object, with a string as 'signature_name' if any, "
            f"received {describe(request)}"
        )
    inputs = read_inputs(request, model.signature(name).inputs)
    outputs = await run(model.request(name, inputs))
    return write_outputs(outputs, rows="instances" in request)


def _has(value, names):
    return isinstance(value, dict) and set(value) == set(names)


def read_inputs(request: dict[str, Any], names: Sequence[str]) -> Inputs:
    """Returns the values of each input, from "instances" or "inputs"."""
    if ("instances" in request) == ("inputs" in request):
        keys = describe(list(request))
        raise invalid(f"expected one of 'instances' and 'inputs', received {keys}")
    values: Any = request.get("inputs", request.get("instances"))
    if "instances" in request:
        if not isinstance(values, list) or not values:
            raise invalid(f"'instances' must be a list, received {describe(values)}")
        if all(_has(row, names) for row in values):
            values = {name: [row[name] for row in values] for name in names}
    if not _has(values, names):
        if len(names) != 1 or isinstance(values, dict):
            raise invalid(f"expected the inputs {names}, received {describe(values)}")
        values = {names[0]: values}
    return {name: read_texts(values[name], name) for name in names}


def write_outputs(outputs: Mapping[str, np.ndarray], rows: bool) -> dict[str, Any]:
    """Returns the answer to a request, in rows or columns as it was.

    A signature's only output comes without its name.
    """
    lists = {name: array.tolist() for name, array in outputs.items()}
    only = next(iter(lists.values())) if len(lists) == 1 else None
    if not rows:
        return {"outputs": lists if only is None else only}
    if only is None:
        values = zip(*lists.values(), strict=True)
        only = [dict(zip(lists, row, strict=True)) for row in values]
    return {"predictions": only}


# === gRPC ===
async def answer_grpc(models: Models, run: Run, data: bytes) -> Any:
    """Returns the PredictResponse to the bytes of a PredictRequest, or a refusal.

    It has all outputs: an `output_filter` is not read.
    """
    from google.protobuf.message import DecodeError
    from tensorflow_serving.apis import predict_pb2

    if len(data) > MAX_REQUEST_BYTES:
        text = f"a request may have {MAX_REQUEST_BYTES:,} bytes"
        raise ServingError("RESOURCE_EXHAUSTED", f"{text}, received {len(data):,}")
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
    inputs = {key: _read_tensor(tensor, key) for key, tensor in request.inputs.items()}
    outputs = await run(model.request(spec.signature_name, inputs))
    answer = predict_pb2.PredictResponse(model_spec=spec)
    answer.model_spec.version.value = model.version
    for key, array in outputs.items():
        write_tensor(array, answer.outputs[key])
    return answer


def _read_tensor(tensor, name):
    try:
        array = read_tensor(tensor)
    except ValueError as error:
        raise invalid(f"{name}: {error}") from None
    return read_texts(array.tolist(), name)
