"""Bundled presets as ONNX, once for all files and processes, since it takes long."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import zoo

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_KERAS = """
import importlib.machinery, json, sys
names = "keras keras_hub tensorflow tensorflow_text jax torch onnx tf2onnx".split()
finder = importlib.machinery.PathFinder
real = finder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.split(".")[0] in names else real(name, path, target)
finder.find_spec = staticmethod(find_spec)
{code}
assert not set(names) & set(sys.modules)
"""


@pytest.fixture(scope="session")
def export(tmp_path_factory):
    """Function that returns a bundled preset's task, and the folder of its export."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("ONNX graphs are written under the TensorFlow backend alone")
    for package in ("tf2onnx", "onnxruntime"):
        pytest.importorskip(package, reason="an export needs the extra `onnx`")
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    tasks = {}

    def exported(name):
        out = base / "onnx" / name
        out.mkdir(parents=True, exist_ok=True)
        if name not in tasks:
            tasks[name] = zoo.load(name)
        with open(out / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the first one exports, the others wait
            if not (out / "1").is_dir():
                zoo.serving.export_onnx(tasks[name], out, card={"name": name})
        return tasks[name], out

    return exported


@pytest.fixture
def alone():
    """Function that runs code with arguments in a process in which neither Keras nor a
    backend can be imported, and returns what it printed."""

    def run(code, *arguments):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                WITHOUT_KERAS.format(code=code),
                *map(str, arguments),
            ],
            cwd=ROOT,
            env={**os.environ, "KERAS_BACKEND": "none"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
