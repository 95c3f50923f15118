"""Answers of a server that isn't to be trusted."""

import gzip
import json
import threading
import time
import tracemalloc

import pytest

from zoo.serving import Client, ServingError

pytestmark = pytest.mark.backend_free

pytest.importorskip("tensorflow", reason="PredictionService's messages need it")
pytest.importorskip("tensorflow_serving", reason="PredictionService's messages")
fake_server = pytest.importorskip("tests.serving.fake_server")

TEXTS = ["a", "b"]
GOOD = {"translation": ["A", "B"], "score": [1.0, 2]}


@pytest.fixture
def server(monkeypatch):
    return fake_server.FakeServer().install(monkeypatch)


def check(address, *parts, timeout=10):
    """Checks the code and the message of the error."""
    with Client(address, "loud", timeout=timeout, retries=0) as client:
        with pytest.raises(ServingError) as caught:
            client.translate(TEXTS)
    assert len(str(caught.value)) < 800
    for part in parts:
        assert part in str(caught.value)


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
    "page": ("<html>", "in JSON, received 200, '<html>'"),
    "not UTF-8": (b"\xff\xfe\x00", "in JSON, received 200, "),
    "cut": ('{"outputs": {"transl', "in JSON, received 200, "),
    "deep lists": ("[" * 100_000, "in JSON, received 200, '[[["),
    "long number": (
        '{"outputs": {"score": [' + "9" * 5000 + "]}}",
        "in JSON, received 200, ",
    ),
    "null": ("null", "in JSON, received 200, 'null'"),
    "empty outputs": ('{"outputs": {}}', "2 rows", "received {}"),
    "one output": ('{"outputs": ["A", "B"]}', "2 rows", "score", "received {'output'"),
    "text": (outputs(translation="AB"), "2 rows", "('object', ())"),
    "object column": (outputs(score={"0": 1, "1": 2}), "received dict"),
    "null text": (outputs(translation=[None, "B"]), "NoneType and str"),
    "base64": (outputs(translation=[{"b64": "QQ=="}] * 2), "received dict"),
    "true": (outputs(score=[True, False]), "received bool"),
    "huge numbers": (outputs(score=[1, 10**400]), "too large"),
    "deep": (outputs(score=json.loads("[" * 50 + "]" * 50)), "2 rows"),
    "ragged": (outputs(score=[[1], [2, 3]]), "equal lengths", "list"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_wrong_body_is_refused(server, name):
    body, *parts = BODIES[name]
    server.answer = 200, body
    check(server.url, *parts)


def test_a_long_error_is_cut(server):
    server.answer = 400, json.dumps({"error": "long " * 10_000})
    check(server.url, "INVALID_ARGUMENT", "long long")


def test_another_status_is_refused(server):
    server.answer = 206, json.dumps({"outputs": GOOD})
    check(server.url, "UNKNOWN", "206")
    server.answer = 500, "a proxy's page"
    check(server.url, "UNAVAILABLE", "500")


@pytest.mark.parametrize("status", [302, 308])
def test_redirects_are_refused(server, status):
    headers = {"Location": "http://other"}
    server.answer = status, json.dumps({"outputs": GOOD}), headers
    check(server.url, "UNKNOWN", f"received {status}")
    assert server.requests == [2]


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "body": (HEAD + b"\r\n", b" " * 2**16, "at most 1,000,000 bytes"),
    "chunks": (CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n", "at most 1,000,000"),
    "headers": (HEAD, b"a: b\r\n" * 1000, "UNAVAILABLE"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_cut_off(little_memory, monkeypatch, name):
    monkeypatch.setattr("zoo.serving.client.MAX_ANSWER_BYTES", 1_000_000)
    begin, more, message = FLOODS[name]

    def flood(connection):
        connection.sendall(begin)
        for _ in range(2**26 // len(more)):  # twice what `little_memory` allows
            connection.sendall(more)

    with fake_server.http_server(flood) as url:
        check(url, message, timeout=60)


BOMB = gzip.compress(b" " * 2**26)


def test_a_compressed_bomb_stays_compressed(little_memory):
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB)
    with fake_server.http_server(lambda c: c.sendall(head + BOMB)) as url:
        check(url, "received 200")


DRIPS = {
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b"["),
    "headers": (HEAD, b"a: b\r\n"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("name", DRIPS)
def test_a_slow_answer_is_late(name):
    """It ends at the deadline, and the connection with it."""
    begin, more = DRIPS[name]
    ended = threading.Event()

    def drip(connection):
        try:
            connection.sendall(begin)
            while True:
                connection.sendall(more or b"")
                if not more and not connection.recv(1):
                    raise ConnectionError
                time.sleep(0.02)
        except OSError:
            ended.set()

    with fake_server.http_server(drip) as url:
        check(url, "DEADLINE_EXCEEDED", timeout=0.2)
        assert ended.wait(60)


def test_lone_surrogates_of_json_are_replaced(server):
    body = r'{"outputs": {"translation": ["\ud800", "\ud83d\ude00"], "score": [1, 1]}}'
    server.answer = 200, body
    assert Client(server.url, "loud").translate(TEXTS) == ["\ufffd", "😀"]


def test_texts_are_sent_as_utf8(server, monkeypatch):
    sent = []
    monkeypatch.setattr(server, "read", lambda request: sent.append(request.content))
    server.answer = 200, outputs()
    Client(server.url, "loud").translate(["собака", "b"])
    text = '{"signature_name": "translate", "inputs": {"text": ["собака", "b"]}}'
    assert sent == [text.encode()]


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
    "repeated": (("FLOAT", [2, 1000, 10**6], one), "[2, 1000, 1000000], received 1"),
    "more values": (("FLOAT", [2], {"float_val": [1.0] * 3}), "shape [2], received 3"),
    "no values": (("FLOAT", [2], {}), "shape [2], received 0"),
    "overflow": (("FLOAT", [2**62] * 4, one), "received 1"),
    "overflow of nothing": (("FLOAT", [0] + [2**62] * 7, {}), "received 0"),
    "wide nothing": (("FLOAT", [2, 0, 2**40], {}), "1099511627776"),
    "unknown": (("FLOAT", None, two), "received 2"),
    "very deep": (("FLOAT", [2**60] * 10**4, two), "received 2"),
    "a scalar": (("FLOAT", [], one), "2 rows", "('float32', ())"),
    "content": (("FLOAT", [2], {"tensor_content": b"a" * 8}), "received 0"),
    "integers": ((9, [2], {"int64_val": [1, 2]}), "received type 9"),
    "a type of no name": ((999, [2], two), "received type 999"),
    "texts in content": (("STRING", [2], {"tensor_content": b"AB"}), "received 0"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_wrong_tensor_is_refused(server, name):
    tensor, *parts = TENSORS[name]
    server.answer = response(score=tensor)
    check(server.address, "INTERNAL", *parts)


@pytest.mark.parametrize("shape", [[2, 1], [2, 10**9], []])
def test_a_wrong_tensor_of_texts_is_refused(server, shape):
    tensor = ("STRING", shape, {"string_val": [b"A"] * 2})
    server.answer = response(translation=tensor)
    check(server.address, "INTERNAL", "received")


def test_no_tensors_are_refused(server):
    server.answer = b""
    check(server.address, "2 rows", "received {}")


def test_what_is_no_message_is_refused():
    with fake_server.grpc_server(b"\xff" * 9) as address:
        check(address, "INTERNAL", "deserializing")


def test_a_large_message_is_refused(monkeypatch):
    monkeypatch.setattr("zoo.serving.client.MAX_ANSWER_BYTES", 1000)
    with fake_server.grpc_server(b"\0" * 1001) as address:
        check(address, "RESOURCE_EXHAUSTED", "1001 vs. 1000")


def test_a_compressed_message_stays_compressed():
    """gRPC's limit holds for what comes, which may be a thousandth."""
    import grpc

    options = {"compression": grpc.Compression.Gzip}
    with fake_server.grpc_server(b"\0" * 2**20, **options) as address:
        check(address, "INTERNAL")
    with fake_server.grpc_server(response(), **options) as address:
        assert Client(address, "loud").translate(TEXTS) == ["A", "B"]
