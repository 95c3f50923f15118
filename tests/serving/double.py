"""A model server for tests: what PredictionService and the REST API are documented to
do, on real sockets, with Python functions or exported folders as models."""

import base64
import contextlib
import http.server
import json
import re
import socket
import threading
import time
from concurrent import futures

import grpc
import numpy as np


class Failure(Exception):
    """An error by gRPC's name of its code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


_HTTP = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "UNAVAILABLE": 503}
_HTTP["FAILED_PRECONDITION"] = 400


def saved_model(folder):
    """An exported version as a model: `(signature, inputs) -> outputs`."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations)

    loaded = tf.saved_model.load(str(folder))

    def run(signature, inputs):
        if signature not in loaded.signatures:
            message = f'Serving signature key "{signature}" not found.'
            raise Failure("FAILED_PRECONDITION", message)
        function = loaded.signatures[signature]
        wanted = set(function.structured_input_signature[1])
        if wanted != set(inputs):
            message = f"input size does not match signature: {sorted(wanted)}"
            raise Failure("INVALID_ARGUMENT", message)
        try:
            found = function(
                **{k: tf.constant(v, tf.string) for k, v in inputs.items()}
            )
        except tf.errors.InvalidArgumentError as error:
            raise Failure("INVALID_ARGUMENT", error.message) from None
        return {name: tensor.numpy() for name, tensor in found.items()}

    return run


class Double:
    """Serves models on two free ports.

    Args:
        models: name -> {version: model}.
        labels: (name, label) -> version.
        ports: of gRPC and REST; 0 for one that is free.

    Attributes:
        failures: list of `Failure`; each request takes one and fails by it.
        delay: seconds that an answer takes.
        requests: the batch sizes of the requests that came.
        page: what REST answers instead, as a proxy does.
        cut: what happens to REST's answers after their first half: None, "close", or
            the seconds that the other half takes.
    """

    def __init__(self, models, labels=(), ports=(0, 0)):
        self.models, self.labels, self.ports = models, dict(labels), ports
        self.failures, self.delay, self.requests = [], 0.0, []
        self.page = self.cut = None

    def __enter__(self):
        self.grpc = grpc.server(futures.ThreadPoolExecutor(4))
        _add_service(self.grpc, self)
        port = self.grpc.add_insecure_port(f"localhost:{self.ports[0]}")
        self.address = f"localhost:{port}"
        self.grpc.start()
        handler = type("Handler", (_Handler,), {"double": self})
        self.http = http.server.ThreadingHTTPServer(
            ("localhost", self.ports[1]), handler
        )
        self.url = f"http://localhost:{self.http.server_address[1]}"
        threading.Thread(
            target=self.http.serve_forever, args=(0.02,), daemon=True
        ).start()
        return self

    def __exit__(self, *_):
        self.grpc.stop(None)
        self.http.shutdown()
        self.http.server_close()

    def run(self, name, version, label, signature, inputs):
        self.requests.append(len(next(iter(inputs.values()))))
        time.sleep(self.delay)
        if self.failures:
            raise self.failures.pop(0)
        versions = self.models.get(name, {})
        if label:
            if (name, label) not in self.labels:
                message = f"Unrecognized servable version label: {label}"
                raise Failure("INVALID_ARGUMENT", message)
            version = self.labels[name, label]
        version = version or max(versions, default=None)
        if version not in versions:
            message = f"TaskMethods not found for request: Specific({name}, {version})"
            raise Failure("NOT_FOUND", message)
        return versions[version](signature or "serving_default", inputs)


# === gRPC ===


def _add_service(server, double):
    from tensorflow.core.framework import types_pb2
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):
            spec = request.model_spec
            inputs = {k: list(v.string_val) for k, v in request.inputs.items()}
            try:
                found = double.run(
                    spec.name,
                    spec.version.value if spec.HasField("version") else None,
                    spec.version_label,
                    spec.signature_name,
                    inputs,
                )
            except Failure as error:
                context.abort(getattr(grpc.StatusCode, error.code), str(error))
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
            return answer

    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        Service(), server
    )


# === REST ===

_PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)"
    r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?:predict"
)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            status, answer = 200, self.answer()
        except Failure as error:
            status, answer = _HTTP[error.code], {"error": str(error)}
        body = (self.double.page or json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        half = len(body) // 2
        self.wfile.write(body[:half])
        if self.double.cut != "close":
            time.sleep(self.double.cut or 0)
            with contextlib.suppress(ConnectionError):  # the client may have gone
                self.wfile.write(body[half:])

    def answer(self):
        found = _PATH.fullmatch(self.path)
        if not found:
            raise Failure("INVALID_ARGUMENT", f"Malformed request: POST {self.path}")
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        except ValueError:
            raise Failure("INVALID_ARGUMENT", "JSON Parse error") from None
        if ("instances" in body) == ("inputs" in body):
            message = "Request has both or neither 'instances' and 'inputs'"
            raise Failure("INVALID_ARGUMENT", message)
        rows = "instances" in body
        inputs = _columns(body["instances"]) if rows else body["inputs"]
        if not isinstance(inputs, dict):  # a signature's only input needs no name
            inputs = {"text": inputs}
        inputs = {k: list(map(_bytes, v)) for k, v in inputs.items()}
        version = found["version"] and int(found["version"])
        signature = body.get("signature_name", "")
        outputs = self.double.run(
            found["name"], version, found["label"], signature, inputs
        )
        outputs = {name: _plain(array) for name, array in outputs.items()}
        if not rows:
            only = next(iter(outputs.values())) if len(outputs) == 1 else outputs
            return {"outputs": only}
        values = zip(*outputs.values(), strict=True)
        items = [dict(zip(outputs, row, strict=True)) for row in values]
        if len(outputs) == 1:
            items = [next(iter(item.values())) for item in items]
        return {"predictions": items}

    def log_message(self, *_):
        pass


def _bytes(value):
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()


def _columns(instances):
    if instances and isinstance(instances[0], dict):
        return {name: [row[name] for row in instances] for name in instances[0]}
    return instances


def _plain(array):
    values = array.tolist()

    def read(value):
        if isinstance(value, list):
            return [read(part) for part in value]
        return value.decode() if isinstance(value, bytes) else value

    return read(values)


# === Hostile servers ===


@contextlib.contextmanager
def http_server(reply):
    """The URL of a server that answers each request by `reply(connection)`, on the raw
    socket, until that raises an OSError."""

    def serve(connection):
        with contextlib.suppress(OSError), connection:
            file = connection.makefile("rb")
            size = 0
            while line := file.readline():
                if line.startswith(b"Content-Length:"):
                    size = int(line[15:])
                if line == b"\r\n":
                    file.read(size)
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


def http_answer(body, status="200 OK", headers=""):
    """The bytes of an HTTP answer."""
    body = body if isinstance(body, bytes) else body.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


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
