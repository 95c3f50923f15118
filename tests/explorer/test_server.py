"""The explorer's local server, asked over HTTP."""

import asyncio
import http.client
import io
import json
import threading
import time
import urllib.error
import urllib.request

import pytest

from tests.explorer.node import run_engine
from tests.explorer.test_pictures import make_captioner, png
from tests.presets_for_tests import save_translator
from tests.serving.conftest import make_tagger

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra `explore`")
pytest.importorskip("starlette", reason="needs the extra `explore`")
Image = pytest.importorskip("PIL.Image", reason="needs the extra `explore`")

from zoo.explorer import server  # noqa: E402

pytestmark = pytest.mark.once

OPTIONS = {"beamSize": 2, "nBest": 2, "lengthPenalty": 1, "coveragePenalty": 0}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "tiny"
    save_translator(folder)
    make_tagger().save_to_preset(str(folder.parent / "tagger"))
    make_captioner().save_to_preset(str(folder.parent / "captioner"))
    names = ("tiny", "tagger", "captioner")
    presets = [(name, folder.parent / name) for name in names]
    return server.Models(presets, site="https://example.org/zoo/")


@pytest.fixture(scope="module")
def address(models):
    config = uvicorn.Config(server.make_app(models), port=0, log_level="error")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve()), daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    thread.join()


def ask(address, path, given=None, **headers):
    """Returns the status, the headers and the content of an answer."""
    data = given
    if isinstance(given, dict):
        data = json.dumps(given).encode()
        headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(f"{address}/{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_the_page_is_served_with_strict_headers(address):
    for path in ("", "assets/engine.js", "models.json", "nothing", "api/nothing"):
        status, headers, content = ask(address, path)
        assert status == (404 if "nothing" in path else 200)
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        if not path:
            assert content == (server.STATIC / "index.html").read_bytes()


def test_models_are_listed_before_they_are_loaded(address):
    listed = json.loads(ask(address, "models.json")[2])
    infos = json.loads(ask(address, "api/models")[2])
    assert listed == {"engine": "local", "models": [{"info": info} for info in infos]}
    assert [(info["name"], info["task"]) for info in infos] == [
        ("tiny", "translate"),
        ("tagger", "tag"),
        ("captioner", "caption"),
    ]
    assert infos[0]["name"] == "tiny" and infos[0]["attention"] == "local"
    assert infos[0]["page"] == "https://example.org/zoo/papers/luong.html"
    lesson = "https://example.org/zoo/lessons/04_local_attention.html"
    assert infos[0]["lesson"] == lesson


def test_a_model_is_loaded_and_translates(address, models):
    status, _, content = ask(address, "api/load", {"name": "tiny"})
    loaded = json.loads(content)
    assert status == 200 and loaded["info"]["name"] == "tiny"
    pieces = loaded["pieces"]
    assert pieces[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    given = {
        "name": "tiny",
        "source": "a dog runs",
        "options": {**OPTIONS, "trace": True},
    }
    cut = json.loads(ask(address, "api/pieces", given)[2])
    assert [pieces[i] for i in cut["ids"]] == cut["pieces"]
    result = json.loads(ask(address, "api/run", given)[2])
    task = models._explored["tiny"].task
    wanted = task.translate("a dog runs", beam_size=2, n_best=2)
    assert [x["text"] for x in result["translations"]] == wanted
    assert result["steps"] and result["tree"]


def test_a_picture_is_read_and_captioned(address, models):
    loaded = json.loads(ask(address, "api/load", {"name": "captioner"})[2])
    assert loaded["grid"] == [2, 3] and loaded["examples"] == []  # it has no card
    kind = {"Content-Type": "image/png"}
    content = png(size=(50, 40))
    status, _, answer = ask(address, "api/picture?name=captioner", content, **kind)
    picture = json.loads(answer)["picture"]
    assert status == 200
    given = {"name": "captioner", "source": picture, "options": {**OPTIONS}}
    result = json.loads(ask(address, "api/run", given)[2])
    captioner = models._explored["captioner"]
    [image] = captioner.preprocessor.images([Image.open(io.BytesIO(content))])[0]
    wanted = captioner.task.caption(image, beam_size=2, n_best=2)
    assert [x["text"] for x in result["translations"]] == wanted
    assert len(result["translations"][0]["source_tokens"]) == 6


@pytest.mark.parametrize(
    ("path", "content", "kind", "status", "message"),
    [
        ("?name=captioner", b"GIF89a", "image/gif", 400, "must be image/png or"),
        ("?name=captioner", b"GIF89a", "image/png", 400, "no PNG, JPEG or WebP"),
        ("?name=captioner", b"x" * 10_000_001, "image/png", 413, "10000000 bytes"),
        ("?name=tagger", b"x", "image/png", 404, "no captioner 'tagger'"),
        ("", b"x", "image/png", 404, "no captioner None"),
    ],
    ids=range(5),
)
def test_bad_pictures_are_refused(address, path, content, kind, status, message):
    headers = {"Content-Type": kind}
    found, _, answer = ask(address, f"api/picture{path}", content, **headers)
    assert (found, message in json.loads(answer)["error"]) == (status, True), answer


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a dog", "must be a picture's data URL"),
        (None, "must be a picture's data URL"),
        ("data:image/png;base64,<script>", "must be base64"),
        ("data:image/png;base64,AAAA", "no PNG, JPEG or WebP"),
        ("data:text/html;base64,AAAA", "must be a picture's data URL"),
    ],
    ids=range(5),
)
def test_what_is_no_picture_is_refused(address, source, message):
    given = {"name": "captioner", "source": source, "options": OPTIONS}
    status, _, answer = ask(address, "api/run", given)
    assert (status, message in json.loads(answer)["error"]) == (400, True), answer


