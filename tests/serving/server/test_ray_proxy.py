import asyncio
import json

import pytest

grpc = pytest.importorskip("grpc", reason="it is of the extras `serving` and `ray`")
pytest.importorskip("starlette", reason="it is of the extra `ray`")

from zoo.serving.server.ray_proxy import (  # noqa: E402
    BoundedBodies,
    RESTErrors,
    add_services,
)
from zoo.serving.server.server_options import MAX_REQUEST_BYTES  # noqa: E402

pytestmark = pytest.mark.backend_free
PREDICT = "/tensorflow.serving.PredictionService/Predict"


# === gRPC ===
class Servicer:
    """Stands for the replicas: answers, refuses, fails, or has died."""

    async def Predict(self, request, context):
        if isinstance(request, int):
            return str(request).encode()
        if request == b"refused":
            context.set_code(grpc.StatusCode.NOT_FOUND)
            context.set_details("no such model")
        if request in (b"failed", b"died"):
            context.set_code(grpc.StatusCode.INTERNAL)
            context.set_details("The actor died")
        if request == b"failed":
            context.set_trailing_metadata((("request_id", "7"),))
        return request[::-1]

    async def GetModelMetadata(self, request, context):
        return b"metadata"

    async def GetModelStatus(self, request, context):
        return b"status"


def ask(*requests):
    """The answers or (code, details) to (method, request)."""

    async def run():
        server = grpc.aio.server(
            options=[("grpc.max_receive_message_length", 2 * MAX_REQUEST_BYTES)]
        )
        add_services(Servicer(), server)
        port = server.add_insecure_port("localhost:0")
        await server.start()
        found = []
        async with grpc.aio.insecure_channel(f"localhost:{port}") as channel:
            for method, request in requests:
                try:
                    found.append(await channel.unary_unary(method)(request))
                except grpc.RpcError as error:
                    found.append((error.code().name, error.details()))
        await server.stop(0)
        return found

    return asyncio.run(run())


def test_methods_and_the_size_of_requests():
    service = "/tensorflow.serving"
    assert ask(
        (PREDICT, b"abc"),
        (f"{service}.PredictionService/GetModelMetadata", b""),
        (f"{service}.ModelService/GetModelStatus", b""),
        (PREDICT, b"a" * (MAX_REQUEST_BYTES + 1)),
    ) == [b"cba", b"metadata", b"status", str(MAX_REQUEST_BYTES + 1).encode()]
    [(code, _)] = ask((f"{service}.PredictionService/Classify", b""))
    assert code == "UNIMPLEMENTED"


def test_only_a_replica_that_died_is_unavailable():
    refused, failed, died = ask(
        *((PREDICT, x) for x in (b"refused", b"failed", b"died"))
    )
    assert refused == ("NOT_FOUND", "no such model")
    assert failed == ("INTERNAL", "The actor died")
    assert died[0] == "UNAVAILABLE" and "sent again" in died[1]


# === REST ===
def answer(status, body, kind, path="/v1/models/a:predict"):
    """The status and body that a client gets of an application's."""

    async def app(scope, receive, send):
        if status is None:
            return
        headers = [(b"Content-Type", kind.encode())]
        await send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        for part in body:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})

    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(RESTErrors(app)({"type": "http", "path": path}, None, send))
    starts = [m["status"] for m in sent if m["type"] == "http.response.start"]
    return starts, b"".join(m.get("body", b"") for m in sent)


def test_what_a_replica_answers_stays():
    for status in (200, 400, 408, 503):
        body = [b'{"a"', b": 1}"]
        assert answer(status, body, "application/json") == ([status], b'{"a": 1}')


@pytest.mark.parametrize(("status", "wanted"), [(404, 404), (408, 504), (429, 429)])
def test_rays_own_errors_become_the_apis(status, wanted):
    starts, body = answer(status, [b"too ", b"many"], "text/plain")
    assert starts == [wanted] and json.loads(body) == {"error": "too many"}


def test_a_request_without_an_answer_has_to_be_sent_again():
    starts, body = answer(None, [], "")
    assert starts == [503] and "sent again" in json.loads(body)["error"]


def test_rays_own_paths_stay():
    found = answer(200, [b"success"], "text/plain", "/-/healthz")
    assert found == ([200], b"success")


# === Bodies ===
def send_body(parts, headers=(), pause=0.0, **options):
    """Sends the parts of a body; returns the status and the answer, and what the
    application got."""
    sent, got = [], []
    parts = list(parts)

    async def app(scope, receive, send):
        message = await receive()
        got.append((message["body"], message["more_body"], dict(scope["headers"])))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"ok": 1}'})

    async def receive():
        await asyncio.sleep(pause)
        if not parts:
            return {"type": "http.disconnect"}
        more = len(parts) > 1
        part = parts.pop(0)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": more}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": list(headers)}
    asyncio.run(BoundedBodies(app, **options)(scope, receive, send))
    if not sent:
        return None, None, got
    return sent[0]["status"], json.loads(sent[1]["body"]), got


def test_the_application_gets_the_whole_body():
    status, answer, [got] = send_body([b"a", b"", b"bc"], most=3)
    assert (status, answer) == (200, {"ok": 1})
    assert got[:2] == (b"abc", False)


@pytest.mark.parametrize("parts", [[b"abcd"], [b"ab", b"cd", b"e"]])
def test_a_larger_one_is_read_to_its_end_and_refused(parts):
    status, answer, got = send_body(parts, most=3)
    assert status == 400 and "may have 3 bytes" in answer["error"] and not got


def test_a_slow_one_is_refused():
    status, answer, got = send_body([b"a"] * 50, pause=0.02, seconds=0.1)
    assert status == 408 and "within 0.1 s" in answer["error"] and not got


def test_one_that_breaks_off_is_not_answered():
    assert send_body([b"a", None, b"b"]) == (None, None, [])
