import importlib
import math
import os
import re
import subprocess
import sys
import weakref
from contextlib import nullcontext

import keras
import pytest

from zoo import backend
from zoo.backend import (
    check_backend,
    configured_backend,
    quiet_start,
    trace,
    without_tensorflow,
)

pytestmark = pytest.mark.backend_free


def test_the_configured_backend_is_known_without_keras(tmp_path, monkeypatch):
    assert configured_backend() == keras.config.backend()
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert configured_backend() == "tensorflow"
    (tmp_path / "keras.json").write_text('{"backend": "torch"}')
    assert configured_backend() == "torch"
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert configured_backend() == "jax"
    (tmp_path / "keras.json").write_text("{broken")
    monkeypatch.setenv("KERAS_BACKEND", "")
    assert configured_backend() == "tensorflow"


def test_a_backend_that_cannot_be_is_refused(monkeypatch):
    check_backend()
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.setenv("KERAS_BACKEND", "theano")
    with pytest.raises(ImportError, match="not run on the backend 'theano'; choose"):
        check_backend()
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match="jax is not installed .pip install .attention-zoo.jax"
    ):
        check_backend()


def test_tensorflow_is_hidden_for_a_while(monkeypatch):
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    with pytest.raises(ZeroDivisionError), without_tensorflow():
        with pytest.raises(ImportError):
            importlib.import_module("tensorflow")
        _ = 1 / 0
    assert "tensorflow" not in sys.modules
    # Not where somebody has it, or where it computes.
    monkeypatch.setitem(sys.modules, "tensorflow", math)
    with without_tensorflow():
        assert importlib.import_module("tensorflow") is math
    monkeypatch.delitem(sys.modules, "tensorflow")
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    with without_tensorflow():
        assert "tensorflow" not in sys.modules


def test_usable_cores_are_those_of_the_affinity_and_the_container(
    monkeypatch, tmp_path
):
    limit = tmp_path / "cpu.max"
    monkeypatch.setattr(backend, "_CPU_LIMIT", limit)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert backend.usable_cores() == 8
    for text, count in (
        ("max 100000", 8),
        ("250000 100000", 2),
        ("50000 100000", 1),
        ("1600000 100000", 8),
    ):
        limit.write_text(text)
        assert backend.usable_cores() == count


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="torch alone records functions"
)
def test_a_recorded_function_has_neither_idle_casts_nor_its_inputs():
    import torch

    def function(x):
        return (
            x.to(torch.float32).to(device="cpu", dtype=torch.float32) + 1,
            x.to(torch.float64),
            x.to("cpu", copy=True),
        )

    inputs = torch.arange(3.0)
    recorded = trace(function, inputs)
    assert str(recorded.inlined_graph).count("aten::to(") == 2
    for got, wanted in zip(recorded(inputs + 2), function(inputs + 2), strict=True):
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)
    assert recorded(inputs)[2].data_ptr() != inputs.data_ptr()
    constants = re.findall(r": \S+ = prim::Constant\[.*", str(recorded.graph))
    assert len(constants) == len(set(constants))
    weak = weakref.ref(inputs)
    del inputs
    assert weak() is None


_GREETING = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795873632.5    8304 port.cc:153] oneDNN custom operations are on.
To enable the following instructions: AVX2 AVX512F, rebuild TensorFlow.
2026-11-28 10:00:00.123456: E external/xla/cuda_dnn.cc:8310] Unable to register
"""


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_backend_logs_as_it_starts_is_left_out(fails, monkeypatch, capfd):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    with pytest.raises(ZeroDivisionError) if fails else nullcontext(), quiet_start():
        os.write(2, _GREETING + b"another line \xff\n")
        _ = 1 / (not fails)
    assert capfd.readouterr().err == "another line \ufffd\n"
    os.write(2, _GREETING)
    assert capfd.readouterr().err == _GREETING.decode()
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "1"


@pytest.mark.once
def test_loading_is_quiet():
    """In any Python program that has not imported Keras before."""
    code = "import zoo; print(zoo.load('birnn').tag('A dog')[0])"
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("('A', 'DET')\n", "")
