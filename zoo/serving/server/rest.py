"""The REST API of TensorFlow's model server: paths, JSON and errors.

https://www.tensorflow.org/tfx/serving/api_rest; what it leaves open is as in the
server's own code (`json_tensor.cc`, `http_rest_api_handler.cc`).
"""

import base64
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.serving.protocol import CODES, takes_bytes
from zoo.serving.server.served_model import (
    Inputs,
    Refusal,
    Request,
    ServedModel,
    invalid,
)
from zoo.strings import describe, replace_surrogates

# gRPC code -> HTTP status; of two, the usual one.
STATUSES = {code: status for status, code in CODES.items()}
_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<version>\d{1,18}))?(?P<verb>:predict)?"
)

Models = Mapping[str, ServedModel]  # by name
Run = Callable[[Request], Awaitable[dict[str, np.ndarray]]]


async def answer_rest(
    models: Models, run: Run, method: str, path: str, body: bytes
) -> tuple[int, Any]:
    """Returns the HTTP status and the JSON value that answer a request.

    Example:
        ```python
        body = b'{"inputs": ["A dog."]}'
        path = "/v1/models/luong_local:predict"
        status, answer = await answer_rest(models, run, "POST", path, body)
        ```
    """
    try:
        return 200, await _answer(models, run, method, path, body)
    except Refusal as refusal:
        return STATUSES[refusal.code], {"error": str(refusal)}


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


def find_model(models: Models, name: str, version: int | None) -> ServedModel:
    """Returns a model by its name, or refuses the request."""
    if name not in models:
        text = f"the models are {sorted(models)}, received {describe(name)}"
        raise Refusal("NOT_FOUND", text)
    models[name].check_version(version)
    return models[name]


# === Requests ===
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
    return {name: read_values(values[name], name) for name in names}


def _has(value, names):
    return isinstance(value, dict) and set(value) == set(names)


def read_values(values: Any, name: str) -> list[Any]:
    """Returns the values of an input: texts, or bytes if it `takes_bytes`.

    Each may be bytes or `{"b64": …}`, and a text may be a str. Bytes of a text that are
    not UTF-8 become U+FFFD.
    """
    if not isinstance(values, list):
        raise invalid(f"{name} must be a list, received {describe(values)}")
    return [_value(value, name, place) for place, value in enumerate(values)]


def _value(given, name, place):
    value = given
    if _has(given, ["b64"]) and isinstance(given["b64"], str):
        try:
            value = base64.b64decode(given["b64"], validate=True)
        except ValueError:
            raise invalid(f"{name}[{place}] is not base64") from None
    if takes_bytes(name):
        wanted, found = 'bytes, in JSON {"b64": …}', isinstance(value, bytes)
    else:
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        wanted, found = "a string", isinstance(value, str)
    if not found:
        raise invalid(f"{name}[{place}] must be {wanted}, received {describe(given)}")
    return value if takes_bytes(name) else replace_surrogates(value)


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
