"""Bundled presets as ONNX, once for all files and processes, since it takes long."""

import fcntl
import os

import keras
import pytest

import zoo


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
