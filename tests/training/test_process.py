"""What a process is set to before it trains, each in a process of its own."""

import json
import os
import subprocess
import sys

import keras
import pytest

_SCRIPT = """
import ctypes, json, os, sys
import keras
calls = []
class Library:
    def mallopt(self, *call):
        calls.append(call)
ctypes.CDLL = lambda name: Library()
import platform
platform.libc_ver = lambda: (sys.argv[1], "")
import zoo.training
zoo.training.tune_process()
print(json.dumps([calls, os.environ.get("XLA_FLAGS", "")]))
"""


def _tuned(libc="glibc", **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    for name in ("XLA_FLAGS", "GLIBC_TUNABLES"):
        kept.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, libc],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_freed_memory_is_kept():
    calls, _ = _tuned()
    assert [-4, 0] in calls and [-1, 2**31 - 1] in calls


@pytest.mark.parametrize(
    ("libc", "environment"),
    [
        ("", {}),
        ("glibc", {"MALLOC_TRIM_THRESHOLD_": "100000"}),
        ("glibc", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    ],
)
def test_malloc_is_left_alone(libc, environment):
    calls, _ = _tuned(libc, **environment)
    assert calls == []


def test_flags_of_xla():
    """Added under JAX beside the user's, once, and never against them."""
    name = "--xla_cpu_experimental_ynn_fusion_type"
    mine = "--xla_cpu_enable_fast_math=false"
    _, flags = _tuned(XLA_FLAGS=mine)
    if keras.backend.backend() != "jax":
        assert flags == mine
        return
    assert flags == f"{mine} {name}=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    _, flags = _tuned(XLA_FLAGS=f"{name}=")
    assert flags == f"{name}="


def test_training_is_what_it_was():
    """A real process with the settings computes, and JAX knows the flag."""
    script = (
        "import zoo.training; zoo.training.tune_process(); import keras; "
        "x = keras.ops.ones((64, 64)); print(float(keras.ops.sum(x @ x)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert float(done.stdout.splitlines()[-1]) == 64.0**3
