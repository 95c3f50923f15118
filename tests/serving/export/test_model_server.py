import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from zoo.serving import server_command, write_server_files
from zoo.serving.export.model_server import BATCHING_TEXT, BINARY, IMAGE

ROOT = Path(__file__).resolve().parents[3]


def read_config(path):
    """The models of `models.config`, read by the server's own message."""
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    config = model_server_config_pb2.ModelServerConfig()
    text_format.Parse(path.read_text(), config)
    return config.model_config_list.config


@pytest.fixture
def folder(tmp_path):
    """Models with no more than their versions' names."""
    for name, numbers in {"a": (1, 10), "b": (3,), "c": ()}.items():
        for number in numbers:
            (tmp_path / name / str(number)).mkdir(parents=True)
    return tmp_path


def test_models_config_is_read_back_by_the_servers_own_messages(folder):
    pytest.importorskip("tensorflow_serving", reason="the files' messages need it")
    a, b = read_config(write_server_files(folder, ["a", "b"]))
    place = str(folder / "a")
    assert (a.name, a.base_path, a.model_platform) == ("a", place, "tensorflow")
    assert os.path.isabs(b.base_path)


def test_a_model_without_a_version_is_refused(folder):
    with pytest.raises(ValueError, match="zoo export"):
        write_server_files(folder, ["a", "c"])


# === The command ===
def on_path(monkeypatch, *names):
    monkeypatch.setattr(shutil, "which", lambda name: name if name in names else None)


def test_the_binary_is_preferred(folder, monkeypatch):
    on_path(monkeypatch, BINARY, "docker")
    command = server_command(folder, port=1, rest_port=2)
    assert command[:3] == [BINARY, "--port=1", "--rest_api_port=2"]
    assert f"--model_config_file={folder}/models.config" in command
    assert f"--batching_parameters_file={folder}/batching.config" in command


def test_docker_sees_the_same_paths(folder, monkeypatch):
    on_path(monkeypatch, "docker")
    command = server_command(folder, port=1, rest_port=2)
    assert command[:2] == ["docker", "run"]
    assert {"1:8500", "2:8501", f"{folder}:{folder}:ro", IMAGE} <= set(command)
    place = command.index(IMAGE)
    assert "--init" in command[:place]  # a signal ends it
    assert command[command.index("--entrypoint") + 1] == BINARY
    assert command[place + 1 : place + 3] == ["--port=8500", "--rest_api_port=8501"]
    assert f"--model_config_file={folder}/models.config" in command[place:]


def test_the_image_is_not_older_than_what_writes_the_models():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [wanted] = [d for d in project["dependencies"] if d.startswith("tensorflow>=")]
    least = re.findall(r"\d+", wanted)[:2]
    pinned = re.fullmatch(r"tensorflow/serving:(\d+)\.(\d+)\.\d+", IMAGE).groups()
    assert [int(part) for part in pinned] >= [int(part) for part in least]


# === Examples for Kubernetes ===
def test_the_example_for_kubernetes_is_of_this_version():
    yaml = pytest.importorskip("yaml", reason="the examples are YAML")
    folder = ROOT / "deploy" / "kubernetes"
    found = list(yaml.safe_load_all((folder / "deployment.yaml").read_text()))
    kinds = {item["kind"]: item for item in found}
    assert kinds["ConfigMap"]["data"]["batching.config"] == BATCHING_TEXT
    [container] = kinds["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == IMAGE
