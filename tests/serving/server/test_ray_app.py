import asyncio
import sys
import types

import pytest

pytest.importorskip("ray", reason="it is of the extra `ray`")
pytest.importorskip("fastapi", reason="it is of the extra `ray`")

from zoo.serving.server import ray_serve  # noqa: E402
from zoo.serving.server.ray_app import Options, Replica, build  # noqa: E402

pytestmark = pytest.mark.backend_free
MODELS = {"a": "exports/a"}
SCALING = {"min_replicas": 1, "max_replicas": 4, "target_ongoing_requests": 32.0}


def options_of(**given):
    deployment = build(Options(models=MODELS, **given))._bound_deployment
    return deployment._deployment_config, deployment.ray_actor_options


def test_options_reach_the_deployment():
    found, actor = options_of()
    # What the replica's queue takes, and a batch that runs.
    assert (found.max_ongoing_requests, found.max_queued_requests) == (320, 256)
    assert (found.num_replicas, actor["num_cpus"]) == (1, 1)
    found, actor = options_of(replicas=3, threads=2, timeout=9.0, batch_size=5, queue=7)
    assert (found.num_replicas, actor["num_cpus"]) == (3, 2)
    assert found.graceful_shutdown_timeout_s == 9
    assert (found.max_ongoing_requests, found.max_queued_requests) == (12, 7)
    for name, least in (("min_replicas", 2), ("replicas", 3)):
        found, _ = options_of(**{name: least}, max_replicas=4)
        scaling = found.autoscaling_config.model_dump()
        assert SCALING | {"min_replicas": least} == {k: scaling[k] for k in SCALING}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": {}}, "models"),
        ({"models": ["a"]}, "models"),
        ({"workers": 2}, "workers"),
        ({"replicas": 3, "max_replicas": 2}, "max_replicas"),
        *(
            ({name: value}, name)
            for name, value in (
                *(("replicas", 0), ("max_replicas", 0), ("threads", 0), ("queue", 0)),
                *(("batch_size", 1.5), ("timeout", -1.0), ("wait", "a")),
                ("target_ongoing_requests", 0),
            )
        ),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        build(Options(**{"models": MODELS, **given}))


def test_without_the_messages_grpc_is_unimplemented(monkeypatch):
    found = {}
    context = types.SimpleNamespace(
        set_code=lambda code: found.update(code=code.name),
        set_details=lambda text: found.update(text=text),
    )
    monkeypatch.delitem(sys.modules, "zoo.serving.server.prediction", raising=False)
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    replica = Replica.__new__(Replica)
    answer = asyncio.run(replica.Predict(b"", context))
    assert answer.SerializeToString() == b"" and found["code"] == "UNIMPLEMENTED"
    assert 'pip install "attention-zoo[ray]"' in found["text"]


# === The command ===
def test_options_of_the_command():
    parser = ray_serve.make_parser(Options)
    given = vars(parser.parse_args(["m=folder", "n=a=b"]))
    assert given["models"] == [("m", "folder"), ("n", "a=b")]
    assert (given["port"], given["host"], given["address"], given["replicas"]) == (
        *(8500, "127.0.0.1", "local", 1),
    )
    options = "--rest-port 7 --wait 0.5 --min-replicas 2 --host 0.0.0.0".split()
    given = parser.parse_args(["m=folder", *options])
    assert (given.rest_port, given.wait, given.replicas) == (7, "0.5", "2")


def test_what_the_command_refuses(tmp_path, capsys):
    (tmp_path / "made" / "1").mkdir(parents=True)
    made = f"m={tmp_path / 'made'}"
    for options, message in (
        (["folder"], "expected NAME=FOLDER, received 'folder'"),
        ([f"m={tmp_path}"], f"there is no version in {tmp_path}"),
        ([made, "--threads", "0"], "threads: "),
        ([made, "--replicas", "3", "--max-replicas", "2"], "max_replicas"),
    ):
        with pytest.raises(SystemExit):
            ray_serve.main(options)
        assert message in capsys.readouterr().err
