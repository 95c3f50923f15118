"""KServe's server, started for real: REST, hostile requests, load."""

import base64
import json
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from tests.servers.process import (
    PREDICT,
    ROOT,
    SLOW,
    ask_by_grpc,
    captions_of,
    hostile_bodies,
    hostile_connections,
    marks,
    serving,
    still_there,
)
from zoo.images import encode_images
from zoo.serving import ServingError

pytestmark = marks("kserve")
TEXTS = ["A dog runs.", "", "Two men sit at a table.", "qwxz 日本 dog"]


# === Answers ===
def test_the_client_gets_what_the_runtime_gives(server, translator):
    with server.client() as client:
        assert client.translate(TEXTS) == translator.translate(TEXTS)
        assert client.greedy(TEXTS) == translator.translate(TEXTS, beam_size=1)
        records = translator.translate(TEXTS, n_best=5, return_details=True)
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
        wanted = translator.score(sources, targets)
        np.testing.assert_allclose(client.score(sources, targets), wanted, atol=1e-4)


def test_captions(export, tmp_path):
    task, folder = export("show_attend_tell")
    with serving(folder, tmp_path, name="show_attend_tell") as server:
        with server.client() as client:
            captions, image = captions_of(client, task)
        content = encode_images(image)[0][0]
        data = [base64.b64encode(content).decode()]
        tensor = {"name": "image_bytes", "datatype": "BYTES", "shape": [1]}
        path = "/v2/models/show_attend_tell/infer"
        status, answer = server.ask(path, {"inputs": [{**tensor, "data": data}]})
        outputs = {output["name"]: output["data"] for output in answer["outputs"]}
        assert status == 200 and outputs["caption"] == captions[:1]
        file = tmp_path / "image.png"
        file.write_bytes(content)
        for found in ask_by_grpc(server, "show_attend_tell", file):
            assert found["caption"] == [[1], captions[:1]]


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
    assert commands
    for command in commands:
        words = shlex.split(command.replace("http://localhost:8501", server.url))
        found = json.loads(subprocess.check_output([words[0], "-s", *words[1:]]))
        texts = [row["translation"] for row in found["predictions"]]
        assert texts == ["Ein Mann fährt Fahrrad.", "Zwei Hunde laufen."]


# === Hostile requests ===
@hostile_bodies
def test_hostile_bodies(server, body, status):
    found, answer = server.ask(PREDICT, body)
    assert found == status, answer
    assert ("error" in answer) == (status != 200)
    still_there(server)


def test_hostile_connections(server):
    opened = hostile_connections(int(server.url.rsplit(":", 1)[1]))
    still_there(server)
    for connection in opened:
        connection.close()
    still_there(server)


def test_a_slow_sender_is_refused_and_delays_nobody(exported, tmp_path):
    with serving(exported, tmp_path, "--timeout", "2") as server:
        port = int(server.url.rsplit(":", 1)[1])
        slow = [socket.create_connection(("localhost", port), 10) for _ in range(50)]
        for connection in slow:
            connection.sendall(SLOW)
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
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["A dog."]}
    for place, number in (("", "4"), ("/versions/3", "3")):
        path = f"/v2/models/luong_local{place}/infer"
        status, answer = server.ask(path, {"inputs": [tensor]})
        assert (status, answer["model_version"]) == (200, number)
    with pytest.raises(ServingError) as error:
        server.client(version=1).greedy("a")
    assert error.value.code == "NOT_FOUND"


def test_overload_is_refused_while_health_answers(exported, tmp_path, translator):
    with serving(exported, tmp_path, "--queue", "8", "--workers", "1") as server:
        wanted = translator.translate(TEXTS)
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
