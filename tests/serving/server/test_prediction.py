import asyncio
import time

import pytest
from google.protobuf import json_format

pytest.importorskip("tensorflow_serving", reason="PredictionService's messages")
from tensorflow_serving.apis import (  # noqa: E402
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

from zoo.serving.server.prediction import answer_grpc  # noqa: E402
from zoo.serving.server.signatures import Refusal  # noqa: E402

pytestmark = pytest.mark.backend_free
REQUESTS = {
    "Predict": predict_pb2.PredictRequest,
    "GetModelMetadata": get_model_metadata_pb2.GetModelMetadataRequest,
    "GetModelStatus": get_model_status_pb2.GetModelStatusRequest,
}


@pytest.fixture
def ask(model):
    """Function that returns the answer to a request, or its refusal's code."""

    def ask(method, request):
        data = request if isinstance(request, bytes) else request.SerializeToString()
        try:
            answer = asyncio.run(answer_grpc({"made": model}, method, data))
        except Refusal as refusal:
            return refusal.code, str(refusal)
        return type(answer).FromString(answer.SerializeToString())

    return ask


def named(method, name="made", **spec):
    request = REQUESTS[method]()
    json_format.ParseDict({"name": name, **spec}, request.model_spec)
    return request


def predict(texts=(b"a", b"b c"), inputs=("text",), shape=None, dtype=7, **spec):
    request = named("Predict", **spec)
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


def test_predict_answers_by_the_version_that_is_asked_for(ask):
    answer = ask("Predict", predict())
    assert outputs(answer) == {
        "translation": ([2], [b"A", b"B C"]),
        "score": ([2], [2.0, 2.0]),
    }
    assert answer.outputs["score"].dtype == 1
    assert (answer.model_spec.name, answer.model_spec.version.value) == ("made", 2)
    for place in ({"version": 1}, {"version_label": "previous"}):
        answer = ask("Predict", predict(signature_name="translate", **place))
        assert outputs(answer)["score"] == ([2], [1.0, 1.0])
        assert answer.model_spec.signature_name == "translate"
        assert answer.model_spec.version.value == 1


def test_tensors_as_tensorflow_reads_them(ask):
    assert outputs(ask("Predict", predict([])))["score"] == ([0], [])
    answer = ask("Predict", predict([b"a\xff"]))
    assert outputs(answer)["translation"][1] == ["A\ufffd".encode()]
    request = predict(inputs=("source", "target"), signature_name="score")
    assert outputs(ask("Predict", request)) == {"log_probability": ([2], [-2.0, -6.0])}
    request = predict([b"x\xff\x00"], ["image_bytes"], signature_name="size")
    assert outputs(ask("Predict", request)) == {"score": ([1], [3.0])}


def test_an_output_filter(ask):
    request = predict()
    request.output_filter.append("score")
    assert list(outputs(ask("Predict", request))) == ["score"]
    for names in (["score", "other"], ["score", "translation", "score"]):
        request.output_filter[:] = names
        code, text = ask("Predict", request)
        assert code == "INVALID_ARGUMENT" and "output_filter" in text


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        (b"\xff", "INVALID_ARGUMENT", "Predict: "),
        (predict().SerializeToString()[:-1], "INVALID_ARGUMENT", "Predict: "),
        (bytes(8 * 2**20 + 1), "RESOURCE_EXHAUSTED", "received 8,388,609"),
        (REQUESTS["Predict"](), "INVALID_ARGUMENT", "Missing ModelSpec"),
        ({"inputs": ()}, "INVALID_ARGUMENT", "received []"),
        ({"inputs": ["other"]}, "INVALID_ARGUMENT", "['text'], received ['other']"),
        # Names come first: nothing of other inputs is read.
        ({"inputs": ["text", "x"], "dtype": 1}, "INVALID_ARGUMENT", "['text', 'x']"),
        ({"dtype": 1}, "INVALID_ARGUMENT", "received the type 1 of the shape [2]"),
        ({"dtype": 3}, "INVALID_ARGUMENT", "received the type 3"),
        ({"shape": []}, "INVALID_ARGUMENT", "of the shape []"),
        ({"shape": [2, 1]}, "INVALID_ARGUMENT", "of the shape [2, 1]"),
        ({"shape": [-1]}, "INVALID_ARGUMENT", "of the shape [-1]"),
        ({"shape": [1]}, "INVALID_ARGUMENT", "with 2 strings"),
        ({"shape": [3]}, "INVALID_ARGUMENT", "of the shape [3]"),
        ({"shape": [2**62]}, "INVALID_ARGUMENT", "with 2 strings"),
        ({"texts": (), "shape": [2]}, "INVALID_ARGUMENT", "with 0 strings"),
        ({"texts": [b"a"] * 513}, "INVALID_ARGUMENT", "512 rows, received 513"),
        ({"signature_name": "x"}, "INVALID_ARGUMENT", "received 'x'"),
        ({"version_label": "x"}, "INVALID_ARGUMENT", "received 'x'"),
        ({"version": 7}, "NOT_FOUND", "received 7"),
        ({"version": 0}, "NOT_FOUND", "received 0"),
        ({"signature_name": "fail"}, "INTERNAL", "no translation today"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_predict_refuses(ask, request_, code, text):
    if isinstance(request_, dict):
        request_ = predict(**request_)
    found = ask("Predict", request_)
    assert found[0] == code and text in found[1]


def test_a_shape_of_many_dimensions_is_refused_at_once(ask):
    request = predict(shape=[2**62 - 1] * 50_000)
    begin = time.process_time()
    code, text = ask("Predict", request)
    assert code == "INVALID_ARGUMENT" and len(text) < 500
    assert time.process_time() - begin < 2  # the product of the sizes takes longer


def test_details_have_room_in_a_header():
    """Of 8 KiB, in which a byte of UTF-8 takes up to three."""
    assert 3 * len(str(Refusal("NOT_FOUND", "\N{DOG}" * 3000)).encode()) < 8000


def test_an_unknown_model(ask):
    for method in REQUESTS:
        code, text = ask(method, named(method, "other"))
        assert code == "NOT_FOUND"
        assert text.startswith("the models are ['made'], received 'other'")


def test_status_and_metadata_are_those_of_rest(ask, folder, model):
    (folder / "3").mkdir()
    (folder / "3" / "broken").touch()
    model.refresh()
    answer = ask("GetModelStatus", named("GetModelStatus"))
    wanted = get_model_status_pb2.GetModelStatusResponse()
    assert answer == json_format.ParseDict(model.status(), wanted)
    assert [found.version for found in answer.model_version_status] == [3, 2, 1]
    request = named("GetModelStatus", version=9)
    assert ask("GetModelStatus", request)[0] == "NOT_FOUND"
    request = named("GetModelMetadata", version=1)
    request.metadata_field.append("signature_def")
    answer = ask("GetModelMetadata", request)
    assert answer.model_spec.version.value == 1
    found = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(found)
    score = found.signature_def["score"]
    assert sorted(score.inputs) == ["source", "target"]
    assert score.outputs["log_probability"].dtype == 1
    assert [dim.size for dim in score.inputs["source"].tensor_shape.dim] == [-1]
    for fields in ([], ["other"], ["signature_def", "other"]):
        request.metadata_field[:] = fields
        code, text = ask("GetModelMetadata", request)
        assert code == "INVALID_ARGUMENT" and f"received {fields}" in text
