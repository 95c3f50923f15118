"""The protocol of a model server: signatures, error codes, and a client's requests.

Nothing that a server sends is trusted: an answer has a size limit and a deadline, and
is checked before it becomes an array.
"""

import asyncio
import base64
import functools
import importlib.util
import json
import math
import os
import reprlib
import threading
from typing import Any, NamedTuple

import numpy as np

from zoo.strings import replace_surrogates

Arrays = dict[str, np.ndarray]  # of str as objects, or of floats
DEFAULT = "serving_default"  # TensorFlow's name for the first signature
MAX_ANSWER_BYTES = 128 * 2**20  # since alignments are large
NO_SCORE = -1e9  # of a missing hypothesis
MAX_ROWS = 512  # of a request; larger ones are refused
STRING, FLOAT = 7, 1  # of TensorFlow's enum DataType
# HTTP status -> gRPC code, as in the model server.
CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class SignatureSpec(NamedTuple):
    """The inputs and outputs of a signature.

    Attributes:
        inputs: the names of its inputs, a vector each.
        outputs: output name -> its dimensions by letters: rows (B), hypotheses (N),
            tokens (T), those of the source (S), words (W), classes (C), places (Y, X).
    """

    inputs: tuple[str, ...]
    outputs: dict[str, str]


_BEST = {"translation": "B", "score": "B"}
_CAPTION = {"caption": "B", "score": "B"}
_SCORE = {"log_probability": "B"}
_TEXT, _IMAGE = ("text",), ("image_bytes",)
# Task, as in cards -> its signatures by name; the first is `serving_default`, too.
SIGNATURES = {
    "translate": {
        "translate": SignatureSpec(_TEXT, _BEST),
        "translate_n_best": SignatureSpec(
            _TEXT, {"translations": "BN", "scores": "BN"}
        ),
        "greedy": SignatureSpec(_TEXT, _BEST),
        "align": SignatureSpec(
            _TEXT,
            {**_BEST, "tokens": "BT", "source_tokens": "BS", "alignment": "BTS"},
        ),
        "score": SignatureSpec(("source", "target"), _SCORE),
    },
    "generate": {
        "generate": SignatureSpec(_TEXT, {"text": "B"}),
        "score": SignatureSpec(_TEXT, _SCORE),
    },
    "tag": {"tag": SignatureSpec(_TEXT, {"words": "BW", "tags": "BW"})},
    "classify": {
        "classify": SignatureSpec(_TEXT, {"class": "B", "probabilities": "BC"})
    },
    "caption": {
        "caption": SignatureSpec(_IMAGE, _CAPTION),
        "caption_n_best": SignatureSpec(_IMAGE, {"captions": "BN", "scores": "BN"}),
        "greedy": SignatureSpec(_IMAGE, _CAPTION),
        "align": SignatureSpec(
            _IMAGE, {**_CAPTION, "tokens": "BT", "alignment": "BTYX"}
        ),
        "score": SignatureSpec((*_IMAGE, "caption"), _SCORE),
    },
}
_NUMBERS = "score", "scores", "alignment", "log_probability", "probabilities"


def holds_numbers(output: str) -> bool:
    """Returns whether an output of `SIGNATURES` holds numbers, not texts."""
    return output in _NUMBERS


def takes_bytes(name: str) -> bool:
    """Returns whether an input or output holds bytes that are no text, as images do.

    By the name, as TensorFlow Serving's REST API has it for outputs.
    """
    return name.endswith("_bytes")


