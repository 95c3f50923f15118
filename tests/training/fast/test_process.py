"""Settings of a process before it trains."""

import os
import re
import subprocess
import sys
import types
from pathlib import Path

import keras
import pytest

from tests.harness import BACKENDS
from zoo.training.fast import process

# tests/conftest.py has others for all tests.
SETTINGS = {
    name: getattr(process, name)
    for name in ("_keep_memory", "_set_xla_flags", "_keep_programs")
}
# As a shell has it: TensorFlow sets this one in whatever process imports it.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}


@pytest.fixture
def tuned(monkeypatch, tmp_path):
    """A function that tunes a process; of this one's it changes nothing."""
    calls = []
    library = types.SimpleNamespace(mallopt=lambda *call: calls.append(call))
    for name, value in SETTINGS.items():
        monkeypatch.setattr(process, name, value)
    monkeypatch.setattr(process, "cache_folder", lambda: tmp_path)

    def tune(backend, libc="glibc", **environment):
        calls.clear()
        for name, value in {
            "configured_backend": lambda: backend,
            "ctypes": types.SimpleNamespace(CDLL=lambda _: library),
            "os": types.SimpleNamespace(
                environ=environment, access=os.access, W_OK=os.W_OK
            ),
            "platform": types.SimpleNamespace(
                libc_ver=lambda: (libc, ""), machine=str, processor=str
            ),
        }.items():
            monkeypatch.setattr(process, name, value)
        process.tune_process()
        return calls, environment

    return tune


@pytest.mark.backend_free
def test_freed_memory_is_kept_where_nobody_configures_malloc(tuned):
    for backend in BACKENDS:
        calls, _ = tuned(backend)
        assert (-4, 0) in calls and (-1, 2**31 - 1) in calls
        assert ((-8, 1) in calls) == (backend == "jax")
    for libc, environment in (
        ("", {}),
        ("glibc", {"MALLOC_TRIM_THRESHOLD_": "100000"}),
        ("glibc", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    ):
        assert tuned("jax", libc, **environment)[0] == []


@pytest.mark.backend_free
def test_jax_gets_a_flag_and_keeps_programs_where_the_environment_allows(
    tuned, tmp_path, monkeypatch
):
    name, folder = "--xla_cpu_experimental_ynn_fusion_type", "JAX_COMPILATION_CACHE_DIR"
    mine = "--xla_cpu_enable_fast_math=false"
    for backend in ("tensorflow", "torch"):
        assert tuned(backend, XLA_FLAGS=mine)[1] == {"XLA_FLAGS": mine}
    found = tuned("jax", XLA_FLAGS=mine)[1]
    flags = f"{mine} {name}=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    assert found["XLA_FLAGS"] == flags
    assert found["JAX_COMPILATION_CACHE_MAX_SIZE"] == str(2**30)
    assert tuned("jax", XLA_FLAGS=f"{name}=")[1]["XLA_FLAGS"] == f"{name}="
    assert tuned("jax", **{folder: "mine"})[1][folder] == "mine"
    kept = Path(found[folder])
    assert kept.parent == tmp_path / "jax" and kept.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(process, "_processor", lambda: "another one")
    assert tuned("jax")[1][folder] != str(kept)
    Path(tuned("jax")[1][folder]).chmod(0o777)
    assert folder not in tuned("jax")[1]  # whoever can write there could run code here
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(process, "cache_folder", lambda: tmp_path / "file")
    assert folder not in tuned("jax")[1]


_COMPILE = """
from zoo.training import tune_process
tune_process()
import jax
hits = []
jax.monitoring.register_event_listener(
    lambda name, **_: hits.append(1) if name.endswith("cache_hits") else None
)
assert jax.jit(lambda x: x * 2 + 1)(3.0) == 7
print(len(hits))
"""


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX's programs")
def test_the_next_process_finds_what_jax_compiled_unless_it_is_spoilt(tmp_path):
    def hits():
        environment = {k: v for k, v in os.environ.items() if "CACHE_DIR" not in k}
        environment |= {"ZOO_CACHE_DIR": str(tmp_path), "KERAS_BACKEND": "jax"}
        environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        command = [sys.executable, "-c", _COMPILE]
        options = {"capture_output": True, "text": True, "check": True}
        return int(subprocess.run(command, env=environment, **options).stdout)

    assert hits() == 0
    assert hits() > 0
    for path in (tmp_path / "jax").glob("*/*-cache"):
        path.write_bytes(path.read_bytes()[:-9])
    assert hits() == 0
    for path in (tmp_path / "jax").glob("*/*-atime"):
        path.unlink()  # as a process leaves it that is killed while it writes one
    assert hits() == 0 and hits() > 0


@pytest.mark.once
def test_only_tensorflow_imports_tensorflow():
    """A command's process, which has all these settings and computes: KerasHub would
    import it wherever it is installed."""
    script = (
        "import sys; from zoo.cli import main; "
        "code = main(['tag', 'birnn', 'A dog runs.']); "
        "print(code, sys.modules.get('tensorflow') is not None)"
    )
    command, options = [sys.executable, "-c", script], {"text": True, "check": True}
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, **options)
    tags, last = done.stdout.splitlines()
    assert tags.startswith("A/DET dog/NOUN")
    assert last == f"0 {keras.backend.backend() == 'tensorflow'}"
    # Two lines for who waits, and nothing that the backends say as they start.
    assert len(done.stderr.splitlines()) == 2, done.stderr


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="threads of PyTorch")
def test_threads_of_training_follow_the_models_size(monkeypatch):
    import torch

    before = torch.get_num_threads()
    monkeypatch.setattr(process, "_default_threads", lambda: 4)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    try:
        for parameters, threads in ((999_999, 1), (1_000_000, 4), (10, 1)):
            told = process.choose_threads(parameters)
            assert told == f"torch backend, threads: {torch.get_num_threads()}"
            assert torch.get_num_threads() == threads
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        torch.set_num_threads(3)
        assert process.choose_threads(10) == "torch backend, threads: 3"
    finally:
        torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.once
def test_the_call_in_the_documents_starts_a_script():
    page = Path(__file__).resolve().parents[3] / "docs" / "performance.md"
    [name] = re.findall(r"`zoo[.]([\w.]+)\(\)`,\scalled", page.read_text())
    module, _, call = f"zoo.{name}".rpartition(".")
    script = (
        f"from {module} import {call}\n{call}()\nimport gc, sys\n"
        "assert gc.get_freeze_count() > 100_000\n"
        "import zoo\nprint(zoo.load('birnn').tag('A dog')[0])\n"
        "print({'matplotlib', 'IPython'} & set(sys.modules))\n"
        "import matplotlib.pyplot  # for plots, still there"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout == "('A', 'DET')\nset()\n" and not done.stderr, done.stderr
