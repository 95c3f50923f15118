"""Requests of both APIs: what is answered, and what is refused."""

import asyncio
import json

import pytest

from tests.serving.server.conftest import run
from zoo.serving.server.predict import answer_rest

pytestmark = pytest.mark.backend_free
PREDICT = "/v1/models/made:predict"


@pytest.fixture
def ask(model):
    """Asks by a request, and returns the status and the answer."""

    def request(path, body=b"", method=None):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        method = method or ("POST" if body else "GET")
        found = asyncio.run(answer_rest({"made": model}, run, method, path, body))
        return json.loads(json.dumps(found))

    return request


# === Answers ===
ROWS = [{"translation": "A", "score": 2.0}, {"translation": "B", "score": 2.0}]
COLUMNS = {"translation": ["A", "B"], "score": [2.0, 2.0]}
SCORE = {"signature_name": "score"}
PAIRS = {"source": ["a", "bb"], "target": ["c", "dd"]}
ANSWERS = {
    "values": ({"instances": ["a", "b"]}, {"predictions": ROWS}),
    "objects": ({"instances": [{"text": x} for x in "ab"]}, {"predictions": ROWS}),
    "column": ({"inputs": ["a", "b"]}, {"outputs": COLUMNS}),
    "columns": ({"inputs": {"text": ["a", "b"]}}, {"outputs": COLUMNS}),
    "no texts": ({"inputs": []}, {"outputs": {"translation": [], "score": []}}),
    "several inputs": ({**SCORE, "inputs": PAIRS}, {"outputs": [-2.0, -4.0]}),
    "several in rows": (
        {
            **SCORE,
            "instances": [
                {"source": "a", "target": "c"},
                {"target": "dd", "source": "bb"},
            ],
        },
        {"predictions": [-2.0, -4.0]},
    ),
    "surrogates": (
        {"inputs": ["a\ud800", "\ud83d\ude00"]},
        {"outputs": {**COLUMNS, "translation": ["A\ufffd", "😀"]}},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(ask, name):
    request, answer = ANSWERS[name]
    assert ask(PREDICT, request) == [200, answer]
    body = b"\xef\xbb\xbf" + json.dumps(request).encode()  # a byte order mark
    assert ask(PREDICT, body) == [200, answer]


def test_the_version_that_is_served(ask):
    answer = {"outputs": {"translation": ["A"], "score": [2.0]}}
    path = "/v1/models/made/versions/2"
    assert ask(f"{path}:predict", {"inputs": ["a"]}) == [200, answer]
    for place in ("/v1/models/made", path):
        status, answer = ask(place)
        [state] = answer["model_version_status"]
        assert status == 200 and (state["version"], state["state"]) == (
            *("2", "AVAILABLE"),
        )


# === Errors ===
BODIES = [b"", b"{", b"[]", b'"a"', b"null", b"{" * 100_000, b"[" * 100_000]
BODIES += ['{"instances": ["é"]}'.encode(name) for name in ("latin-1", "utf-16")]
BAD = [
    {},
    {"instances": ["a"], "inputs": ["a"]},
    {"instances": []},
    {"instances": "a"},
    {"instances": [1]},
    {"instances": [{"text": "a"}, "b"]},
    {"instances": [{"text": "a", "more": "b"}]},
    {"instances": [{"other": "a"}]},
    {"instances": [{"b64": "*"}]},
    {"inputs": "a"},
    {"inputs": {}},
    {"inputs": {"text": [1.5]}},
    {"inputs": {"text": ["a"], "more": ["a"]}},
    {"inputs": ["a"] * 513},
    {"signature_name": 1, "inputs": ["a"]},
    {"signature_name": "nothing", "inputs": ["a"]},
    {"signature_name": "score", "inputs": ["a"]},
    {"signature_name": "score", "inputs": {"source": ["a"], "target": []}},
    {"inputs": [[["a"]]]},
]


@pytest.mark.parametrize("number", range(len(BODIES + BAD)))
def test_bad_requests_are_refused(ask, number):
    status, answer = ask(PREDICT, (BODIES + BAD)[number], "POST")
    assert status == 400
    assert list(answer) == ["error"] and len(answer["error"]) < 300


@pytest.mark.parametrize(
    ("path", "method", "status", "message"),
    [
        ("/v1/models/other:predict", "POST", 404, "the models are ['made 2']"),
        ("/v1/models/other", "GET", 404, "received 'other'"),
        ("/v1/models/made/versions/7:predict", "POST", 404, "version 7"),
        ("/v1/models/made/versions/7", "GET", 404, "version 7"),
        ("/v1/models/made/metadata", "GET", 400, "Malformed request"),
        ("/v1/models/made:predict", "GET", 400, "Malformed request: GET"),
        ("/v1/models/made", "POST", 400, "Malformed request: POST"),
        ("/v1/models/made:classify", "POST", 400, "Malformed request"),
        ("/v1/models/made/versions/x:predict", "POST", 400, "Malformed request"),
        ("/v1/models/made/versions/" + "9" * 5000, "GET", 400, "Malformed request"),
        ("/v1/models/made/labels/stable", "GET", 400, "Malformed request"),
    ],
)
def test_unknown_places_are_refused(ask, path, method, status, message):
    found, answer = ask(path, {"inputs": ["a"]}, method)
    assert found == status and message in answer["error"]


def test_a_model_that_fails_is_an_error_of_the_server(ask):
    status, answer = ask(PREDICT, {"signature_name": "fail", "inputs": ["a"]})
    assert (status, answer) == (500, {"error": "RuntimeError: no translation today"})
