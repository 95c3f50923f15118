import importlib.util
import sys

import pytest

from zoo.servers.launch import ray_command

pytestmark = pytest.mark.backend_free


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    command = ray_command("out", ["a", "b"], port=1, rest_port=2, max_replicas=None)
    assert command[:3] == [sys.executable, "-m", "zoo.servers.ray"]
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
