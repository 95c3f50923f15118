"""Settings of a process that trains or decodes: memory, XLA's flags for the CPU."""

import contextlib
import ctypes
import functools
import importlib.metadata
import math
import os
import platform
import subprocess
import sys
import tempfile
import time

from zoo.backend import (
    check_backend,
    configured_backend,
    without_tensorflow,
)

# Of malloc.h. Freed memory stays with the process, where the next step finds it: a
# step's large buffers otherwise come from the system page by page, each page zeroed,
# which can take longer than the arithmetic on them.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -2, -3, -4, -8

# The largest threshold that glibc takes.
_LARGE = 2**25

# Fewer have no product that two threads compute faster than one.
_FEW_PARAMETERS = 1_000_000

# By default XLA fuses products with their neighbours in JAX 0.10; such fusions run
# slower than a product by itself.
_DOTS = "--xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"


def tune_process():
    """Prepares this process for work on a CPU, before the first tensor is made.

    Every command of `zoo` that loads a preset, every recipe and every worker of a bulk
    translation call it; in Python it is for you to call. It does two things, and
    neither changes what is computed; docs/performance.md has what each is worth.

    - With glibc, memory that was freed is kept for the next step instead of being given
      back to the system. Not where the environment sets malloc's behaviour itself
      (`MALLOC_…`, `GLIBC_TUNABLES`).
    - With JAX 0.10, products are not fused with their neighbours (`XLA_FLAGS`). Not
      where the environment has that flag already, nor with other versions, which may
      not know it and would refuse to start.

    Example:
        >>> tune_process()
    """
    _keep_memory()
    _set_xla_flags()


def start_backend(devices=True):
    """Imports Keras and KerasHub, quietly and without what the backend doesn't need.

    The start-up messages, a dozen lines of TensorFlow's, most of them about GPUs that a
    machine hasn't got, are kept back, and shown if the start fails. Under JAX and
    PyTorch KerasHub is kept from importing TensorFlow, as it does wherever that is
    installed (2 to 3 s and 0.5 GB): it then does all that zoo needs without it.

    Every command of `zoo` that loads a preset and every recipe call it. In Python
    docs/performance.md says what to set.

    Args:
        devices: whether the devices are looked for now, which has messages of its own.
            Not before a distributed run has been set up.

    Raises:
        ImportError: if the backend is unknown, or it or a package that it needs is
            missing.
    """
    check_backend()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _standard_error_kept():
        import keras

        with without_tensorflow():
            import keras_hub  # noqa: F401

        if devices:
            keras.ops.zeros(())
    if devices and sys.modules.get("tensorflow"):
        start_tensorflow()


def start_tensorflow(devices=True):
    """Imports TensorFlow, its messages kept back likewise: for what uses it beside
    another backend, as TensorBoard's logs and Keras's seeds do. Does nothing where it
    isn't installed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _standard_error_kept(), contextlib.suppress(ImportError):
        import tensorflow

        if devices:
            tensorflow.config.list_physical_devices()


# Prints a file if what it reads ends without a line: its parent has died.
_SHOW = 'read done || { cat "$0" >&2; rm -f "$0"; }'


@contextlib.contextmanager
def _standard_error_kept():
    """Keeps what is written to standard error, by C++ too, and shows it on an error,
    also on one that ends the process at once."""
    try:
        own = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    with tempfile.NamedTemporaryFile() as kept:
        watcher = subprocess.Popen(
            ["sh", "-c", _SHOW, kept.name], stdin=subprocess.PIPE, stderr=own
        )
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(own, kept.read())
            raise
        finally:
            os.dup2(own, 2)
            os.close(own)
            watcher.communicate(b"done\n")


def choose_threads(parameters):
    """Sets how many threads PyTorch computes with: one for a model of fewer than a
    million parameters, whose products are over before a second thread has begun.

    By the model's size alone, so that a run that goes on computes as it did before.
    Does nothing under other backends, or where the environment sets the number
    (`OMP_NUM_THREADS`, `MKL_NUM_THREADS`).

    Args:
        parameters: int, of the model that is trained.

    Returns:
        str. The backend and its threads, for the line that tells of the run's start:
        "torch backend, threads: 1".
    """
    backend = configured_backend()
    if backend != "torch":
        return f"{backend} backend"
    import torch

    if not _threads_are_given():
        most = _default_threads()
        torch.set_num_threads(1 if parameters < _FEW_PARAMETERS else most)
    return f"torch backend, threads: {torch.get_num_threads()}"


def spare_threads():
    """Sets how many threads PyTorch decodes with: as many as cores are free just now.

    On a machine whose other cores are at work a second thread makes decoding slower:
    each product waits for the one that comes last. Does nothing under other backends,
    where the environment sets the number, or where the system doesn't tell.
    """
    if configured_backend() != "torch" or _threads_are_given():
        return
    import torch

    with contextlib.suppress(OSError):
        cores = len(os.sched_getaffinity(0))
        free = round(cores * _idle_share())
        torch.set_num_threads(max(1, min(free, _default_threads())))


@functools.cache
def _default_threads():
    """PyTorch's own number, before it is set here."""
    import torch

    return torch.get_num_threads()


def _idle_share(seconds=0.05):
    """The share of this machine's CPU time that nothing uses, measured for a moment."""

    def read():
        with open("/proc/stat", encoding="ascii") as file:
            times = [int(time) for time in file.readline().split()[1:]]
        return times[3] + times[4], sum(times[:8])  # idle and waiting; all

    idle, total = read()
    time.sleep(seconds)
    idle_after, total_after = read()
    return (idle_after - idle) / max(1, total_after - total)


def _threads_are_given():
    return any(os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "MKL"))


def give_back_large_buffers(model):
    """Lets the largest buffers go back to the system, for a model with a large matrix.

    Under JAX a step takes most of its memory in one piece. Freed and kept, that piece
    may be cut by a small one, and the next step take another: memory for two steps. So
    where a single weight has 32 MB, pieces of that size aren't kept, at a twentieth of
    the speed (docs/performance.md). It holds for the process from then on. Does nothing
    where `tune_process` changed nothing.

    Example:
        >>> import keras
        >>> give_back_large_buffers(keras.Sequential([keras.Input((2,))]))
    """
    weights = model.trainable_variables
    sizes = [4 * math.prod(weight.shape) for weight in weights]
    if _kept and configured_backend() == "jax" and max(sizes, default=0) >= _LARGE:
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_MAX, 2**16)
        mallopt(_MMAP_THRESHOLD, _LARGE)


_kept = False  # whether this process keeps what it freed


def _keep_memory():
    global _kept
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    chosen = chosen or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
    if chosen or platform.libc_ver()[0] != "glibc":
        return
    _kept = True
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_TOP_PAD, 2**28)
    if configured_backend() == "jax":
        # Its threads would each keep memory of their own.
        mallopt(_ARENA_MAX, 1)


def _set_xla_flags():
    if configured_backend() != "jax":
        return
    try:
        version = importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:
        return
    flags = os.environ.get("XLA_FLAGS", "")
    name = _DOTS.split("=")[0]
    if version.startswith("0.10.") and name not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_DOTS}".strip()
