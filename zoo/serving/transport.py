"""One request to a model server: gRPC's PredictionService, or the REST API."""

import importlib

from zoo.serving.folder import INSTALL
from zoo.serving.protocol import make_tensor, read_tensor

_MOST_BYTES = 256 * 2**20  # of a message: alignments are large
# HTTP's status -> gRPC's code, as the model server has them.
_CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    412: "FAILED_PRECONDITION",
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
        code: gRPC's name of what happened, such as "UNAVAILABLE", "NOT_FOUND",
            "INVALID_ARGUMENT", "DEADLINE_EXCEEDED".
    """

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class GRPCTransport:
    """PredictionService over gRPC."""

    def __init__(self, address, credentials=None):
        grpc = _require("grpc")
        _require("tensorflow_serving.apis")
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        options = [
            ("grpc.max_receive_message_length", _MOST_BYTES),
            # Of several servers behind one name, each gets its share.
            ("grpc.lb_policy_name", "round_robin"),
        ]
        if credentials is None:
            self.channel = grpc.insecure_channel(address, options)
        else:
            self.channel = grpc.secure_channel(address, credentials, options)
        self.address = address
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)

    def predict(self, model, signature, inputs, timeout, version=None, label=None):
        """The outputs: dict of name to an array. See `Client.predict`."""
        import grpc
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
            answer = self.stub.Predict(request, timeout=timeout)
        except grpc.RpcError as error:
            raise _error(self.address, error.code().name, error.details()) from None
        return {name: read_tensor(tensor) for name, tensor in answer.outputs.items()}

    def close(self):
        self.channel.close()


class RESTTransport:
    """The REST API, with tensors by columns."""

    def __init__(self, address):
        self.session = _require("requests").Session()
        self.address = address.rstrip("/")

    def predict(self, model, signature, inputs, timeout, version=None, label=None):
        """The outputs: dict of name to a list. See `Client.predict`."""
        import requests

        place = f"/v1/models/{model}"
        if version is not None:
            place += f"/versions/{version}"
        if label is not None:
            place += f"/labels/{label}"
        body = {"signature_name": signature, "inputs": inputs}
        try:
            answer = self.session.post(
                f"{self.address}{place}:predict", json=body, timeout=timeout
            )
            found = answer.json()
        except requests.Timeout:
            raise _error(self.address, "DEADLINE_EXCEEDED", None) from None
        except requests.ConnectionError as error:
            raise _error(self.address, "UNAVAILABLE", str(error)) from None
        except ValueError:  # a proxy answers in HTML
            code = _CODES.get(answer.status_code, "UNKNOWN")
            text = f"HTTP {answer.status_code}, {answer.text[:80]!r}"
            raise _error(self.address, code, text) from None
        if not answer.ok:
            code = _CODES.get(answer.status_code, "UNKNOWN")
            details = found.get("error") if isinstance(found, dict) else found
            raise _error(self.address, code, str(details))
        outputs = found["outputs"]
        # A signature's only output comes without its name.
        return outputs if isinstance(outputs, dict) else {"output": outputs}

    def close(self):
        self.session.close()


_HINTS = {
    "UNAVAILABLE": "is a model server running there?",
    "DEADLINE_EXCEEDED": "no answer in time; the client's `timeout` sets how long",
    "NOT_FOUND": "the model, the version or the label is not served there",
}


def _error(address, code, details):
    parts = [address, _HINTS.get(code), " ".join((details or "").split())]
    return ServingError(code, "; ".join(filter(None, parts)))


def _require(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a client needs {error.name}: {INSTALL}", name=error.name
        ) from None
