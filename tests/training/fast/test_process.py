"""Settings of a process before it trains."""

import gc
import os
import re
import subprocess
import sys
import types
import weakref
from pathlib import Path

import keras
import pytest

from tests.harness import BACKENDS
from zoo.training.fast import process
from zoo.training.fast.process import start_backend

# tests/conftest.py has others for all tests.
SETTINGS = {name: getattr(process, name) for name in ("_keep_memory", "_set_xla_flags")}
# As a shell has it: TensorFlow sets this one in whatever process imports it.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}


@pytest.fixture
def tuned(monkeypatch):
    """A function that tunes a process; of this one's it changes nothing."""
    calls = []
    library = types.SimpleNamespace(mallopt=lambda *call: calls.append(call))
    for name, value in SETTINGS.items():
        monkeypatch.setattr(process, name, value)

    def tune(backend, libc="glibc", **environment):
        calls.clear()
        for name, value in {
            "_kept": False,
            "configured_backend": lambda: backend,
            "ctypes": types.SimpleNamespace(CDLL=lambda _: library),
            "os": types.SimpleNamespace(environ=environment),
            "platform": types.SimpleNamespace(libc_ver=lambda: (libc, "")),
        }.items():
            monkeypatch.setattr(process, name, value)
        process.tune_process()
        return calls, environment.get("XLA_FLAGS", "")

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
@pytest.mark.parametrize(
    ("backend", "libc", "size", "large"),
    [
        ("jax", "glibc", 8192, True),  # 1024 x 8192 floats: 32 MB
        ("jax", "glibc", 8191, False),
        ("torch", "glibc", 8192, False),
        ("jax", "", 8192, False),
    ],
)
def test_a_model_with_a_large_matrix_keeps_no_large_buffers(
    tuned, backend, libc, size, large
):
    calls, _ = tuned(backend, libc)
    weights = [types.SimpleNamespace(shape=(1024, size))]
    model = types.SimpleNamespace(trainable_variables=weights)
    process.give_back_large_buffers(model)
    assert ((-3, 2**25) in calls) == large


@pytest.mark.backend_free
def test_flags_of_xla(tuned):
    """Added under JAX beside the user's, once, and never against them."""
    name = "--xla_cpu_experimental_ynn_fusion_type"
    mine = "--xla_cpu_enable_fast_math=false"
    for backend in ("tensorflow", "torch"):
        assert tuned(backend, XLA_FLAGS=mine)[1] == mine
    _, flags = tuned("jax", XLA_FLAGS=mine)
    assert flags == f"{mine} {name}=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    _, flags = tuned("jax", XLA_FLAGS=f"{name}=")
    assert flags == f"{name}="


_KEEP_PROGRAMS = process._keep_programs  # tests/conftest.py has another for all tests


@pytest.mark.backend_free
def test_only_jax_keeps_programs_and_the_environment_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jax", None)
    names = ("JAX_COMPILATION_CACHE_DIR", "JAX_COMPILATION_CACHE_MAX_SIZE")
    for name in (*names, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        monkeypatch.setenv(name, "")  # so that what is set here does not stay
        monkeypatch.delenv(name)

    def kept(backend, **environment):
        for name in names:
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(process, "configured_backend", lambda: backend)
        _KEEP_PROGRAMS()
        return [os.environ.get(name) for name in names]

    for backend in ("tensorflow", "torch"):
        assert kept(backend) == [None, None]
    folder, size = kept("jax")
    assert Path(folder).parent == tmp_path / "jax" and size == str(2**30)
    for name in ("whole-cache", "whole-atime", "cut-cache"):
        (Path(folder) / name).write_text("")
    assert kept("jax") == [folder, size]
    assert {p.name for p in Path(folder).iterdir()} == {"whole-cache", "whole-atime"}
    monkeypatch.setattr(process, "_processor", lambda: "another one")
    assert kept("jax")[0] != folder
    assert kept("jax", JAX_COMPILATION_CACHE_DIR="mine") == ["mine", None]
    assert kept("jax", JAX_COMPILATION_CACHE_MAX_SIZE="9")[1] == "9"
    # JAX is imported already: what the environment said stays.
    config = types.SimpleNamespace(jax_compilation_cache_dir=None, updated={})
    config.update = config.updated.__setitem__
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(config=config))
    kept("jax", JAX_COMPILATION_CACHE_MAX_SIZE="9")
    assert config.updated["jax_compilation_cache_dir"]
    assert "jax_compilation_cache_max_size" not in config.updated
    folder = Path(config.updated["jax_compilation_cache_dir"])
    assert folder.stat().st_mode & 0o077 == 0
    folder.chmod(0o777)
    assert kept("jax") == [None, None]  # whoever can write there could run code here
    folder.chmod(0o700)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "file"))  # no folder
    assert kept("jax") == [None, None]


