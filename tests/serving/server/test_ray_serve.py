"""Ray's server, started for real: both protocols, hostile requests, load, a kill."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import numpy as np
import pytest

from tests.serving.server.process import (
    COMMAND,
    MARKS,
    PREDICT,
    PYTHON,
    ROOT,
    SLOW,
    descendants,
    hostile_connections,
    serving,
    still_there,
)
from zoo.serving import ServingError
from zoo.serving.protocol import make_tensor
from zoo.serving.server.ray_serve import ENVIRONMENT

grpc = pytest.importorskip("grpc", reason="it is of the extra `serving`")
pytest.importorskip("tensorflow_serving", reason="it is of the extra `serving`")
from tensorflow_serving.apis import (  # noqa: E402
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub  # noqa: E402
from tensorflow_serving.apis.prediction_service_pb2_grpc import (  # noqa: E402
    PredictionServiceStub,
)

pytestmark = MARKS
TEXTS = ["A dog runs.", "", "Two men sit at a table.", "qwxz 日本 dog"]
GERMAN = "Ein Hund rennt."
BOTH = pytest.mark.parametrize("over_grpc", [False, True], ids=["REST", "gRPC"])


@pytest.fixture(scope="module")
def server(exported, tmp_path_factory):
    with serving(exported, tmp_path_factory.mktemp("served")) as server:
        yield server
        pids = descendants(server.process.pid)
        assert any("ServeReplica" in name for name in pids.values())
    # Nothing of Ray's outlives it.
    deadline = time.monotonic() + 20
    while left := {pid for pid in pids if os.path.exists(f"/proc/{pid}")}:
        assert time.monotonic() < deadline, {pid: pids[pid] for pid in left}
        time.sleep(0.1)


# === Answers ===
@BOTH
def test_the_client_gets_what_the_runtime_gives(server, translator, over_grpc):
    with server.client(over_grpc) as client:
        assert client.translate([]) == []
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
        sources, targets = TEXTS[::2], [GERMAN, ""]
        wanted = translator.score(sources, targets)
        np.testing.assert_allclose(client.score(sources, targets), wanted, atol=1e-4)


@BOTH
def test_versions_labels_and_errors(server, over_grpc):
    for place in ({"version": 1}, {"label": "stable"}):
        assert server.client(over_grpc, **place).translate("A dog runs.") == GERMAN
    for client, code in (
        (server.client(over_grpc, version=9), "NOT_FOUND"),
        (server.client(over_grpc, label="previous"), "INVALID_ARGUMENT"),
    ):
        with pytest.raises(ServingError) as error:
            client.translate("a")
        assert error.value.code == code


def test_status_health_and_metrics(server):
    status, answer = server.ask("/v1/models/luong_local")
    assert status == 200
    assert answer["model_version_status"][0]["state"] == "AVAILABLE"
    assert server.ask("/-/routes") == (200, {"/": "zoo"})
    # As curl sends it, without a content type for JSON.
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    status, answer = server.ask(PREDICT, {"instances": ["A dog runs."]}, headers=form)
    assert answer["predictions"][0]["translation"] == GERMAN
    assert httpx2.get(f"{server.url}/-/healthz", timeout=60).text == "success"
    with grpc.insecure_channel(server.address) as channel:
        health = channel.unary_unary("/ray.serve.RayServeAPIService/Healthz")
        assert b"success" in health(b"", timeout=60)
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "luong_local"
        found = ModelServiceStub(channel).GetModelStatus(request, timeout=60)
        assert found.model_version_status[0].version == 1
        request = get_model_metadata_pb2.GetModelMetadataRequest(
            metadata_field=["signature_def"], model_spec=request.model_spec
        )
        service = PredictionServiceStub(channel)
        found = service.GetModelMetadata(request, timeout=60)
        assert found.model_spec.version.value == 1
    deadline, text = time.monotonic() + 60, ""
    while "ray_serve_num_http_requests" not in text:  # collected now and then
        assert time.monotonic() < deadline, text[:1000]
        time.sleep(0.5)
        for port in re.findall(r"at the ports \[(\d+)\]", server.log.read_text()):
            text = httpx2.get(f"http://localhost:{port}/metrics", timeout=60).text


# === Hostile requests ===
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"\xff\xfe", 400),
        (b"[" * 1_000_000, 400),
        (b'{"instances": ["' + b"a" * 10_000_000 + b'"]}', 400),
        ({"instances": ["a"] * 513}, 400),
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


def test_hostile_messages(server):
    large = predict_pb2.PredictRequest()
    large.model_spec.name = "luong_local"
    large.inputs["text"].CopyFrom(make_tensor([b"a" * 10_000_000]))
    with grpc.insecure_channel(server.address) as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        for sent, code in (
            (b"\xff" * 100, "INVALID_ARGUMENT"),
            (large.SerializeToString(), "RESOURCE_EXHAUSTED"),
        ):
            with pytest.raises(grpc.RpcError) as error:
                call(sent, timeout=60)
            assert error.value.code().name == code
    still_there(server)


def test_hostile_connections_and_slow_senders(server):
    port = int(server.url.rsplit(":", 1)[1])
    opened = hostile_connections(port)
    # More than a replica takes at a time: they wait in the proxy, before it.
    slow = [socket.create_connection(("localhost", port), 60) for _ in range(150)]
    for connection in slow:
        connection.sendall(SLOW)
    still_there(server)
    for connection in slow:
        assert b" 408 " in connection.recv(1000)
    for connection in opened + slow:
        connection.close()
    still_there(server)


# === The example for Kubernetes ===
def test_the_example_for_kuberay(exported, tmp_path, monkeypatch):
    """Its Serve config, but for ports and folder, with the variables of its image."""
    yaml = pytest.importorskip("yaml", reason="the example is YAML")
    text = (ROOT / "deploy/kubernetes/rayservice.yaml").read_text()
    config = yaml.safe_load(yaml.safe_load(text)["spec"]["serveConfigV2"])
    image = (ROOT / "deploy/ray.Dockerfile").read_text()
    for name, value in ENVIRONMENT.items():
        assert f"{name}={value}" in image
        monkeypatch.setenv(name, value)

    def command(port, rest_port):
        config["grpc_options"]["port"] = port
        config["http_options"].update(port=rest_port, host="127.0.0.1")
        arguments = config["applications"][0]["args"]
        arguments.update(models={"luong_local": str(tmp_path / "luong_local")})
        (tmp_path / "serve.yaml").write_text(yaml.safe_dump(config))
        serve = Path(PYTHON).with_name("serve")
        return [serve, "run", "--address", "local", str(tmp_path / "serve.yaml")]

    with serving(exported, tmp_path, command=command) as server:
        still_there(server)
        assert server.ask("/nothing")[0] == 400


# === Load ===
class Load:
    """Clients that translate until the end of a `with`, over both protocols."""

    def __init__(self, server, each=3, retries=0):
        # The first use imports TensorFlow Serving's messages.
        still_there(server)
        self.found, self.errors, self.stop = [], [], threading.Event()
        self.threads = [
            threading.Thread(target=self.work, args=(server.client(n % 2, **place),))
            for n in range(2 * each)
            for place in [
                {"retries": retries, **({"label": "stable"} if n == 0 else {})}
            ]
        ]

    def work(self, client):
        with client:
            while not self.stop.is_set():
                try:
                    self.found.append(client.translate(["A dog runs."] * 4))
                except ServingError as error:
                    self.errors.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join(60)


def test_a_new_version_takes_over_without_a_lost_request(server, exported):
    with Load(server) as load:
        for number in (2, 3, 4):
            shutil.copytree(exported / "1", server.folder / ".part")
            (server.folder / ".part").rename(server.folder / str(number))
            deadline = time.monotonic() + 60
            while True:
                states = server.ask("/v1/models/luong_local")[1]["model_version_status"]
                if states[0]["version"] == str(number):
                    assert states[0]["state"] == "AVAILABLE", states
                    break
                assert time.monotonic() < deadline, states
                time.sleep(0.05)
    assert not load.errors and len(load.found) > 20
    assert all(texts == [GERMAN] * 4 for texts in load.found)
    assert [state["version"] for state in states] == ["4", "3", "2"]
    for over_grpc in (False, True):
        assert (
            server.client(over_grpc, label="previous").greedy("A dog runs.") == GERMAN
        )
        with pytest.raises(ServingError) as error:
            server.client(over_grpc, version=1).greedy("a")
        assert error.value.code == "NOT_FOUND"


def test_a_killed_replica_loses_no_request_that_is_sent_again(exported, tmp_path):
    with serving(exported, tmp_path, "--replicas", "2") as server:

        def replicas():
            names = descendants(server.process.pid)
            return {pid for pid, name in names.items() if "ServeReplica" in name}

        with Load(server, retries=5) as load:
            first = replicas()
            assert len(first) == 2
            for _ in range(2):
                time.sleep(2)
                os.kill(min(replicas()), signal.SIGKILL)
                deadline = time.monotonic() + 60
                while len(replicas()) < 2:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
        assert not load.errors and len(load.found) > 20
        assert all(texts == [GERMAN] * 4 for texts in load.found)
        assert replicas() - first
        still_there(server)


def test_overload_is_refused_while_health_answers(exported, tmp_path, translator):
    options = "--queue", "4", "--batch-size", "4"
    with serving(exported, tmp_path, *options) as server:
        wanted = translator.translate(TEXTS)
        still_there(server)
        found, refused, others, health = [], [], [], []

        def work(over_grpc):
            with server.client(over_grpc) as client:
                for _ in range(10):
                    try:
                        found.append(client.translate(TEXTS))
                    except ServingError as error:
                        full = error.code == "RESOURCE_EXHAUSTED"
                        (refused if full else others).append((over_grpc, error))

        threads = [threading.Thread(target=work, args=(n % 2,)) for n in range(40)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            begin = time.monotonic()
            assert server.ask("/-/routes")[0] == 200
            health.append(time.monotonic() - begin)
            time.sleep(0.05)
        assert found and not others, others
        assert {over_grpc for over_grpc, _ in refused} == {0, 1}
        assert all(answer == wanted for answer in found)
        assert np.median(health) < 1
        still_there(server)


def test_a_request_that_takes_too_long_is_given_up(exported, tmp_path):
    with serving(exported, tmp_path, "--timeout", "2") as server:
        still_there(server)
        long = ["A man in a blue shirt stands on a ladder. " * 10] * 512
        for over_grpc in (False, True):
            with pytest.raises(ServingError) as error:
                server.client(over_grpc, batch_size=512).translate(long)
            assert error.value.code == "DEADLINE_EXCEEDED"
        time.sleep(2)
        still_there(server)


# === On a cluster ===
# Ends when its input does, and its cluster with it.
_CLUSTER = """
import ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=2**27)
print(ray.get_runtime_context().gcs_address, flush=True)
input()
"""


def test_a_cluster_keeps_its_application_and_replicas_follow_the_load(
    exported, tmp_path, monkeypatch
):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    cluster = subprocess.Popen([PYTHON, "-c", _CLUSTER], **pipes)
    place = "--address", cluster.stdout.readline().strip()
    scaling = "--max-replicas", "2", "--target-ongoing-requests", "1"

    def replicas():
        names = descendants(cluster.pid).values()
        return sum("ServeReplica" in name for name in names)

    try:
        with serving(exported, tmp_path, *place, *scaling) as server:
            command = [*COMMAND, f"luong_local={exported}", *place]
            other = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert other.returncode == 1, other.stderr
            assert "has an application zoo already" in other.stderr
            assert replicas() == 1
            with Load(server):
                deadline = time.monotonic() + 120  # Ray waits for half a minute
                while replicas() < 2:
                    assert time.monotonic() < deadline, server.log.read_text()
                    time.sleep(0.5)
            still_there(server)
        # More processors than there are: a signal ends the wait for a node.
        waiting = subprocess.Popen([*command, "--threads", "9"])
        time.sleep(15)
        assert waiting.poll() is None
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(60) == 0
    finally:
        cluster.communicate("\n", timeout=60)
