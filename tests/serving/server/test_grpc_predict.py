import asyncio
import time

import pytest

pytest.importorskip("tensorflow_serving", reason="PredictionService's messages")
from google.protobuf import json_format  # noqa: E402
from tensorflow_serving.apis import predict_pb2  # noqa: E402

from tests.serving.server.conftest import run  # noqa: E402
from zoo.serving.protocol import ServingError  # noqa: E402
from zoo.serving.server.predict import answer_grpc  # noqa: E402

pytestmark = pytest.mark.backend_free


@pytest.fixture
def ask(model):
    """Function that returns the answer to a request, or its refusal's code."""

    def ask(request):
        data = request if isinstance(request, bytes) else request.SerializeToString()
        try:
            answer = asyncio.run(answer_grpc({"made": model}, run, data))
        except ServingError as error:
            return error.code, error.details
        return type(answer).FromString(answer.SerializeToString())

    return ask


def predict(texts=(b"a", b"b c"), inputs=("text",), shape=None, dtype=7, **spec):
    request = predict_pb2.PredictRequest()
    json_format.ParseDict({"name": "made", **spec}, request.model_spec)
    for key in inputs:
        tensor = request.inputs[key]
        tensor.dtype = dtype
        tensor.string_val.extend(texts)
        for size in [len(texts)] if shape is None else shape:
            tensor.tensor_shape.dim.add(size=size)
    return request


def outputs(answer):
    return {
        name: (
            [dim.size for dim in tensor.tensor_shape.dim],
            list(tensor.string_val) or list(tensor.float_val),
        )
        for name, tensor in answer.outputs.items()
    }


def test_tensors_as_tensorflow_reads_them(ask):
    for place in ({}, {"version": 2, "signature_name": "translate"}):
        answer = ask(predict(**place))
        assert outputs(answer) == {
            "translation": ([2], [b"A", b"B C"]),
            "score": ([2], [2.0, 2.0]),
        }
        assert answer.outputs["score"].dtype == 1
        assert (answer.model_spec.name, answer.model_spec.version.value) == ("made", 2)
    assert outputs(ask(predict([])))["score"] == ([0], [])
    answer = ask(predict([b"a\xff"]))
    assert outputs(answer)["translation"][1] == ["A\ufffd".encode()]
    request = predict(inputs=("source", "target"), signature_name="score")
    assert outputs(ask(request)) == {"log_probability": ([2], [-2.0, -6.0])}


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        (b"\xff", "INVALID_ARGUMENT", "Predict: "),
        (predict().SerializeToString()[:-1], "INVALID_ARGUMENT", "Predict: "),
        (bytes(8 * 2**20 + 1), "RESOURCE_EXHAUSTED", "received 8,388,609"),
        (b"", "NOT_FOUND", "the models are ['made 2'], received ''"),
        # Names come first: nothing of other inputs is read.
        ({"inputs": ["text", "x"], "dtype": 1}, "INVALID_ARGUMENT", "['text', 'x']"),
        ({"dtype": 1}, "INVALID_ARGUMENT", "[2], received 0"),
        ({"shape": []}, "INVALID_ARGUMENT", "the shape [], received 2"),
        ({"shape": [2, 1]}, "INVALID_ARGUMENT", "text[0] must be a str"),
        ({"shape": [-1]}, "INVALID_ARGUMENT", "the shape [-1]"),
        ({"shape": [3]}, "INVALID_ARGUMENT", "the shape [3]"),
        ({"shape": [2**62]}, "INVALID_ARGUMENT", "received 2"),
        ({"texts": [b"a"], "shape": []}, "INVALID_ARGUMENT", "must be a list"),
        ({"texts": [b"a"] * 513}, "INVALID_ARGUMENT", "512, received {'text': 513}"),
        ({"signature_name": "x"}, "INVALID_ARGUMENT", "received 'x'"),
        ({"version": 7}, "NOT_FOUND", "version 7"),
        ({"version": 0}, "NOT_FOUND", "version 0"),
        ({"signature_name": "fail"}, "INTERNAL", "no translation today"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_refused(ask, request_, code, text):
    found = ask(predict(**request_) if isinstance(request_, dict) else request_)
    assert found[0] == code and text in found[1]


def test_a_shape_of_many_dimensions_is_refused_at_once(ask):
    request = predict(shape=[2**62 - 1] * 50_000)
    begin = time.process_time()
    code, text = ask(request)
    assert code == "INVALID_ARGUMENT" and len(text) <= 500
    assert time.process_time() - begin < 2  # the product of the sizes takes longer
