import importlib.util
import sys

import pytest

from zoo.serving.server.server_options import (
    deployment_options,
    make_parser,
    ray_command,
    read_options,
)

pytestmark = pytest.mark.backend_free
MODELS = {"a": "exports/a"}


SCALING = {"min_replicas": 1, "max_replicas": 4, "target_ongoing_requests": 32.0}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"max_replicas": None}, {"num_replicas": 1}),
        # What the replica's queue takes, and a batch that runs.
        ({}, {"max_ongoing_requests": 320, "max_queued_requests": 256}),
        (
            {"batch_size": 5, "queue": 7},
            {"max_ongoing_requests": 12, "max_queued_requests": 7},
        ),
        (
            {"replicas": 3, "threads": 2, "timeout": 9.0},
            {
                "num_replicas": 3,
                "ray_actor_options": {"num_cpus": 2},
                "graceful_shutdown_timeout_s": 9.0,
            },
        ),
        ({"max_replicas": 4}, {"autoscaling_config": SCALING}),
        (
            {"min_replicas": 2, "max_replicas": 4, "target_ongoing_requests": 8.0},
            {
                "autoscaling_config": {
                    **SCALING,
                    "min_replicas": 2,
                    "target_ongoing_requests": 8.0,
                }
            },
        ),
    ],
)
def test_options_reach_the_deployment(given, wanted):
    options = read_options({"models": MODELS, **given})
    found = deployment_options(options)
    assert {name: found[name] for name in wanted} == wanted
    assert ("num_replicas" in found) != ("autoscaling_config" in found)
    assert read_options(options) == options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"models must be name -> folder. Received: None"),
        ({"models": ["a"]}, r"models must be name -> folder. Received: \['a'\]"),
        ({"models": MODELS, "port": 1, "workers": 2}, "Received: port, workers"),
        *(
            ({"models": MODELS, name: value}, f"`{name}` must be .*: {name}={value!r}$")
            for name, value in (
                *(("replicas", 0), ("replicas", "2"), ("max_replicas", 0)),
                *(("threads", 0), ("threads", "2"), ("queue", 0), ("batch_size", 1.5)),
                *(("timeout", -1.0), ("timeout", "9"), ("wait", -0.5), ("wait", "1")),
                ("target_ongoing_requests", 0),
            )
        ),
        (
            {"models": MODELS, "min_replicas": 2},
            "replicas=None, min_replicas=2, max_replicas=None",
        ),
        (
            {"models": MODELS, "min_replicas": 3, "max_replicas": 2},
            "Expected replicas alone, or .*min_replicas=3, max_replicas=2",
        ),
        (
            {"models": MODELS, "replicas": 5, "max_replicas": 3},
            "Received: replicas=5, min_replicas=None, max_replicas=3",
        ),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        read_options(given)


# === The command ===
def test_defaults_and_options_of_the_command():
    parser = make_parser("Serves.")
    given = vars(parser.parse_args(["m=folder", "n=a=b"]))
    assert given.pop("models") == [("m", "folder"), ("n", "a=b")]
    assert (given["port"], given["host"], given["address"]) == (
        *(8500, "127.0.0.1", "local"),
    )
    assert given["replicas"] is None and given["batch_size"] == 64
    options = "--rest-port 7 --wait 0.5 --replicas 2 --host 0.0.0.0".split()
    given = parser.parse_args(["m=folder", *options])
    assert (given.rest_port, given.wait, given.replicas) == (7, 0.5, 2)
    assert given.host == "0.0.0.0"


@pytest.mark.parametrize("text", ["folder", "=folder", "m="])
def test_a_model_is_a_name_and_a_folder(text, capsys):
    with pytest.raises(SystemExit):
        make_parser("Serves.").parse_args([text])
    assert f"expected NAME=FOLDER, received '{text}'" in capsys.readouterr().err


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    command = ray_command("out", ["a", "b"], port=1, rest_port=2, max_replicas=None)
    assert command[:3] == [sys.executable, "-m", "zoo.serving.server.ray_serve"]
    assert command[3:5] == [f"a={tmp_path}/out/a", f"b={tmp_path}/out/b"]
    assert " ".join(command[5:]) == "--port 1 --rest-port 2"
    command = ray_command("out", ["a"], batching=False, min_replicas=2)
    assert command[-4:] == ["--min-replicas", "2", "--batch-size", "1"]


@pytest.mark.parametrize("package", ["ray", "uvicorn"])
def test_without_a_package_the_error_says_how_to_get_it(package, monkeypatch):
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else name
    )
    text = rf'needs {package}: pip install "attention-zoo\[ray\]"'
    with pytest.raises(ImportError, match=text):
        ray_command("out", ["a"])
