"""One request to a model server: gRPC's PredictionService, or the REST API."""

import importlib
import urllib.parse

from zoo.serving.folder import INSTALL
from zoo.serving.protocol import make_tensor, read_tensor

_MOST_BYTES = 256 * 2**20  # of a message: alignments are large
# Milliseconds from which and up to which a channel waits before it connects again. By
# default it is a second or more, in which each retry fails without being sent.
_FIRST_RECONNECT, _LAST_RECONNECT = 100, 1000
# HTTP's status -> gRPC's code, as the model server has them.
_CODES = {
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
            # Not "min_reconnect": in gRPC that is how long connecting may take.
            ("grpc.initial_reconnect_backoff_ms", _FIRST_RECONNECT),
            ("grpc.max_reconnect_backoff_ms", _LAST_RECONNECT),
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
    """The REST API, with tensors by columns.

    `timeout` holds for connecting and for each wait for more of the answer.
    """

    def __init__(self, address):
        try:
            parts = urllib.parse.urlsplit(address)
            valid = bool(parts.hostname) and parts.port != 0
        except ValueError:  # what `port` and brackets can be wrong by
            valid = False
        if not valid:
            raise ValueError(
                "A REST address must be like http://localhost:8501, with a port from "
                f"1 to 65535. Received: {address!r}"
            )
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
        except requests.Timeout:
            raise _error(self.address, "DEADLINE_EXCEEDED", None) from None
        except requests.ConnectionError as error:
            code = "DEADLINE_EXCEEDED" if _stalled(error) else "UNAVAILABLE"
            raise _error(self.address, code, str(error)) from None
        except requests.exceptions.ChunkedEncodingError as error:  # cut off
            raise _error(self.address, "UNAVAILABLE", str(error)) from None
        except requests.RequestException as error:
            raise _error(self.address, "UNKNOWN", str(error)) from None
        code = _CODES.get(answer.status_code, "UNKNOWN")
        try:
            found = answer.json()
        except ValueError:  # a proxy answers in HTML
            text = f"HTTP {answer.status_code}, {answer.text[:80]!r}"
            raise _error(self.address, code, text) from None
        if not answer.ok:
            details = found.get("error") if isinstance(found, dict) else found
            raise _error(self.address, code, str(details))
        outputs = found.get("outputs") if isinstance(found, dict) else None
        # A signature's only output comes without its name.
        outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
        if not all(isinstance(values, list) for values in outputs.values()):
            text = f'no lists as "outputs", but {answer.text[:80]!r}'
            raise _error(self.address, code, text)
        return outputs

    def close(self):
        self.session.close()


def _stalled(error):
    """Whether an answer stopped in its middle: requests has no Timeout for that."""
    import urllib3

    causes = error.args
    return bool(causes) and isinstance(causes[0], urllib3.exceptions.ReadTimeoutError)


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
