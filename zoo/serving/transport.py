"""One request to a model server, over gRPC's PredictionService or the REST API.

Nothing that a server sends is trusted: an answer has a size limit and a deadline, and
is checked before it becomes an array.
"""

import asyncio
import base64
import functools
import json
import math
import os
import reprlib
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from zoo.serving.protocol import CODES, MAX_ANSWER_BYTES, need_packages
from zoo.strings import replace_surrogates

Arrays = dict[str, np.ndarray]  # of str as objects, or of floats


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
            request.inputs[name].CopyFrom(make_tensor(values))
        try:
            answer = self._call(request, timeout=timeout)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            # Ray's for a replica that died or is lost. Models only read, so the request
            # can be sent again.
            lost = code == "INTERNAL" and details.startswith("The actor ")
            raise ServingError("UNAVAILABLE" if lost else code, details) from None
        return _read(answer.outputs, _read_tensor)


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
        columns = {name: list(map(_to_json, values)) for name, values in inputs.items()}
        body = {"signature_name": spec["signature_name"], "inputs": columns}
        content = json.dumps(body, ensure_ascii=False).encode()
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


def _to_json(value):
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return value


def make_tensor(values: Iterable[str | bytes]) -> Any:
    """Returns the `TensorProto` `(B,)` of B str or bytes."""
    from tensorflow.core.framework import tensor_pb2, types_pb2

    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING)
    for value in values:
        tensor.string_val.append(value if isinstance(value, bytes) else value.encode())
    tensor.tensor_shape.dim.add(size=len(tensor.string_val))
    return tensor


# === Answers ===
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


def _read(values, read):
    outputs = {}
    for name, value in values.items():
        try:
            outputs[name] = read(value)
        except (ValueError, OverflowError) as error:
            text = f"output {reprlib.repr(name)}: {error}"
            raise ServingError("INTERNAL", text) from None
    return outputs


def _read_tensor(tensor):
    """Returns the array of a `TensorProto` that holds each of its values."""
    from tensorflow.core.framework import types_pb2

    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype == types_pb2.DT_STRING:
        values = [value.decode("utf-8", "replace") for value in tensor.string_val]
        array = np.array(values, object)
    elif tensor.dtype == types_pb2.DT_FLOAT:
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
