import asyncio
import base64
import json

import pytest

from zoo.serving.server.rest import answer_rest

pytestmark = pytest.mark.backend_free
PREDICT = "/v1/models/made:predict"


@pytest.fixture
def ask(model):
    """Asks by a request, and returns the status and the answer."""

    def request(path, body=b"", method=None):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        method = method or ("POST" if body else "GET")
        status, answer = asyncio.run(answer_rest({"made": model}, method, path, body))
        return status, json.loads(json.dumps(answer))

    return request


# === Answers ===
@pytest.mark.parametrize(
    "instances", [["a", "b"], [{"text": "a"}, {"text": "b"}]], ids=["values", "objects"]
)
def test_rows(ask, instances):
    status, answer = ask(PREDICT, {"instances": instances})
    assert status == 200
    assert answer == {
        "predictions": [
            {"translation": "A", "score": 2.0},
            {"translation": "B", "score": 2.0},
        ]
    }


@pytest.mark.parametrize("inputs", [["a", "b"], {"text": ["a", "b"]}])
def test_columns(ask, inputs):
    answer = {"outputs": {"translation": ["A", "B"], "score": [2.0, 2.0]}}
    assert ask(PREDICT, {"inputs": inputs}) == (200, answer)


def test_several_inputs_and_one_output(ask):
    request = {"signature_name": "score"}
    columns = {"source": ["a", "bb"], "target": ["c", "dd"]}
    answer = ask(PREDICT, {**request, "inputs": columns})
    assert answer == (200, {"outputs": [-2.0, -4.0]})
    rows = [{"source": "a", "target": "c"}, {"target": "dd", "source": "bb"}]
    answer = ask(PREDICT, {**request, "instances": rows})
    assert answer == (200, {"predictions": [-2.0, -4.0]})


def test_no_texts_have_no_rows(ask):
    answer = {"outputs": {"translation": [], "score": []}}
    assert ask(PREDICT, {"inputs": []}) == (200, answer)


def test_bytes_come_in_base64(ask):
    texts = ["é".encode(), b"x\xff"]
    encoded = [{"b64": base64.b64encode(text).decode()} for text in texts]
    for key in ("instances", "inputs"):
        status, answer = ask(PREDICT, {key: encoded})
        assert status == 200
        found = answer.get("outputs") or answer["predictions"]
        assert "É" in str(found) and "X\ufffd" in str(found)


def test_bytes_that_are_no_text_stay_as_they_are(ask):
    request = {"signature_name": "size"}
    encoded = [{"b64": base64.b64encode(b"x\xff\x00").decode()}, {"b64": ""}]
    answer = ask(PREDICT, {**request, "instances": encoded})
    assert answer == (200, {"predictions": [3.0, 0.0]})
    rows = [{"image_bytes": value} for value in encoded]
    assert ask(PREDICT, {**request, "instances": rows}) == answer
    for value in ("eA==", {"b64": "*"}, {"b64": 1}, 7):
        status, found = ask(PREDICT, {**request, "instances": [value]})
        assert status == 400 and "image_bytes[0]" in found["error"]


def test_lone_surrogates_become_valid_text(ask):
    status, answer = ask(PREDICT, b'{"instances": ["a\\ud800", "\\ud83d\\ude00"]}')
    assert status == 200
    texts = [row["translation"] for row in answer["predictions"]]
    assert texts == ["A\ufffd", "😀"]


def test_a_byte_order_mark_is_skipped(ask):
    assert ask(PREDICT, b'\xef\xbb\xbf{"instances": ["a"]}')[0] == 200


# === Versions ===
@pytest.mark.parametrize(
    ("place", "version"),
    [
        ("", 2.0),
        ("/versions/1", 1.0),
        ("/versions/2", 2.0),
        ("/labels/stable", 2.0),
        ("/labels/previous", 1.0),
    ],
)
def test_versions_and_labels(ask, place, version):
    path = f"/v1/models/made{place}:predict"
    answer = {"outputs": {"translation": ["A"], "score": [version]}}
    assert ask(path, {"inputs": ["a"]}) == (200, answer)


def test_status(ask, model, folder):
    ok = {"error_code": "OK", "error_message": ""}
    status, answer = ask("/v1/models/made")
    assert status == 200
    states = [(x["version"], x["state"]) for x in answer["model_version_status"]]
    assert states == [("2", "AVAILABLE"), ("1", "AVAILABLE")]
    assert answer["model_version_status"][0]["status"] == ok
    (folder / "3").mkdir()
    (folder / "3" / "broken").touch()
    model.refresh()
    for path in ("/v1/models/made", "/v1/models/made/versions/3"):
        [first, *rest] = ask(path)[1]["model_version_status"]
        assert (first["version"], first["state"], len(rest)) == (
            *("3", "END"),
            2 * (path == "/v1/models/made"),
        )
        assert "3 is broken" in first["status"]["error_message"]
    path = "/v1/models/made/labels/previous"
    [only] = ask(path)[1]["model_version_status"]
    assert only["version"] == "1"