_COMPILE = """
import sys
if "first" in sys.argv:
    import jax
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
def test_the_next_process_finds_what_jax_compiled(tmp_path):
    """Whether JAX is imported before or after, and if a file is spoilt."""

    def hits(*arguments):
        environment = {k: v for k, v in os.environ.items() if "CACHE_DIR" not in k}
        environment |= {"ZOO_CACHE_DIR": str(tmp_path), "KERAS_BACKEND": "jax"}
        environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        command = [sys.executable, "-c", _COMPILE, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        )
        return int(done.stdout)

    assert hits() == 0
    assert hits() > 0
    kept = list((tmp_path / "jax").glob("*/*-cache"))
    assert kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:-9])
    assert hits("first") == 0


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_off_during_the_start(enabled, monkeypatch):
    """It is as before afterwards, and frees what there was."""
    seen = []
    fake = types.ModuleType("keras")
    fake.config = keras.config
    fake.ops = types.SimpleNamespace(zeros=lambda _: seen.append(gc.isenabled()))
    monkeypatch.setitem(sys.modules, "keras", fake)
    model = types.ModuleType("model")
    model.itself = model
    left = weakref.ref(model)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        start_backend()
        assert seen == [False] and gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    del model
    gc.collect()
    assert left() is None


@pytest.mark.once
def test_only_tensorflow_imports_tensorflow():
    """A command's process, which has all these settings and computes: KerasHub would
    import it wherever it is installed."""
    script = (
        "import sys; from zoo.cli import main; "
        "code = main(['tag', 'birnn', 'A dog runs.']); "
        "print(code, sys.modules.get('tensorflow') is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    tags, last = done.stdout.splitlines()
    assert tags.startswith("A/DET dog/NOUN")
    assert last == f"0 {keras.backend.backend() == 'tensorflow'}"
    # Two lines for who waits, and nothing that the backends say as they start.
    assert len(done.stderr.splitlines()) == 2, done.stderr


@pytest.fixture
def torch(monkeypatch):
    """PyTorch on a machine of four cores; its threads are put back."""
    if keras.backend.backend() != "torch":
        pytest.skip("threads of PyTorch")
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(4)
    monkeypatch.setattr(process, "_default_threads", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4))
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    yield torch
    torch.set_num_threads(before)


def test_threads_of_training_follow_the_models_size(torch, monkeypatch):
    for parameters, threads in ((999_999, 1), (1_000_000, 4), (10, 1)):
        told = process.choose_threads(parameters)
        assert torch.get_num_threads() == threads
        assert told == f"torch backend, threads: {threads}"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    torch.set_num_threads(3)
    assert process.choose_threads(10) == "torch backend, threads: 3"


@pytest.mark.long
@pytest.mark.once
def test_the_two_lines_of_the_documents_start_a_script():
    page = Path(__file__).resolve().parents[3] / "docs" / "performance.md"
    [lines] = re.findall(r"```python\n(from zoo.*?)```", page.read_text(), re.S)
    script = (
        f"{lines}import gc, sys\nassert gc.get_freeze_count() > 100_000\n"
        "import zoo\nprint(zoo.load('birnn').tag('A dog')[0])\n"
        "print({'matplotlib', 'IPython'} & set(sys.modules))\n"
        "import matplotlib.pyplot  # for plots, still there"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout == "('A', 'DET')\nset()\n" and not done.stderr, done.stderr
