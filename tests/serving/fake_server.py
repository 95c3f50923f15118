"""A model server without sockets: what PredictionService and the REST API are said to
do, with Python functions or recorded answers."""

import base64
import contextlib
import functools
import json
import re
import socket
import threading
from concurrent import futures

import grpc
import httpx2
import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2

_HTTP = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "UNAVAILABLE": 503}
_PATH = re.compile(r"/v1/models/(?P<name>[^/:]+):predict")


class Failure(grpc.RpcError):
    """An error by gRPC's name of its code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.name, self.message = code, message

    def code(self):
        return grpc.StatusCode[self.name]

    def details(self):
        return self.message


class FakeServer:
    """Serves models to every `zoo.serving.Client` that is made after `install`.

    Args:
        models: name -> model, a function of a signature's name and its inputs.

    Attributes:
        failures: list of errors; each request takes one and fails by it.
        answer: what is answered instead: bytes over gRPC; over REST a status, a body,
            and headers if need be.
        requests: the batch sizes of the requests that came.
        timeouts: the seconds that gRPC's requests allowed.
    """

    url, address = "http://fake:8501", "fake:8500"

    def __init__(self, models=()):
        self.models = dict(models)
        self.failures, self.answer, self.requests, self.timeouts = [], None, [], []

    def install(self, monkeypatch):
        transport = httpx2.MockTransport(self.post)
        client = functools.partial(httpx2.AsyncClient, transport=transport)
        monkeypatch.setattr(httpx2, "AsyncClient", client)
        monkeypatch.setattr(grpc, "insecure_channel", lambda *_: self)
        return self

    def run(self, name, signature, inputs):
        self.requests.append(len(next(iter(inputs.values()))))
        if self.failures:
            raise self.failures.pop(0)
        if self.answer is not None:
            return None
        if name not in self.models:
            message = f"Servable not found for request: Latest({name})"
            raise Failure("NOT_FOUND", message)
        return self.models[name](signature, inputs)

    # === gRPC's channel ===
    def unary_unary(self, method, request_serializer, response_deserializer, **_):
        def call(request, timeout):
            assert method == "/tensorflow.serving.PredictionService/Predict"
            self.timeouts.append(timeout)
            request = predict_pb2.PredictRequest.FromString(request_serializer(request))
            return response_deserializer(self.predict(request))

        return call

    def close(self):
        pass

    def predict(self, request):
        """The bytes of the answer to a PredictRequest."""
        spec = request.model_spec
        found = self.run(
            spec.name,
            spec.signature_name,
            {k: list(v.string_val) for k, v in request.inputs.items()},
        )
        if found is None:
            return self.answer
        answer = predict_pb2.PredictResponse()
        for name, array in found.items():
            tensor = answer.outputs[name]
            for size in array.shape:
                tensor.tensor_shape.dim.add(size=size)
            # As Tensor::AsProtoField writes them.
            if array.dtype == np.float32:
                tensor.dtype = types_pb2.DT_FLOAT
                tensor.float_val.extend(array.ravel().tolist())
            else:
                tensor.dtype = types_pb2.DT_STRING
                tensor.string_val.extend(array.ravel().tolist())
        return answer.SerializeToString()

    # === REST ===
    def post(self, request):
        """The answer to an HTTP request."""
        try:
            found = self.read(request)
        except Failure as error:
            status, body, *headers = (
                _HTTP[error.name],
                json.dumps({"error": error.message}),
            )
        else:
            status, body, *headers = self.answer if found is None else (200, found)

        async def pieces():  # a body that is there already could not be streamed
            yield body if isinstance(body, bytes) else body.encode()

        return httpx2.Response(status, headers=dict(*headers), content=pieces())

    def read(self, request):
        """The body of an answer, or None for `answer`."""
        found = _PATH.fullmatch(request.url.path)
        body = json.loads(request.content)
        assert found and request.method == "POST"
        assert request.headers["Accept-Encoding"] == "identity"
        inputs = {k: list(map(_bytes, v)) for k, v in body["inputs"].items()}
        outputs = self.run(found["name"], body["signature_name"], inputs)
        if outputs is None:
            return None
        lists = {name: _plain(array.tolist()) for name, array in outputs.items()}
        # A signature's only output comes without its name.
        only = next(iter(lists.values())) if len(lists) == 1 else lists
        return json.dumps({"outputs": only})


def _bytes(value):
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()


def _plain(value):
    if isinstance(value, list):
        return list(map(_plain, value))
    return value.decode() if isinstance(value, bytes) else value


# === Real sockets ===
@contextlib.contextmanager
def http_server(reply):
    """The URL of a server that answers each request by `reply(connection)`, on the raw
    socket, until that raises an OSError."""

    def serve(connection):
        with contextlib.suppress(OSError), connection:
            connection.recv(2**16)
            reply(connection)

    def accept(listening):
        with contextlib.suppress(OSError):  # closed
            while True:
                connection = listening.accept()[0]
                threading.Thread(target=serve, args=[connection], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=[listening], daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def grpc_server(answer, **options):
    """The address of a PredictionService that answers with these bytes."""
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: answer)
    name = "tensorflow.serving.PredictionService"
    handler = grpc.method_handlers_generic_handler(name, {"Predict": handler})
    server = grpc.server(futures.ThreadPoolExecutor(1), [handler], **options)
    port = server.add_insecure_port("localhost:0")
    server.start()
    yield f"localhost:{port}"
    server.stop(None)
