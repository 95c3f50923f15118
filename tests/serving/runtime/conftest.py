"""Bundled presets as graphs, once for all files and processes, since it takes long."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import zoo
from tests.serving.conftest import graphs, tasks  # noqa: F401

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_KERAS = """
import importlib.machinery, json, sys
names = "keras keras_hub tensorflow tensorflow_text jax torch onnx tf2onnx".split()
names += "{more}".split()
finder = importlib.machinery.PathFinder
real = finder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.split(".")[0] in names else real(name, path, target)
finder.find_spec = staticmethod(find_spec)
{code}
assert not set(names) & set(sys.modules)
"""


def needs_onnx():
    """Skips a test where the packages of an export are missing."""
    for package in ("tf2onnx", "onnxruntime"):
        pytest.importorskip(package, reason="an export needs the extra `onnx`")


@pytest.fixture(scope="session")
def export(tmp_path_factory):
    """Function that returns a bundled preset's task, and the folder of its export."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("graphs are written under the TensorFlow backend alone")
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    loaded = {}

    def exported(name):
        needs_onnx()
        out = base / "onnx" / name
        out.mkdir(parents=True, exist_ok=True)
        if name not in loaded:
            loaded[name] = zoo.load(name)
        with open(out / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the first one exports, the others wait
            if not (out / "1").is_dir():
                zoo.serving.export_onnx(loaded[name], out, card={"name": name})
        return loaded[name], out

    return exported


@pytest.fixture
def alone():
    """Function that runs code with arguments in a process in which neither Keras nor a
    backend, nor `more`, can be imported, and returns what it printed."""

    def run(code, *arguments, more=""):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                WITHOUT_KERAS.format(code=code, more=more),
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
