"""The REST API of TensorFlow's model server: paths, JSON and errors.

https://www.tensorflow.org/tfx/serving/api_rest; what it leaves open is as in the
server's own code (`json_tensor.cc`, `http_rest_api_handler.cc`).
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zoo.serving.protocol import CODES, takes_bytes
from zoo.serving.server.model_versions import ServedModel
from zoo.serving.server.signatures import Inputs, Refusal, internal, invalid
from zoo.strings import describe, replace_surrogates

# gRPC code -> HTTP status; of two, the usual one.
STATUSES = {code: status for status, code in CODES.items()}
_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)"
    r"(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
    r"(?P<verb>:predict|/metadata)?"
)


Models = Mapping[str, ServedModel]  # by name


async def answer_rest(
    models: Models, method: str, path: str, body: bytes
) -> tuple[int, Any]:
    """Returns the HTTP status and the JSON value that answer a request.

    Example:
        ```python
        status, answer = await answer_rest(
            models, "POST", "/v1/models/luong_local:predict", b'{"inputs": ["A dog."]}'
        )
        ```
    """
    try:
        with internal(f"{method} {path}"):
            return 200, await _answer(models, method, path, body)
    except Refusal as refusal:
        return STATUSES[refusal.code], {"error": str(refusal)}


async def _answer(models, method, path, body):
    found = _PATH.fullmatch(path)
    verb = found["verb"] if found else None
    if not found or method != ("POST" if verb == ":predict" else "GET"):
        raise invalid(f"Malformed request: {method} {path}")
    model = served_model(models, found["model"])
    version = int(found["version"]) if found["version"] else None
    if verb is None:
        return model_status(model, version, found["label"])
    number = model.find(version, found["label"])
    if verb == "/metadata":
        return model_metadata(model, number)
    request = read_json(body)
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(f"'signature_name' must be a string, received {describe(name)}")
    signature = model.signature(name, number)
    inputs = read_inputs(request, signature.inputs)
    outputs = await model.answer(signature, inputs)
    return write_outputs(outputs, rows="instances" in request)


def served_model(models: Models, name: str) -> ServedModel:
    """Returns a model by its name, or refuses the request."""
    if name not in models:
        raise Refusal(
            "NOT_FOUND", f"the models are {sorted(models)}, received {name!r}"
        )
    return models[name]


# === Requests ===
def read_json(body: bytes) -> dict[str, Any]:
    """Returns the object that the body of a request holds, in UTF-8."""
    try:
        request = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(request, dict):
        raise invalid(f"JSON must be an object, received {describe(request)}")
    return request


def read_inputs(request: dict[str, Any], names: Sequence[str]) -> Inputs:
    """Returns the values of each input, from "instances" or "inputs"."""
    if ("instances" in request) == ("inputs" in request):
        raise invalid(
            "expected one of 'instances' and 'inputs', received the keys "
            f"{describe(list(request))}"
        )
    if "instances" in request:
        values = _columns(request["instances"], names)
    else:
        values = request["inputs"]
        if not isinstance(values, dict) or _encoded(values):
            values = _only(names, "inputs", values)
    if set(values) != set(names):
        raise invalid(
            f"expected the inputs {list(names)}, received {describe(list(values))}"
        )
    return {name: read_values(values[name], name) for name in names}


def _columns(instances, names):
    """Returns the values of each input, from a list of values or of objects."""
    if instances == []:
        raise invalid("'instances' must not be empty")
    if not isinstance(instances, list):
        raise invalid(
            f"'instances' must be a list of values, received {describe(instances)}"
        )
    if not any(isinstance(row, dict) and not _encoded(row) for row in instances):
        return _only(names, "instances", instances)
    for place, row in enumerate(instances):
        if not isinstance(row, dict) or set(row) != set(names):
            raise invalid(
                f"instances[{place}] must be an object with the keys {list(names)}, "
                f"received {describe(row)}"
            )
    return {name: [row[name] for row in instances] for name in names}


def _only(names, key, values):
    if len(names) != 1:
        raise invalid(f"'{key}' must name the inputs {list(names)} in objects")
    return dict.fromkeys(names, values)


def read_values(values: Any, name: str) -> list[Any]:
    """Returns the values of an input: texts, or bytes if it `takes_bytes`.

    Each may be bytes or `{"b64": …}`, and a text may be a str. Bytes of a text that are
    not UTF-8 become U+FFFD.
    """
    if not isinstance(values, list):
        raise invalid(f"{name} must be a list, received {describe(values)}")
    as_bytes = takes_bytes(name)
    return [_value(x, f"{name}[{place}]", as_bytes) for place, x in enumerate(values)]


def _encoded(value):
    return isinstance(value, dict) and list(value) == ["b64"]


def _value(value, name, as_bytes):
    if _encoded(value) and isinstance(value["b64"], str):
        try:
            value = base64.b64decode(value["b64"], validate=True)
        except ValueError:
            raise invalid(f"{name} is not base64") from None
    if as_bytes and isinstance(value, bytes):
        return value
    if as_bytes:
        raise invalid(
            f'{name} must be bytes, in JSON {{"b64": …}}, received {describe(value)}'
        )
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise invalid(f"{name} must be a string, received {describe(value)}")
    return replace_surrogates(value)


# === Answers ===
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


def model_status(
    model: ServedModel, version: int | None = None, label: str | None = None
) -> dict[str, Any]:
    """Returns the states of a model's versions, or of one: a GetModelStatusResponse."""
    states = dict.fromkeys(model.loaded, ("AVAILABLE", "OK", ""))
    for number, message in model.failures.items():
        states[number] = "END", "UNKNOWN", message
    if label is not None or version not in (None, *states):
        version = model.find(version, label)
    return {
        "model_version_status": [
            {
                "version": str(number),
                "state": state,
                "status": {"error_code": code, "error_message": message},
            }
            for number, (state, code, message) in sorted(states.items(), reverse=True)
            if version in (None, number)
        ]
    }


def model_metadata(model: ServedModel, version: int) -> dict[str, Any]:
    """Returns the signatures of a version: a GetModelMetadataResponse."""
    signatures = {
        name: {
            "inputs": _tensors(dict.fromkeys(signature.inputs, ("text", 1))),
            "outputs": _tensors(signature.outputs),
            "method_name": "tensorflow/serving/predict",
        }
        for name, signature in model.signatures(version).items()
    }
    spec = {"name": model.name, "signature_name": "", "version": str(version)}
    return {
        "model_spec": spec,
        "metadata": {"signature_def": {"signature_def": signatures}},
    }


def _tensors(likes):
    dtypes = {"text": "DT_STRING", "number": "DT_FLOAT"}
    dim = {"size": "-1", "name": ""}
    return {
        name: {
            "dtype": dtypes[kind],
            "tensor_shape": {"dim": [dim] * rank, "unknown_rank": False},
            "name": name,
        }
        for name, (kind, rank) in likes.items()
    }