def test_metadata(ask):
    status, answer = ask("/v1/models/made/versions/1/metadata")
    assert status == 200
    assert answer["model_spec"] == {
        "name": "made",
        "signature_name": "",
        "version": "1",
    }
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert set(signatures) == {
        *("serving_default", "translate", "score", "size", "fail")
    }
    assert set(signatures["score"]["inputs"]) == {"source", "target"}
    score = signatures["translate"]["outputs"]["score"]
    assert score["dtype"] == "DT_FLOAT"
    assert score["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]


# === Errors ===
NOT_OBJECTS = [b"", b"{", b"[]", b'"a"', b"null", b"{" * 100_000, b"[" * 100_000]
BAD = [
    {},
    {"instances": ["a"], "inputs": ["a"]},
    {"instances": []},
    {"instances": "a"},
    {"instances": None},
    {"instances": [1]},
    {"instances": [None]},
    {"instances": [["a"]]},
    {"instances": [{"text": "a"}, "b"]},
    {"instances": [{"text": "a", "more": "b"}]},
    {"instances": [{"other": "a"}]},
    {"instances": [{"text": ["a"]}]},
    {"instances": [{"b64": "*"}]},
    {"instances": [{"b64": 1}]},
    {"inputs": "a"},
    {"inputs": {}},
    {"inputs": {"text": "a"}},
    {"inputs": {"text": [1.5]}},
    {"inputs": {"text": ["a"], "more": ["a"]}},
    {"inputs": ["a"] * 513},
    {"signature_name": 1, "inputs": ["a"]},
    {"signature_name": "nothing", "inputs": ["a"]},
    {"signature_name": "score", "inputs": ["a"]},
    {"signature_name": "score", "instances": ["a"]},
    {"signature_name": "score", "inputs": {"source": ["a"], "target": []}},
]


@pytest.mark.parametrize("number", range(len(NOT_OBJECTS)))
def test_what_is_no_json_object_is_refused(ask, number):
    status, answer = ask(PREDICT, NOT_OBJECTS[number], "POST")
    assert status == 400 and "JSON" in answer["error"]


def test_json_is_utf_8(ask):
    status, answer = ask(PREDICT, '{"instances": ["é"]}'.encode("latin-1"))
    assert status == 400 and "utf-8" in answer["error"]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_requests_are_refused(ask, number):
    status, answer = ask(PREDICT, BAD[number])
    assert status == 400
    assert list(answer) == ["error"] and len(answer["error"]) < 300


def test_no_instances_are_said_to_be_none(ask):
    answer = {"error": "'instances' must not be empty"}
    assert ask(PREDICT, {"instances": []}) == (400, answer)


@pytest.mark.parametrize(
    ("path", "method", "status", "message"),
    [
        ("/v1/models/other:predict", "POST", 404, "the models are ['made']"),
        ("/v1/models/other", "GET", 404, "received 'other'"),
        ("/v1/models/made/versions/7:predict", "POST", 404, "[1, 2], received 7"),
        ("/v1/models/made/versions/7", "GET", 404, "[1, 2], received 7"),
        ("/v1/models/made/versions/7/metadata", "GET", 404, "received 7"),
        ("/v1/models/made/labels/new:predict", "POST", 400, "received 'new'"),
        ("/v1/models/made:predict", "GET", 400, "Malformed request: GET"),
        ("/v1/models/made", "POST", 400, "Malformed request: POST"),
        ("/v1/models/made:classify", "POST", 400, "Malformed request"),
        ("/v1/models/made/versions/x:predict", "POST", 400, "Malformed request"),
        ("/v1/models/made/versions/" + "9" * 5000, "GET", 400, "Malformed request"),
        ("/v1/models/made/versions/1/labels/stable", "GET", 400, "Malformed request"),
    ],
)
def test_unknown_places_are_refused(ask, path, method, status, message):
    found, answer = ask(path, {"inputs": ["a"]}, method)
    assert found == status and message in answer["error"]


def test_a_model_that_fails_is_an_error_of_the_server(ask):
    status, answer = ask(PREDICT, {"signature_name": "fail", "inputs": ["a"]})
    assert (status, answer) == (500, {"error": "RuntimeError: no translation today"})
    assert ask(PREDICT, {"inputs": ["a"]})[0] == 200
