"""Answers of a server that isn't to be trusted."""

import gzip
import json
import time
import tracemalloc

import pytest

from zoo.serving import Client, ServingError

pytestmark = pytest.mark.backend_free

pytest.importorskip("tensorflow", reason="PredictionService's messages need it")
pytest.importorskip("tensorflow_serving", reason="PredictionService's messages")
double = pytest.importorskip("tests.serving.double")

TEXTS = ["a", "b"]
GOOD = {"translation": ["A", "B"], "score": [1.0, 2]}


def refused(address, timeout=10):
    """The code and the message of the error, which comes in time."""
    began = time.monotonic()
    with Client(address, "loud", timeout=timeout, retries=0) as client:
        with pytest.raises(ServingError) as caught:
            client.translate(TEXTS)
    assert time.monotonic() - began < 5
    assert len(str(caught.value)) < 800
    return str(caught.value)


def check(message, *parts):
    for part in parts:
        assert part in message


@pytest.fixture
def little_memory():
    tracemalloc.start()
    yield
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 32 * 2**20


# === REST ===
def outputs(**changes):
    return json.dumps({"outputs": {**GOOD, **changes}})


BODIES = {
    "empty": ("", "expected JSON, received HTTP 200, ''"),
    "page": ("<html>", "expected JSON, received HTTP 200, '<html>'"),
    "not UTF-8": (b"\xff\xfe\x00", "expected JSON, received HTTP 200"),
    "cut": ('{"outputs": {"transl', "expected JSON, received HTTP 200"),
    "deep lists": ("[" * 100_000, "expected JSON, received HTTP 200, '[[["),
    "deep outputs": ('{"outputs": ' + "[" * 100_000, "expected JSON"),
    "deep objects": ('{"a":' * 50_000, "expected JSON, received HTTP 200"),
    "long number": (
        '{"outputs": {"score": [' + "9" * 5000 + "]}}",
        "expected JSON, received HTTP 200",
    ),
    "null": ("null", "no lists as \"outputs\", but 'null'"),
    "number": ("1", "no lists as \"outputs\", but '1'"),
    "string": ('"a"', 'no lists as "outputs"'),
    "list": ("[1]", "no lists as \"outputs\", but '[1]'"),
    "no outputs": ("{}", "no lists as \"outputs\", but '{}'"),
    "null outputs": ('{"outputs": null}', 'no lists as "outputs"'),
    "empty outputs": ('{"outputs": {}}', "2 rows", "received {}"),
    "one output": ('{"outputs": ["A", "B"]}', "2 rows", "score", "received {'output'"),
    "predictions": ('{"predictions": ["A", "B"]}', 'no lists as "outputs"'),
    "text": (outputs(translation="AB"), 'no lists as "outputs"'),
    "null column": (outputs(score=None), 'no lists as "outputs"'),
    "object column": (outputs(score={"0": 1, "1": 2}), 'no lists as "outputs"'),
    "null text": (
        outputs(translation=[None, "B"]),
        "only strings",
        "a string and null",
    ),
    "null texts": (outputs(translation=[None, None]), "only strings", "received null"),
    "number as text": (outputs(translation=["A", 1]), "received a number and a string"),
    "object as text": (outputs(translation=["A", {}]), "a string and an object"),
    "list as text": (outputs(translation=["A", ["B"]]), "received a list and a string"),
    "base64": (outputs(translation=[{"b64": "QQ=="}] * 2), "received an object"),
    "numbers as texts": (
        outputs(translation=[1, 2]),
        "translation text (B)",
        "'number'",
    ),
    "texts as numbers": (outputs(score=["1", "2"]), "score number (B)", "'text'"),
    "null score": (outputs(score=[1.0, None]), "received a number and null"),
    "true": (outputs(score=[True, False]), "received a boolean"),
    "huge numbers": (outputs(score=[1, 10**400]), "64 bits"),
    "huge numbers beside NaN": (outputs(score=[float("nan"), -(10**400)]), "64 bits"),
    "too few": (outputs(translation=["A"]), "2 rows", "('text', (1,))"),
    "too many": (outputs(score=[1.0] * 3), "2 rows", "('number', (3,))"),
    "none": (outputs(translation=[], score=[]), "2 rows", "(0,)"),
    "rank": (outputs(translation=[["A"], ["B"]]), "translation text (B)", "(2, 1)"),
    "rank of the scores": (outputs(score=[[1], [2]]), "score number (B)", "(2, 1)"),
    "deep": (outputs(score=json.loads("[" * 50 + "]" * 50)), "at most 8 dimensions"),
    "ragged": (outputs(score=[[1], [2, 3]]), "a rectangle", "lists of 1 to 2"),
    "without a score": ('{"outputs": {"translation": ["A", "B"]}}', "score number (B)"),
    "other names": ('{"outputs": {"x": ["A", "B"], "y": [1, 2]}}', "translation text"),
    "ragged by emptiness": (outputs(score=[[], [1]]), "a rectangle", "lists of 0 to 1"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_wrong_body_is_refused(name):
    body, *parts = BODIES[name]
    with double.http_server(lambda c: c.sendall(double.http_answer(body))) as url:
        check(refused(url), *parts)


@pytest.mark.parametrize("body", ["[" * 100_000, "null", '{"error": {"a": [1]}}', "[]"])
def test_a_wrong_error_is_one(body):
    answer = double.http_answer(body, "404 Not Found")
    with double.http_server(lambda c: c.sendall(answer)) as url:
        check(refused(url), "NOT_FOUND", "received", "404")


def test_a_long_error_is_cut():
    answer = double.http_answer(json.dumps({"error": "long " * 10_000}), "400 Bad")
    with double.http_server(lambda c: c.sendall(answer)) as url:
        check(refused(url), "INVALID_ARGUMENT", "long long", "…")


@pytest.mark.parametrize("status", ["204 No Content", "206 Partial", "299 Odd"])
def test_another_status_is_refused(status):
    body = "" if status[:3] == "204" else json.dumps({"outputs": GOOD})
    with double.http_server(
        lambda c: c.sendall(double.http_answer(body, status))
    ) as url:
        check(refused(url), "UNKNOWN", status[:3])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", ["elsewhere", "broken", "itself", None])
def test_redirects_are_refused(status, place):
    asked = []
    good = double.http_answer(json.dumps({"outputs": GOOD}))
    with double.http_server(lambda c: (asked.append(1), c.sendall(good))) as other:
        targets = {"elsewhere": other, "broken": "http://[::1", "itself": "/"}
        header = f"Location: {targets[place]}\r\n" if place else ""
        answer = double.http_answer("gone", f"{status} Moved", header)
        with double.http_server(lambda c: c.sendall(answer)) as url:
            message = refused(url)
    check(message, "redirects are not followed", f"received {status} to")
    assert not asked


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "body": (HEAD + b"\r\n", b" " * 2**16),
    "long body": (HEAD + b"Content-Length: 1500000000\r\n\r\n", b"[" * 2**16),
    "chunks": (CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "chunk of a negative size": (CHUNKED + b"-1\r\n", b" " * 2**16),
    "line of a chunk": (CHUNKED + b"1;", b"a" * 2**16),
    "trailers": (CHUNKED + b"0\r\n", b"a: b\r\n" * 1000),
    "header": (HEAD + b"a: ", b"a" * 2**16),
    "headers": (HEAD, b"a: b\r\n" * 1000),
    "status": (b"", b"a" * 2**16),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "an error's body": (b"HTTP/1.1 400 Bad\r\n\r\n", b" " * 2**16),
    "a redirect's body": (
        b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
        b" " * 2**16,
    ),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_cut_off(little_memory, name):
    begin, more = FLOODS[name]

    def flood(connection):
        connection.sendall(begin)
        for _ in range(2**26 // len(more)):  # twice what `little_memory` allows
            connection.sendall(more)

    limited = "body" in name
    with double.http_server(flood) as url:
        message = refused(url, timeout=10 if limited else 1)
    if limited:
        check(message, "RESOURCE_EXHAUSTED", "at most 590,", "received 65")


BOMB = gzip.compress(b" " * 2**26)


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "400 Bad"])
def test_a_compressed_bomb_stays_compressed(little_memory, status):
    header = "Content-Encoding: gzip\r\nLocation: /\r\n"
    answer = double.http_answer(BOMB, status, header)
    with double.http_server(lambda c: c.sendall(answer)) as url:
        check(
            refused(url), f"received {'' if status[0] == '3' else 'HTTP '}{status[:3]}"
        )


DRIPS = {
    "status": (b"", b"H"),
    "header": (HEAD + b"a: ", b"a"),
    "headers": (HEAD, b"a: b\r\n"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b"["),
    "chunk's size": (CHUNKED, b"0"),
    "trailer": (CHUNKED + b"0\r\n", b"a: b\r\n"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "redirect": (b"HTTP/1.1 307 Go\r\nLocation: /\r\n\r\n", b"a"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("name", DRIPS)
def test_a_slow_answer_is_late(name):
    begin, more = DRIPS[name]

    def drip(connection):
        connection.sendall(begin)
        for _ in range(1000):  # 20 seconds
            connection.sendall(more)
            time.sleep(0.02)

    with double.http_server(drip) as url:
        check(refused(url, timeout=0.2), "DEADLINE_EXCEEDED")


def test_good_answers_share_a_connection():
    answer = double.http_answer(json.dumps({"outputs": {**GOOD, "more": [0, 0]}}))
    size = b"%x" % len(b'{"outputs":%s}' % json.dumps(GOOD).encode())
    chunked = CHUNKED + size + b"\r\n" + b'{"outputs":%s}' % json.dumps(GOOD).encode()
    answers, used = [answer, chunked + b"\r\n0\r\n\r\n", answer], set()

    def reply(connection):
        used.add(connection)
        connection.sendall(answers.pop(0))

    with double.http_server(reply) as url, Client(url, "loud") as client:
        for _ in range(3):
            assert client.translate(TEXTS) == ["A", "B"]
    assert len(used) == 1


def test_lone_surrogates_of_json_are_replaced():
    body = r'{"outputs": {"translation": ["\ud800", "\ud83d\ude00"], "score": [1, 1]}}'
    with double.http_server(lambda c: c.sendall(double.http_answer(body))) as url:
        assert Client(url, "loud").translate(TEXTS) == ["\ufffd", "😀"]


# === gRPC ===
def response(**changes):
    """The bytes of an answer to `translate`; changes are `(dtype, shape, fields)`."""
    from tensorflow_serving.apis import predict_pb2

    answer = predict_pb2.PredictResponse()
    tensors = {
        "translation": ("STRING", [2], {"string_val": [b"A", b"B"]}),
        "score": ("FLOAT", [2], {"float_val": [1.0, 2.0]}),
        **changes,
    }
    for name, tensor in tensors.items():
        if tensor:
            dtype, shape, fields = tensor
            answer.outputs[name].dtype = {"STRING": 7, "FLOAT": 1}.get(dtype, dtype)
            for size in shape or ():
                answer.outputs[name].tensor_shape.dim.add(size=size)
            answer.outputs[name].tensor_shape.unknown_rank = shape is None
            for field, values in fields.items():
                if field == "tensor_content":
                    answer.outputs[name].tensor_content = values
                else:
                    getattr(answer.outputs[name], field).extend(values)
    return answer.SerializeToString()


one, two = {"float_val": [1.0]}, {"float_val": [1.0, 2.0]}
TENSORS = {
    "repeated": (("FLOAT", [2, 1000, 10**6], one), "2000000000 values", "received 1"),
    "repeated little": (("FLOAT", [2], one), "expected 2 values", "received 1"),
    "more values": (("FLOAT", [2], {"float_val": [1.0] * 3}), "2 values", "received 3"),
    "no values": (("FLOAT", [2], {}), "expected 2 values", "received 0"),
    "overflow": (("FLOAT", [2**62] * 4, one), "values for shape", "received 1"),
    "overflow of nothing": (("FLOAT", [0] + [2**62] * 7, {}), "output 'score'"),
    "wide nothing": (("FLOAT", [2, 0, 2**40], {}), "score number (B)", "1099511627776"),
    "negative": (("FLOAT", [-2, -1], two), "a known shape", "an unknown one"),
    "unknown": (("FLOAT", None, two), "a known shape", "an unknown one"),
    "deep": (("FLOAT", [2] + [1] * 8, two), "at most 8 dimensions", "received 9"),
    "very deep": (("FLOAT", [2**60] * 10**4, two), "at most 8", "received 10000"),
    "a scalar": (("FLOAT", [], one), "2 rows", "('number', ())"),
    "odd content": (("FLOAT", [2], {"tensor_content": b"a" * 7}), "received 1.75"),
    "short content": (("FLOAT", [2], {"tensor_content": b"aaaa"}), "received 1"),
    "integers": ((9, [2], {"int64_val": [1, 2]}), "DT_FLOAT", "received DT_INT64"),
    "doubles": ((2, [2], {"double_val": [1, 2]}), "DT_FLOAT", "received DT_DOUBLE"),
    "booleans": ((10, [2], {"bool_val": [True, False]}), "received DT_BOOL"),
    "resources": ((20, [2], {}), "received DT_RESOURCE"),
    "no type": ((0, [2], two), "DT_FLOAT", "received DT_INVALID"),
    "a type of no name": ((999, [2], two), "DT_FLOAT", "received 999"),
    "texts as numbers": (
        ("STRING", [2], {"string_val": [b""] * 2}),
        "score number (B)",
    ),
    "texts in content": (("STRING", [2], {"tensor_content": b"AB"}), "received 0"),
    "too many": (("FLOAT", [3], {"float_val": [1.0] * 3}), "2 rows", "(3,)"),
    "too few": (("FLOAT", [1], one), "2 rows", "(1,)"),
    "none": (("FLOAT", [0], {}), "2 rows", "(0,)"),
    "rank": (("FLOAT", [2, 1], two), "score number (B)", "(2, 1)"),
    "missing": (None, "score number (B)", "received {'translation'"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_wrong_tensor_is_refused(name):
    tensor, *parts = TENSORS[name]
    with double.grpc_server(response(score=tensor)) as address:
        check(refused(address), "INTERNAL", *parts)


@pytest.mark.parametrize("shape", [[2, 1], [2, 10**9], [1], []])
def test_a_wrong_tensor_of_texts_is_refused(shape):
    tensor = ("STRING", shape, {"string_val": [b"A"] * 2})
    expected = "translation text (B)" if shape == [2, 1] else "values for shape"
    with double.grpc_server(response(translation=tensor)) as address:
        check(refused(address), "INTERNAL", expected, "received")


@pytest.mark.parametrize(
    "answer", [b"\xff" * 9, b"<html>", b"\x0a\xff\xff\xff\xff\x0f"]
)
def test_what_is_no_message_is_refused(answer):
    with double.grpc_server(answer) as address:
        check(refused(address), "INTERNAL", "expected a PredictResponse", "received b'")


def test_no_tensors_are_refused():
    with double.grpc_server(b"") as address:
        check(refused(address), "2 rows of translation text (B)", "received {}")


def test_a_large_message_is_refused(monkeypatch):
    with double.grpc_server(b"\0" * 2**20) as address:
        message = refused(address)
    check(message, "RESOURCE_EXHAUSTED", "at most 590,", "received 1,048,576")
    monkeypatch.setattr("zoo.serving.transport.MOST_BYTES", 1000)
    with double.grpc_server(b"\0" * 1001) as address:
        check(refused(address), "RESOURCE_EXHAUSTED", "1001 vs. 1000")


def test_a_compressed_message_stays_compressed():
    """gRPC's limit holds for what comes, which may be a thousandth."""
    import grpc

    options = {"compression": grpc.Compression.Gzip}
    with double.grpc_server(b"\0" * 2**20, **options) as address:
        message = refused(address)
    check(message, "received")
    assert "1,048,576" not in message
    with double.grpc_server(response(), **options) as address:
        assert Client(address, "loud").translate(TEXTS) == ["A", "B"]
