"""Ray's server, started for real: both protocols, hostile requests, load, a kill."""

import os
import signal
import threading
import time
from pathlib import Path

import httpx2
import numpy as np
import pytest

from tests.serving.server.process import (
    MARKS,
    PREDICT,
    PYTHON,
    ROOT,
    descendants,
    serving,
    still_there,
)
from zoo.serving import ServingError
from zoo.serving.server.ray_serve import ENVIRONMENT
from zoo.serving.transport import make_tensor

grpc = pytest.importorskip("grpc", reason="it is of the extra `serving`")
pytest.importorskip("tensorflow_serving", reason="it is of the extra `serving`")
from tensorflow_serving.apis import predict_pb2  # noqa: E402

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
def test_versions(server, over_grpc):
    assert server.client(over_grpc, version=1).translate("A dog runs.") == GERMAN
    with pytest.raises(ServingError, match="NOT_FOUND"):
        server.client(over_grpc, version=9).translate("a")


def test_status_and_health(server):
    status, answer = server.ask("/v1/models/luong_local")
    assert status == 200
    assert answer["model_version_status"][0]["state"] == "AVAILABLE"
    # As curl sends it, without a content type for JSON.
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    status, answer = server.ask(PREDICT, {"instances": ["A dog runs."]}, headers=form)
    assert answer["predictions"][0]["translation"] == GERMAN
    assert httpx2.get(f"{server.url}/-/healthz", timeout=60).text == "success"
    with grpc.insecure_channel(server.address) as channel:
        health = channel.unary_unary("/ray.serve.RayServeAPIService/Healthz")
        assert b"success" in health(b"", timeout=60)


# === Hostile requests ===
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"\xff\xfe", 400),
        (b'{"instances": ["' + b"a" * 10_000_000 + b'"]}', 400),
        ({"instances": ["a"] * 513}, 400),
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
def test_a_killed_replica_is_replaced_and_no_answer_is_wrong(exported, tmp_path):
    with serving(exported, tmp_path, "--replicas", "2") as server:
        found, errors, stop = [], [], threading.Event()

        def replicas():
            names = descendants(server.process.pid)
            return {pid for pid, name in names.items() if "ServeReplica" in name}

        def work(client):
            while not stop.is_set():
                try:
                    found.append(client.translate(["A dog runs."] * 4))
                except ServingError as error:
                    errors.append(error)

        still_there(server)  # the first use imports TensorFlow Serving's messages
        clients = [server.client(n % 2, retries=5) for n in range(6)]
        threads = [threading.Thread(target=work, args=(x,)) for x in clients]
        for thread in threads:
            thread.start()
        first = replicas()
        assert len(first) == 2
        time.sleep(2)
        os.kill(min(first), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while len(replicas()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join(60)
        # Over REST a request is sent again; over gRPC Ray answers INTERNAL.
        assert {error.code for error in errors} <= {"INTERNAL"}
        assert len(errors) <= 3 and len(found) > 20 and replicas() - first
        assert all(texts == [GERMAN] * 4 for texts in found)
        still_there(server)


def test_a_request_that_takes_too_long_is_given_up(exported, tmp_path):
    with serving(exported, tmp_path, "--timeout", "2") as server:
        still_there(server)
        long = ["A man in a blue shirt stands on a ladder. " * 10] * 512
        for over_grpc in (False, True):
            with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
                server.client(over_grpc, batch_size=512).translate(long)