@pytest.mark.parametrize(
    ("path", "given", "status", "message"),
    [
        ("api/run", {"name": "tiny", "source": "a" * 2001}, 413, "2000 characters"),
        ("api/run", {"name": "tiny", "source": 5}, 400, "the source must be a string"),
        ("api/run", {"name": "tiny"}, 400, "the source must be a string"),
        ("api/run", {"name": "tiny", "source": "a"}, 400, "must be an object"),
        (
            *(
                "api/run",
                {"name": "tiny", "source": "a", "options": {"beam": 2}},
                400,
            ),
            "options must be of",
        ),
        (
            "api/run",
            {"name": "tiny", "source": "a", "options": {"prefix": [26]}},
            400,
            "ids must be below 26",
        ),
        ("api/pieces", {"name": "../tiny", "source": "a"}, 404, "no model"),
        ("api/pieces", {"name": "captioner", "source": "a"}, 400, "reads pictures"),
        ("api/load", {"name": 3}, 400, "an object with a name"),
        ("api/load", {"x": "a" * 1_000_001}, 413, "1000000 bytes"),
    ],
    ids=range(10),
)
def test_bad_requests_are_refused(address, path, given, status, message):
    found, _, content = ask(address, path, given)
    assert (found, message in json.loads(content)["error"]) == (status, True), content


@pytest.mark.parametrize("content", [b"no", b"[" * 100_000, b"[]", b"\xff"])
def test_what_is_no_json_is_refused(address, content):
    kind = {"Content-Type": "application/json"}
    assert ask(address, "api/load", content, **kind)[0] == 400


def test_a_page_elsewhere_is_refused(address):
    """Its forms cannot send JSON, and a name of its own that leads here isn't known."""
    body = json.dumps({"name": "tiny"}).encode()
    kind = {"Content-Type": "text/plain"}
    assert ask(address, "api/load", body, **kind)[0] == 400
    assert ask(address, "models.json", Host="evil.example")[0] == 400
    assert ask(address, "models.json", Host="localhost:8650")[0] == 200


def test_files_beside_the_page_are_not_served(address):
    for path in ("/../server.py", "/%2e%2e/server.py", "/assets/../../server.py"):
        host = address.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", path)
        assert connection.getresponse().status == 404


def hold(models, monkeypatch):
    """Makes each step of a search wait; returns what lets it go, and the steps."""
    go, steps = threading.Event(), []
    model = models._explored["tiny"]
    run = model.run

    def slow(source, options, between):
        def wait():
            steps.append(source)
            go.wait(30)
            between()

        return run(source, options, wait)

    monkeypatch.setattr(model, "run", slow)
    return go, steps


