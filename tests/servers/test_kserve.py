"""The real server, in an environment that has kserve: `ZOO_KSERVE_PYTHON`, or this."""

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.conftest import needs_onnx
from zoo.runtime import onnx
from zoo.serving import Client, ServingError

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("ZOO_KSERVE_PYTHON") or (
    sys.executable if importlib.util.find_spec("kserve") else None
)
pytestmark = [
    needs_onnx,
    pytest.mark.long,
    pytest.mark.skipif(
        PYTHON is None,
        reason="kserve is not here, and ZOO_KSERVE_PYTHON names no other",
    ),
]
TEXTS = ["A dog runs.", "", "Two men sit at a table.", "qwxz 日本 dog"]


class Server:
    """The server in a process of its own."""

    def __init__(self, folder, *options):
        self.folder = folder / "luong_local"
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in "ab"]
            port, rest_port = (found.getsockname()[1] for found in sockets)
        self.address, self.url = f"localhost:{port}", f"http://localhost:{rest_port}"
        command = [PYTHON, "-m", "zoo.servers.kserve", f"luong_local={self.folder}"]
        command += ["--port", str(port), "--rest-port", str(rest_port), *options]
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=log
            )
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("localhost", rest_port), 1).close()
                socket.create_connection(("localhost", port), 1).close()
                break
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def client(self, **options):
        return Client(self.url, "luong_local", timeout=60, retries=0, **options)

    def ask(self, path, body=None, **options):
        """The status and the JSON that answer a request."""
        import requests

        method = "GET" if body is None else "POST"
        if not isinstance(body, bytes | None):
            body = json.dumps(body)
        answer = requests.request(
            method, f"{self.url}{path}", data=body, timeout=60, **options
        )
        return answer.status_code, answer.json()

    def stop(self):
        """The exit code; SIGTERM is what Kubernetes sends."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"it did not stop: {self.log.read_text()}")


@contextlib.contextmanager
def serving(exported, folder, *options):
    shutil.copytree(exported / "1", folder / "luong_local" / "1")
    server = Server(folder, *options)
    try:
        yield server
    finally:
        code = server.stop()
    assert code in (0, -signal.SIGTERM)


@pytest.fixture(scope="module")
def exported(export):
    return export("luong_local")[1]


@pytest.fixture(scope="module")
def model(exported):
    return onnx.load(exported)


@pytest.fixture(scope="module")
def server(exported, tmp_path_factory):
    with serving(exported, tmp_path_factory.mktemp("served")) as server:
        yield server


def still_there(server):
    assert server.client().translate("A dog runs.") == "Ein Hund rennt."


# === Answers ===
def test_the_client_gets_what_the_runtime_gives(server, model):
    with server.client() as client:
        assert client.translate(TEXTS) == model.translate(TEXTS)
        assert client.greedy(TEXTS) == model.translate(TEXTS, beam_size=1)
        records = model.translate(TEXTS, n_best=5, return_details=True)
        for found, wanted in zip(client.translate_n_best(TEXTS), records, strict=True):
            wanted = wanted if wanted[0].tokens else wanted[:1]
            assert [text for text, _ in found] == [record.text for record in wanted]
            scores = [record.score for record in wanted]
            np.testing.assert_allclose([score for _, score in found], scores, atol=1e-4)
        for found, (wanted, *_) in zip(client.align(TEXTS), records, strict=True):
            assert (found["text"], found["tokens"]) == (wanted.text, wanted.tokens)
            assert found["source_tokens"] == wanted.source_tokens
            np.testing.assert_allclose(found["alignment"], wanted.alignment, atol=1e-4)
        sources, targets = TEXTS[::2], ["Ein Hund rennt.", ""]
        wanted = model.score(sources, targets)
        np.testing.assert_allclose(client.score(sources, targets), wanted, atol=1e-4)


def test_versions_labels_and_errors_are_those_of_the_model_server(server):
    for place in ({"version": 1}, {"label": "stable"}):
        assert server.client(**place).translate(["A dog runs."]) == ["Ein Hund rennt."]
    for place, code in (
        ({"version": 9}, "NOT_FOUND"),
        ({"label": "previous"}, "INVALID_ARGUMENT"),
    ):
        with pytest.raises(ServingError) as error:
            server.client(**place).translate("a")
        assert error.value.code == code
    with pytest.raises(ServingError) as error:
        server.client().translate("a", model="other")
    assert error.value.code == "NOT_FOUND"
    with pytest.raises(ServingError, match="must not be blank") as error:
        server.client().score(["", "a"], ["b", "c"])
    assert error.value.code == "INVALID_ARGUMENT"
    status, answer = server.ask("/v1/models/luong_local")
    assert status == 200
    assert answer["model_version_status"][0]["state"] == "AVAILABLE"
    status, answer = server.ask("/v1/models/luong_local/metadata")
    assert "align" in answer["metadata"]["signature_def"]["signature_def"]


def test_the_readmes_curl_lines(server):
    if not shutil.which("curl"):
        pytest.skip("curl is not here")
    text = (ROOT / "README.md").read_text("utf-8").replace("\\\n", "")
    commands = re.findall(r"^ +(curl http://localhost:8501.*)$", text, re.MULTILINE)
    assert len(commands) == 2
    found = []
    for command in commands:
        words = shlex.split(command.replace("http://localhost:8501", server.url))
        found.append(json.loads(subprocess.check_output([words[0], "-s", *words[1:]])))
    texts = [row["translation"] for row in found[0]["predictions"]]
    assert texts == ["Ein Mann fährt Fahrrad.", "Zwei Hunde laufen."]
    assert found[1]["outputs"]["translations"][0][0] == "Zwei Hunde laufen."


# === Open Inference Protocol ===
def test_v2_over_rest(server, model):
    tensor = {"name": "text", "datatype": "BYTES", "shape": [4], "data": TEXTS}
    path = "/v2/models/luong_local"
    for headers in ({}, {"Content-Type": "application/json"}):
        status, answer = server.ask(
            f"{path}/infer", {"id": "7", "inputs": [tensor]}, headers=headers
        )
        assert status == 200 and (answer["id"], answer["model_version"]) == ("7", "1")
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["translation"]["data"] == model.translate(TEXTS)
    assert outputs["score"]["datatype"] == "FP32" and outputs["score"]["shape"] == [4]
    request = {
        "inputs": [{**tensor, "name": "source"}, {**tensor, "name": "target"}],
        "parameters": {"signature_name": "score", "label": "stable"},
    }
    for part in request["inputs"]:
        part.update(shape=[1, 1], data=["A dog runs."])
    status, answer = server.ask(f"{path}/infer", request)
    [output] = answer["outputs"]
    wanted = model.score(["A dog runs."], ["A dog runs."])
    np.testing.assert_allclose(output["data"], wanted, atol=1e-4)
    assert server.ask("/v2/health/ready") == (200, {"ready": True})
    assert server.ask(f"{path}/ready")[0] == 200
    status, answer = server.ask(path)
    assert answer["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert server.ask("/v2/repository/models/luong_local/load", {})[0] == 200
    for place, body, wanted in (
        (f"{path}/infer", {}, 400),
        (f"{path}/infer", b"{", 400),
        (f"{path}/infer", "é".encode("latin-1"), 400),
        (f"{path}/infer", {"inputs": [{**tensor, "shape": [3]}]}, 400),
        (f"{path}/infer", {"inputs": [{**tensor, "data": [1, 2, 3, 4]}]}, 400),
        (f"{path}/infer", {"inputs": [{**tensor, "datatype": "FP32"}]}, 400),
        (f"{path}/infer", {"inputs": [{**tensor, "data": ["a" * 10_000_000]}]}, 400),
        ("/v2/models/other/infer", {"inputs": [tensor]}, 404),
        (f"{path}/nothing", {}, 404),
        ("/v2/repository/models/luong_local/unload", {}, 501),
    ):
        status, answer = server.ask(place, body)
        assert status == wanted and list(answer) == ["error"], (place, answer)
    still_there(server)


CODES = {
    "unknown model": "NOT_FOUND",
    "unknown version": "NOT_FOUND",
    "no version": "INVALID_ARGUMENT",
    "unknown label": "INVALID_ARGUMENT",
    "unknown signature": "INVALID_ARGUMENT",
    "unknown input": "INVALID_ARGUMENT",
    "wrong type": "INVALID_ARGUMENT",
    "wrong size": "INVALID_ARGUMENT",
    "negative size": "INVALID_ARGUMENT",
    "no size": "INVALID_ARGUMENT",
    "cut off": "INVALID_ARGUMENT",
    "length of gigabytes": "INVALID_ARGUMENT",
    "many texts": "INVALID_ARGUMENT",
    "10 MB": "RESOURCE_EXHAUSTED",
    "unload": "UNIMPLEMENTED",
}


def test_v2_over_grpc(server, model):
    script = Path(__file__).with_name("open_inference.py")
    done = subprocess.run(
        [PYTHON, script, server.address, "luong_local"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["live"] and found["ready"]
    assert found["metadata"][0] == [["text", "BYTES", [-1]]]
    assert found["metadata"][1][0] == ["translation", "BYTES", [-1]]
    wanted = model.translate(TEXTS[:3])
    for name in ("translate", "column", "raw", "version", "label", "still there"):
        assert found[name]["translation"] == [[3], wanted], name
        assert found[name]["version"] == "1" and found[name]["score"][0] == [3]
    assert found["none"]["translation"] == [[0], []]
    assert found["signature"]["translations"][0] == [3, 5]
    assert found["signature"]["translations"][1][::5] == wanted
    assert found["invalid UTF-8"]["translation"][0] == [1]
    assert {name: found[name] for name in CODES} == CODES


# === Hostile requests ===
PREDICT = "/v1/models/luong_local:predict"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"\xff\xfe", 400),
        ('{"instances": ["é"]}'.encode("latin-1"), 400),
        (b"[" * 1_000_000, 400),
        (b'{"instances": [' + b"1" * 100_000 + b"]}", 400),
        (b'{"instances": ["' + b"a" * 10_000_000 + b'"]}', 400),
        ({"instances": [1, None, {}]}, 400),
        ({"instances": ["a"] * 513}, 400),
        ({"signature_name": "nothing", "instances": ["a"]}, 400),
        ({"instances": ["a" * 5_000_000]}, 200),
        ({"instances": ["日" * 100_000, "\x00\x1b[31m", "\u202e", "👩‍👩‍👧"]}, 200),
    ],
    ids=lambda value: str(value)[:30],
)
def test_hostile_bodies(server, body, status):
    found, answer = server.ask(PREDICT, body)
    assert found == status, answer
    assert ("error" in answer) == (status != 200)
    still_there(server)


def test_hostile_connections(server):
    """Nothing after the head, a wrong length, no HTTP, thousands of headers."""
    port = int(server.url.rsplit(":", 1)[1])
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: a\r\n".encode()
    opened = []
    for content in (
        b"",
        b"\x00" * 1000,
        head,
        head + b"Content-Length: 1000\r\n\r\n{",
        head + b"Content-Length: -1\r\n\r\n{}",
        head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        head + b"X: " + b"a" * 1_000_000,
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ):
        connection = socket.create_connection(("localhost", port), 10)
        with contextlib.suppress(OSError):
            connection.sendall(content)
        opened.append(connection)
    still_there(server)
    for connection in opened:
        connection.close()
    still_there(server)


def test_a_slow_sender_is_refused_and_delays_nobody(exported, tmp_path):
    with serving(exported, tmp_path, "--timeout", "2") as server:
        port = int(server.url.rsplit(":", 1)[1])
        head = f"POST {PREDICT} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
        slow = [socket.create_connection(("localhost", port), 10) for _ in range(50)]
        for connection in slow:
            connection.sendall(head.encode() + b"{")
        still_there(server)
        for connection in slow:
            assert b" 408 " in connection.recv(1000)
            connection.close()
        # More than can be translated in the time.
        long = ["A man in a blue shirt stands on a ladder. " * 10] * 512
        with pytest.raises(ServingError) as error:
            server.client(batch_size=512).translate(long)
        assert error.value.code == "DEADLINE_EXCEEDED"


# === Load ===
def test_a_new_version_takes_over_without_a_lost_request(server, exported):
    stop, found, errors = threading.Event(), [], []

    def load(**place):
        with server.client(**place) as client:
            while not stop.is_set():
                try:
                    found.append(client.greedy("A dog runs."))
                except ServingError as error:
                    errors.append(error)

    threads = [threading.Thread(target=load) for _ in range(6)]
    threads.append(threading.Thread(target=load, kwargs={"label": "stable"}))
    for thread in threads:
        thread.start()
    for number in (2, 3, 4):
        shutil.copytree(exported / "1", server.folder / ".part")
        (server.folder / ".part").rename(server.folder / str(number))
        deadline = time.monotonic() + 60
        while True:
            states = server.ask("/v1/models/luong_local")[1]["model_version_status"]
            if states[0] == {
                "version": str(number),
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }:
                break
            assert time.monotonic() < deadline, states
            time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not errors and len(found) > 50 and set(found) == {"Ein Hund rennt."}
    assert [state["version"] for state in states] == ["4", "3", "2"]
    assert server.client(label="previous").greedy("A dog runs.") == "Ein Hund rennt."
    with pytest.raises(ServingError) as error:
        server.client(version=1).greedy("a")
    assert error.value.code == "NOT_FOUND"


def test_overload_is_refused_while_health_answers(exported, tmp_path, model):
    with serving(exported, tmp_path, "--queue", "8", "--workers", "1") as server:
        wanted = model.translate(TEXTS)
        found, refused, others, health = [], [], [], []

        def load():
            with server.client() as client:
                for _ in range(10):
                    try:
                        found.append(client.translate(TEXTS))
                    except ServingError as error:
                        kind = refused if error.code == "RESOURCE_EXHAUSTED" else others
                        kind.append(error)

        threads = [threading.Thread(target=load) for _ in range(24)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            start = time.monotonic()
            assert server.ask("/v2/health/live") == (200, {"live": True})
            health.append(time.monotonic() - start)
            time.sleep(0.05)
        assert found and refused and not others
        assert all(answer == wanted for answer in found)
        assert np.median(health) < 1
        still_there(server)
