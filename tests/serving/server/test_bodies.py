import asyncio
import json

import pytest

from zoo.serving.server.bodies import BoundedBodies

pytestmark = pytest.mark.backend_free


def ask(parts, headers=(), pause=0.0, **options):
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
    status, answer, [got] = ask([b"a", b"", b"bc"], most=3)
    assert (status, answer) == (200, {"ok": 1})
    assert got[:2] == (b"abc", False)


@pytest.mark.parametrize("parts", [[b"abcd"], [b"ab", b"cd", b"e"]])
def test_a_larger_one_is_read_to_its_end_and_refused(parts):
    status, answer, got = ask(parts, most=3)
    assert status == 400 and "may have 3 bytes" in answer["error"] and not got


def test_a_slow_one_is_refused():
    status, answer, got = ask([b"a"] * 50, pause=0.02, seconds=0.1)
    assert status == 408 and "within 0.1 s" in answer["error"] and not got


def test_one_that_breaks_off_is_not_answered():
    assert ask([b"a", None, b"b"]) == (None, None, [])
