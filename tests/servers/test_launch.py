import importlib.util
import sys

import pytest

from zoo.servers.launch import kserve_command

pytestmark = pytest.mark.backend_free


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    command = kserve_command("out", ["a", "b"], 1, 2, threads=3)
    assert command[:3] == [sys.executable, "-m", "zoo.servers.kserve"]
    assert command[3:5] == [f"a={tmp_path}/out/a", f"b={tmp_path}/out/b"]
    assert " ".join(command[5:]) == "--port 1 --rest-port 2 --threads 3"
    command = kserve_command("out", ["a"], batching=False)
    assert command[-2:] == ["--batch-size", "1"]


def test_without_kserve_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "attention-zoo\[kserve\]"'):
        kserve_command("out", ["a"])