def test_too_many_requests_are_refused(address, models, monkeypatch):
    ask(address, "api/load", {"name": "tiny"})
    go, steps = hold(models, monkeypatch)
    given = {"name": "tiny", "source": "a dog", "options": OPTIONS}
    found = []

    def work():
        found.append(ask(address, "api/run", given)[0])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    while not (steps and len(found) == 3):
        time.sleep(0.01)
    assert found == [429] * 3
    go.set()
    for thread in threads:
        thread.join()
    assert sorted(found) == [200] * 5 + [429] * 3


def test_a_translation_that_takes_too_long_ends(address, models, monkeypatch):
    ask(address, "api/load", {"name": "tiny"})
    monkeypatch.setattr(server, "SECONDS", 0.0)
    given = {"name": "tiny", "source": "a dog", "options": OPTIONS}
    status, _, content = ask(address, "api/run", given)
    assert status == 503 and "took longer than 0 s" in json.loads(content)["error"]


def test_a_request_that_comes_too_slowly_ends(address, monkeypatch):
    monkeypatch.setattr(server, "SENDING", 0.2)
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", "/api/pieces")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b'{"name"')  # and no more
    response = connection.getresponse()
    assert response.status == 408
    assert "took longer than 0.2 s" in json.loads(response.read())["error"]
    connection.close()


def test_a_translation_that_nobody_waits_for_ends(address, models, monkeypatch):
    ask(address, "api/load", {"name": "tiny"})
    go, steps = hold(models, monkeypatch)
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    given = {"name": "tiny", "source": "a dog", "options": OPTIONS}
    kind = {"Content-Type": "application/json"}
    connection.request("POST", "/api/run", json.dumps(given), kind)
    while not steps:
        time.sleep(0.01)
    connection.close()
    for _ in range(5):  # every 50 ms the server checks whether the client has left
        time.sleep(0.1)
        ask(address, "models.json")
    go.set()
    monkeypatch.undo()
    # The next one has its turn at once, and the first one made no further step.
    assert ask(address, "api/pieces", given)[0] == 200
    assert steps == ["a dog"]


def test_the_page_asks_the_server(address, models):
    """In Chromium: its engine is the server's, whose errors it gets."""
    text = "a dog <b>runs</b> \u202e"
    found = run_engine(
        f"{address}/",
        [
            {"name": "tiny", "text": text, "options": {**OPTIONS, "trace": True}},
            {"name": "tiny", "pieces": [text, ""]},
            {"name": "tiny", "text": "a" * 2001, "options": OPTIONS},
            {"name": "tiny", "text": "a", "options": {**OPTIONS, "nBest": 3}},
            {"name": "none", "text": "a", "options": OPTIONS},
            {"name": "tagger", "text": "A dog <b>", "options": OPTIONS},
        ],
    )
    result, pieces, *errors, tagged = found["results"]
    task = models._explored["tiny"].task
    wanted = task.translate(text, beam_size=2, n_best=2)
    assert [x["text"] for x in result["translations"]] == wanted
    assert found["kind"] == "local" and found["models"][0]["name"] == "tiny"
    assert pieces == task.preprocessor.encode([text, ""])
    for error, message in zip(
        errors, ("2000 characters", "must not exceed", "no model"), strict=True
    ):
        assert message in error["error"]
    assert all(x.startswith(address) for x in found["fetched"])
    task = models._explored["tagger"].task
    best = [(x["text"], x["candidates"][0]["piece"]) for x in tagged["readings"]]
    assert best == task.tag("A dog <b>")


def test_connections_are_bounded(monkeypatch):
    calls = []
    monkeypatch.setattr("uvicorn.run", lambda app, **given: calls.append(given))
    server.serve([], port=9)
    [given] = calls
    assert (given["host"], given["port"]) == ("127.0.0.1", 9)
    assert given["limit_concurrency"] == server.MOST_CONNECTIONS


@pytest.mark.backend_free
def test_loopback():
    local = ["127.0.0.1", "127.8.9.1", "::1", "localhost"]
    assert all(map(server.is_loopback, local))
    assert not any(map(server.is_loopback, ["0.0.0.0", "::", "10.0.0.1", "host"]))


@pytest.mark.backend_free
def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs starlette: pip install .*explore"):
        server.require_server()