def need_packages(user: str, extra: str, *packages: str) -> None:
    """Raises an `ImportError`, which names the extra, if a package is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            install = f'pip install "attention-zoo[{extra}]"'
            raise ImportError(f"{user} needs {name}: {install}", name=name)


class ServingError(RuntimeError):
    """A model server gave no answer, or an error.

    Attributes:
        code: gRPC's name of the error, such as "UNAVAILABLE", "NOT_FOUND",
            "INVALID_ARGUMENT", "DEADLINE_EXCEEDED".
        details: what happened.
    """

    def __init__(self, code: str, details: str = "") -> None:
        super().__init__(f"{code}: {details}")
        self.code, self.details = code, details


# === gRPC ===
class GRPCTransport:
    """PredictionService over gRPC."""

    def __init__(self, address: str, credentials: Any = None) -> None:
        need_packages("gRPC", "serving", "grpc", "tensorflow_serving")
        import grpc
        from tensorflow_serving.apis import predict_pb2

        options = [
            ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
            # The limit is for received bytes; compressed, they may hide gigabytes.
            ("grpc.compression_enabled_algorithms_bitset", 1),
            ("grpc.per_message_decompression", 0),
            # Spreads requests over several servers behind one name.
            ("grpc.lb_policy_name", "round_robin"),
            # The defaults are a second or more, in which each retry fails unsent.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        if credentials is None:
            channel = grpc.insecure_channel(address, options)
        else:
            channel = grpc.secure_channel(address, credentials, options)
        self.close = channel.close
        self._call = channel.unary_unary(
            "/tensorflow.serving.PredictionService/Predict",
            predict_pb2.PredictRequest.SerializeToString,
            predict_pb2.PredictResponse.FromString,
        )

    def predict(
        self, spec: dict[str, Any], inputs: dict[str, list[Any]], timeout: float
    ) -> Arrays:
        """Returns the outputs of a signature by name.

        Args:
            spec: the fields of a ModelSpec: `name`, `signature_name` and `version`.
            inputs: input name -> texts, or bytes.
            timeout: seconds for the whole answer.

        Raises:
            ServingError: if there is no answer, an error, or one that cannot be read.
        """
        import grpc
        from google.protobuf import json_format
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        json_format.ParseDict(spec, request.model_spec)
        for name, values in inputs.items():
            write_tensor(np.array(values, object), request.inputs[name])
        try:
            answer = self._call(request, timeout=timeout)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            # Ray's for a replica that died or is lost. Models only read, so the request
            # can be sent again.
            lost = code == "INTERNAL" and details.startswith("The actor ")
            raise ServingError("UNAVAILABLE" if lost else code, details) from None
        return _read(answer.outputs, _read_tensor)


def write_tensor(array: np.ndarray, tensor: Any) -> None:
    """Fills a `TensorProto` with str or bytes, which are objects, or with floats."""
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        tensor.dtype = STRING
        values = (x if isinstance(x, bytes) else x.encode() for x in array.ravel())
        tensor.string_val.extend(values)
    else:
        tensor.dtype = FLOAT
        tensor.float_val.extend(array.ravel().tolist())


def _read_tensor(tensor):
    """Returns the array of a `TensorProto` that holds each of its values."""
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype == STRING:
        values = [value.decode("utf-8", "replace") for value in tensor.string_val]
        array = np.array(values, object)
    elif tensor.dtype == FLOAT:
        array = np.frombuffer(tensor.tensor_content, "<f4")
        array = array if array.size else np.array(tensor.float_val, "float32")
    else:
        raise ValueError(f"expected strings or floats, received type {tensor.dtype}")
    # A single value must not stand for all, which could be any number.
    if min(sizes, default=0) < 0 or array.size != math.prod(sizes):
        raise ValueError(
            f"expected all values of the shape {reprlib.repr(sizes)}, received "
            f"{array.size}"
        )
    return array.reshape(sizes)


def _read(outputs, read):
    """Returns the array that `read` makes of each output."""
    arrays = {}
    for name, value in outputs.items():
        try:
            arrays[name] = read(value)
        except (ValueError, OverflowError) as error:
            text = f"output {reprlib.repr(name)}: {error}"
            raise ServingError("INTERNAL", text) from None
    return arrays


# === REST ===
class RESTTransport:
    """The REST API at a URL, with tensors in columns."""

    def __init__(self, address: str) -> None:
        import httpx2

        # Compression would hide the size. The timeouts of httpx2 are for each wait, of
        # which a server may cause many.
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        self._client = httpx2.AsyncClient(headers=headers, timeout=None)
        self._loop = _loop(os.getpid())
        self._url = f"{address.rstrip('/')}/v1/models/"

    def close(self) -> None:
        """Closes the connections."""
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop)

    def predict(
        self, spec: dict[str, Any], inputs: dict[str, list[Any]], timeout: float
    ) -> Arrays:
        """Returns the outputs of a signature by name; see `GRPCTransport.predict`."""
        import httpx2

        url = self._url + spec["name"]
        url += f"/versions/{spec['version']}" if "version" in spec else ""
        body = {"signature_name": spec["signature_name"], "inputs": inputs}
        content = json.dumps(body, ensure_ascii=False, default=_in_base64).encode()
        post = self._post(f"{url}:predict", content)
        call = asyncio.run_coroutine_threadsafe(post, self._loop)
        try:
            return _read_body(*call.result(timeout))
        except TimeoutError:
            text = f"no answer within {timeout:.3g} s"
            raise ServingError("DEADLINE_EXCEEDED", text) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            unavailable = isinstance(error, httpx2.TransportError)
            code = "UNAVAILABLE" if unavailable else "UNKNOWN"
            raise ServingError(code, str(error)) from None
        finally:
            call.cancel()  # closes the connection of a late answer

    async def _post(self, url, content):
        """Returns the status and body of an answer, which is read within bounds."""
        body = bytearray()
        async with self._client.stream("POST", url, content=content) as answer:
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    text = f"expected at most {MAX_ANSWER_BYTES:,} bytes, received more"
                    raise ServingError("RESOURCE_EXHAUSTED", text)
        return answer.status_code, bytes(body)


@functools.cache
def _loop(process):
    """Returns the event loop of a process's REST clients, which runs in a thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _in_base64(content):
    return {"b64": base64.b64encode(content).decode()}


def _read_body(status, body):
    """Returns the arrays of a REST answer, or raises its error."""
    try:
        answer = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # a proxy answers in HTML
        answer = None
    fields = answer if isinstance(answer, dict) else {}
    outputs = fields.get("outputs")
    # A signature's only output comes without its name.
    outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
    if status == 200 and all(isinstance(values, list) for values in outputs.values()):
        return _read(outputs, _read_lists)
    details, code = fields.get("error"), CODES.get(status, "UNKNOWN")
    if not isinstance(details, str):
        # Not the model server's: that of a proxy whose server is gone.
        code = "UNAVAILABLE" if status == 500 else code
        details = 'expected HTTP 200 with lists as "outputs" in JSON, received '
        details += f"{status}, {body[:80].decode('utf-8', 'replace')!r}"
    raise ServingError(code, details)


def _read_lists(values):
    """Returns the array of nested lists from JSON."""
    array = np.array(values, object)
    kinds = set(map(type, array.ravel()))
    if kinds <= {int, float}:
        return array.astype("float64")
    if kinds != {str}:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            "expected strings, or numbers, in lists of equal lengths, received values "
            f"of the types {names}"
        )
    texts = [replace_surrogates(text) for text in array.ravel()]
    return np.array(texts, object).reshape(array.shape)
