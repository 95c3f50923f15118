import importlib.util
import sys

import pytest

from zoo.servers.launch import engine_command

pytestmark = pytest.mark.backend_free


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    command = engine_command("kserve", "out", ["a", "b"], 1, 2, threads=3)
    assert command[:3] == [sys.executable, "-m", "zoo.servers.kserve"]
    assert command[3:5] == [f"a={tmp_path}/out/a", f"b={tmp_path}/out/b"]
    assert " ".join(command[5:]) == "--port 1 --rest-port 2 --threads 3"
    command = engine_command(
        "ray", "out", ["a"], batching=False, min_replicas=2, max_replicas=None
    )
    assert command[2:4] == ["zoo.servers.ray", f"a={tmp_path}/out/a"]
    assert command[-4:] == ["--min-replicas", "2", "--batch-size", "1"]
    assert "--max-replicas" not in command


@pytest.mark.parametrize(
    ("engine", "package"), [("kserve", "kserve"), ("ray", "ray"), ("ray", "uvicorn")]
)
def test_without_a_package_the_error_says_how_to_get_it(engine, package, monkeypatch):
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else name
    )
    text = rf'no {package} here: pip install "attention-zoo\[{engine}\]"'
    with pytest.raises(ImportError, match=text):
        engine_command(engine, "out", ["a"])
