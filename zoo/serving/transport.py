"""One request to a model server, over gRPC's PredictionService or the REST API.

Nothing that a server sends is trusted: an answer has a size limit and a deadline, and
is checked before it becomes an array. Every problem ends as a `ServingError`.
"""

import base64
import http.client
import importlib
import itertools
import json
import math
import reprlib
import time
import urllib.parse
from typing import Any, NamedTuple

from zoo.serving.bounded_http import BoundedCall, TooLong, bounded_session
from zoo.serving.folder import INSTALL
from zoo.serving.protocol import make_tensor, read_tensor
from zoo.strings import replace_surrogates

MOST_BYTES = 128 * 2**20  # of an answer, since alignments are large
_MOST_DIMENSIONS = 8
_MOST_DETAILS = 500  # characters of a server's message
_PIECE = 2**16  # bytes of a body to read at once
_HEADERS = 2**17  # maximum bytes of headers
# Milliseconds that a channel waits before it reconnects. The default is a second or
# more, during which each retry fails without being sent.
_FIRST_RECONNECT, _LAST_RECONNECT = 100, 1000
# HTTP status -> gRPC code, as in the model server.
CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ServingError(RuntimeError):
    """A model server gave no answer, or an error.

    Attributes:
        code: gRPC's name of the error, such as "UNAVAILABLE", "NOT_FOUND",
            "INVALID_ARGUMENT", "DEADLINE_EXCEEDED".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Output(NamedTuple):
    """A checked tensor of an answer.

    Args:
        kind: "text" or "number"; None if a list without values does not tell.
        shape: its dimensions.
        values: nested lists, or an array.
    """

    kind: str | None
    shape: tuple
    values: Any


# === gRPC ===
class GRPCTransport:
    """PredictionService over gRPC."""

    def __init__(self, address: str, credentials: Any = None) -> None:
        grpc = _require("grpc")
        _require("tensorflow_serving.apis")
        from tensorflow_serving.apis import predict_pb2

        options = [
            ("grpc.max_receive_message_length", MOST_BYTES),
            # The limit is for received bytes; compressed, they may hide gigabytes.
            ("grpc.compression_enabled_algorithms_bitset", 1),
            ("grpc.per_message_decompression", 0),
            # Spreads requests over several servers behind one name.
            ("grpc.lb_policy_name", "round_robin"),
            # Not "min_reconnect", which in gRPC limits the time for connecting.
            ("grpc.initial_reconnect_backoff_ms", _FIRST_RECONNECT),
            ("grpc.max_reconnect_backoff_ms", _LAST_RECONNECT),
        ]
        if credentials is None:
            self.channel = grpc.insecure_channel(address, options)
        else:
            self.channel = grpc.secure_channel(address, credentials, options)
        self.address = address
        # Answers are left as bytes until their size is checked.
        self.call = self.channel.unary_unary(
            "/tensorflow.serving.PredictionService/Predict",
            predict_pb2.PredictRequest.SerializeToString,
        )

    def predict(
        self,
        model: str,
        signature: str,
        inputs: dict[str, list[Any]],
        most: int,
        timeout: float,
        version: int | None = None,
        label: str | None = None,
    ) -> dict[str, Output]:
        """Returns the outputs by name; an answer has at most `most` bytes."""
        import grpc
        from google.protobuf.message import DecodeError
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = model
        request.model_spec.signature_name = signature
        if version is not None:
            request.model_spec.version.value = version
        if label is not None:
            request.model_spec.version_label = label
        for name, texts in inputs.items():
            request.inputs[name].CopyFrom(make_tensor(texts))
        try:
            answer = self.call(request, timeout=timeout)
        except grpc.RpcError as error:
            raise _error(self.address, error.code().name, error.details()) from None
        if len(answer) > most:
            raise _too_large(self.address, most, len(answer))
        try:
            tensors = predict_pb2.PredictResponse.FromString(answer).outputs
        except DecodeError:
            text = f"expected a PredictResponse, received {answer[:40]!r}"
            raise _error(self.address, "INTERNAL", text) from None
        return _read_all(self.address, tensors, _read_tensor)

    def close(self) -> None:
        """Closes the channel."""
        self.channel.close()


def _read_tensor(tensor):
    """Returns the `Output` of a `TensorProto` that holds each of its values."""
    from tensorflow.core.framework import types_pb2

    sizes = [dim.size for dim in tensor.tensor_shape.dim[: _MOST_DIMENSIONS + 1]]
    unknown = tensor.tensor_shape.unknown_rank or min(sizes, default=0) < 0
    if unknown or len(sizes) > _MOST_DIMENSIONS:
        received = "an unknown one" if unknown else f"{len(tensor.tensor_shape.dim)}"
        raise ValueError(
            f"expected a known shape of at most {_MOST_DIMENSIONS} dimensions, "
            f"received {received}"
        )
    kinds = {types_pb2.DT_STRING: "text", types_pb2.DT_FLOAT: "number"}
    if tensor.dtype not in kinds:
        names = {number: name for name, number in types_pb2.DataType.items()}
        received = names.get(tensor.dtype, tensor.dtype)
        raise ValueError(f"expected DT_STRING or DT_FLOAT, received {received}")
    kind = kinds[tensor.dtype]
    if kind == "text":
        count = len(tensor.string_val)
    else:
        count = len(tensor.tensor_content) / 4 or len(tensor.float_val)
    # A single value must not stand for all, which could be any number.
    if count != math.prod(sizes):
        raise ValueError(
            f"expected {math.prod(sizes)} values for shape {sizes}, received {count:g}"
        )
    return Output(kind, tuple(sizes), read_tensor(tensor))


def _read_all(address, values, read):
    """Returns the `Output` of each named tensor or list."""
    outputs = {}
    for name, value in values.items():
        try:
            outputs[name] = read(value)
        except ValueError as error:
            text = f"output {reprlib.repr(name)}: {error}"
            raise _error(address, "INTERNAL", text) from None
    return outputs


# === REST ===
class RESTTransport:
    """The REST API, with tensors in columns."""

    def __init__(self, address: str) -> None:
        try:
            parts = urllib.parse.urlsplit(address)
            valid = bool(parts.hostname) and parts.port != 0
        except ValueError:  # from `port`, and from brackets
            valid = False
        if not valid:
            raise ValueError(
                "A REST address must be like http://localhost:8501, with a port from "
                f"1 to 65535. Received: {address!r}"
            )
        _require("requests")
        self.session = bounded_session()
        self.address = address.rstrip("/")

    def predict(
        self,
        model: str,
        signature: str,
        inputs: dict[str, list[Any]],
        most: int,
        timeout: float,
        version: int | None = None,
        label: str | None = None,
    ) -> dict[str, Output]:
        """Returns the outputs by name; an answer has at most `most` bytes."""
        place = f"/v1/models/{model}"
        if version is not None:
            place += f"/versions/{version}"
        if label is not None:
            place += f"/labels/{label}"
        columns = {name: list(map(_to_json, values)) for name, values in inputs.items()}
        request = {"signature_name": signature, "inputs": columns}
        url = f"{self.address}{place}:predict"
        status, body = self._post(url, request, most, timeout)
        code = CODES.get(status, "UNKNOWN")
        beginning = body[:80].decode("utf-8", "replace")
        try:
            answer = json.loads(body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):  # a proxy answers in HTML
            text = f"expected JSON, received HTTP {status}, {beginning!r}"
            raise _error(self.address, code, text) from None
        fields = answer if isinstance(answer, dict) else {}
        if status != 200:
            details = fields.get("error")
            if not isinstance(details, str):
                details = f"expected HTTP 200, received {status}, {beginning!r}"
            raise _error(self.address, code, details)
        outputs = fields.get("outputs")
        # A signature's only output comes without its name.
        outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
        if not all(isinstance(values, list) for values in outputs.values()):
            text = f'no lists as "outputs", but {beginning!r}'
            raise _error(self.address, code, text)
        return _read_all(self.address, outputs, _read_lists)

    def _post(self, url, request, most, timeout):
        """Returns the status and body of an answer."""
        import requests
        import urllib3

        def post():
            answer = self.session.post(
                url, json=request, timeout=timeout, stream=True, allow_redirects=False
            )
            with answer:
                pieces, size = [], 0
                # Not `iter_content`, which decompresses.
                while piece := answer.raw.read(_PIECE, decode_content=False):
                    pieces.append(piece)
                    size += len(piece)
                    if size > most:
                        raise _too_large(self.address, most, size)
                return answer, b"".join(pieces)

        # Twice the body, to allow for chunk headers.
        call = BoundedCall(post, time.monotonic() + timeout, 2 * most + _HEADERS)
        try:
            answer, body = call.result()
        except TooLong:
            raise _too_large(self.address, most, call.bytes) from None
        except (TimeoutError, requests.Timeout, urllib3.exceptions.TimeoutError):
            raise _error(self.address, "DEADLINE_EXCEEDED", None) from None
        except (
            requests.ConnectionError,
            requests.exceptions.ChunkedEncodingError,
            urllib3.exceptions.ProtocolError,  # cut off
        ) as error:
            raise _error(self.address, "UNAVAILABLE", str(error)) from None
        except (
            OSError,  # of which requests' are
            ValueError,
            http.client.HTTPException,
            urllib3.exceptions.HTTPError,
        ) as error:
            raise _error(self.address, "UNKNOWN", str(error)) from None
        if 300 <= answer.status_code < 400:
            place = reprlib.repr(answer.headers.get("Location"))
            text = (
                f"redirects are not followed, received {answer.status_code} to {place}"
            )
            raise _error(self.address, "UNKNOWN", text)
        return answer.status_code, body

    def close(self) -> None:
        """Closes the session."""
        self.session.close()


def _to_json(value):
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return value


def _read_lists(values):
    """Returns the `Output` of nested lists from JSON."""
    shape, level = [len(values)], values
    while level and all(isinstance(part, list) for part in level):
        sizes = set(map(len, level))
        if len(sizes) > 1 or len(shape) == _MOST_DIMENSIONS:
            raise ValueError(
                f"expected a rectangle of at most {_MOST_DIMENSIONS} dimensions, "
                f"received {len(shape) + 1} with lists of {min(sizes)} to {max(sizes)}"
            )
        shape += sizes
        level = list(itertools.chain.from_iterable(level))
    kinds = set(map(type, level))
    if not (kinds <= {str} or kinds <= {int, float}):
        names = " and ".join(sorted(_JSON.get(kind, kind.__name__) for kind in kinds))
        raise ValueError(f"expected only strings, or only numbers, received {names}")
    if kinds == {str}:
        return Output("text", tuple(shape), _replace_surrogates(values))
    if any(isinstance(value, int) and abs(value) >= 2**63 for value in level):
        raise ValueError("expected numbers of 64 bits, received a larger one")
    return Output("number" if kinds else None, tuple(shape), values)


_JSON = {type(None): "null", bool: "a boolean", dict: "an object", list: "a list"}
_JSON |= {str: "a string", int: "a number", float: "a number"}


def _replace_surrogates(values):
    return [
        _replace_surrogates(part)
        if isinstance(part, list)
        else replace_surrogates(part)
        for part in values
    ]


# === Errors ===
_HINTS = {
    "UNAVAILABLE": "is a model server running there?",
    "DEADLINE_EXCEEDED": "no answer in time; the client's `timeout` sets how long",
    "NOT_FOUND": "the model, the version or the label is not served there",
}


def _error(address, code, details):
    details = " ".join((details or "").split())
    if len(details) > _MOST_DETAILS:
        details = f"{details[:_MOST_DETAILS]}…"
    parts = [address, _HINTS.get(code), details]
    return ServingError(code, "; ".join(filter(None, parts)))


def _too_large(address, most, size):
    text = f"expected an answer of at most {most:,} bytes, received {size:,}"
    return _error(address, "RESOURCE_EXHAUSTED", text)


def _require(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a client needs {error.name}: {INSTALL}", name=error.name
        ) from None
