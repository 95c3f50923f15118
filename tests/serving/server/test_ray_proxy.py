import asyncio
import json

import pytest

grpc = pytest.importorskip("grpc", reason="it is of the extras `serving` and `ray`")
pytest.importorskip("starlette", reason="it is of the extra `ray`")

from zoo.serving.server.ray_proxy import RESTProxy, add_services  # noqa: E402

pytestmark = pytest.mark.backend_free
PREDICT = "/tensorflow.serving.PredictionService/Predict"


# === gRPC ===
class Servicer:
    """Stands for the replicas: answers, refuses, fails, or has died."""

    async def Predict(self, request, context):
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


def test_methods_and_what_is_unavailable():
    """Only a replica that died is; of other methods gRPC says UNIMPLEMENTED."""
    service = "/tensorflow.serving"

    async def ask():
        server, found = grpc.aio.server(), []
        add_services(Servicer(), server)
        port = server.add_insecure_port("localhost:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"localhost:{port}") as channel:
            for method, request in (
                (PREDICT, b"abc"),
                (f"{service}.PredictionService/GetModelMetadata", b""),
                (f"{service}.ModelService/GetModelStatus", b""),
                *((PREDICT, x) for x in (b"refused", b"failed", b"died")),
                (f"{service}.PredictionService/Classify", b""),
            ):
                try:
                    found.append(await channel.unary_unary(method)(request))
                except grpc.RpcError as error:
                    found.append((error.code().name, error.details()))
        await server.stop(0)
        return found

    *answers, refused, failed, died, other = asyncio.run(ask())
    assert answers == [b"cba", b"metadata", b"status"]
    assert refused == ("NOT_FOUND", "no such model")
    assert failed == ("INTERNAL", "The actor died")
    assert died[0] == "UNAVAILABLE" and "sent again" in died[1]
    assert other[0] == "UNIMPLEMENTED"


# === REST ===
def send(parts=(b"",), answer=None, pause=0.0, path="/v1/models/a:predict", **options):
    """Sends a body's parts, of which None is a disconnect, to an application that gives
    `answer`: status, content type and parts; returns the status, the body, and what the
    application got."""
    sent, got, parts = [], [], list(parts)

    async def app(scope, receive, send):
        got.append(await receive())
        if answer is None:
            return
        status, kind, *bodies = answer
        headers = [(b"content-type", kind)]
        await send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        for body in bodies:
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body"})

    async def receive():
        await asyncio.sleep(pause)
        part = parts.pop(0) if parts else None
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def keep(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": []}
    asyncio.run(RESTProxy(app, **options)(scope, receive, keep))
    starts = [m["status"] for m in sent if m["type"] == "http.response.start"]
    return starts, b"".join(m.get("body", b"") for m in sent), got


JSON = b"application/json"


@pytest.mark.parametrize("status", [200, 400, 408, 503])
def test_what_a_replica_answers_stays(status):
    starts, body, _ = send(answer=(status, JSON, b'{"a"', b": 1}"))
    assert (starts, body) == ([status], b'{"a": 1}')


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        ((404, b"text/plain", b"no ", b"path"), 404, "no path"),
        ((408, b"text/plain", b"late"), 504, "late"),
        ((429, b"text/plain", b"too many"), 429, "too many"),
        (None, 503, "sent again"),
    ],
)
def test_rays_own_errors_become_the_apis(answer, status, text):
    starts, body, _ = send(answer=answer)
    assert starts == [status] and text in json.loads(body)["error"]


def test_rays_own_paths_stay():
    starts, body, _ = send(answer=(200, b"text/plain", b"success"), path="/-/healthz")
    assert (starts, body) == ([200], b"success")


def test_bodies_are_bounded():
    answer = 200, JSON, b"{}"
    starts, _, [got] = send([b"a", b"", b"bc"], answer, most=3)
    assert (starts, got["body"], got["more_body"]) == ([200], b"abc", False)
    for parts in ([b"abcd"], [b"ab", b"cd", b"e"]):  # read to their end
        starts, body, got = send(parts, answer, most=3)
        assert starts == [400] and b"may have 3 bytes" in body and not got
    starts, body, got = send([b"a"] * 50, answer, pause=0.02, seconds=0.1)
    assert starts == [408] and b"within 0.1 s" in body and not got
    assert send([b"a", None, b"b"], answer) == ([], b"", [])  # it broke off
