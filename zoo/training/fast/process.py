"""Settings of a process that trains or decodes: memory, threads, XLA's flags."""

import contextlib
import ctypes
import functools
import gc
import importlib.metadata
import os
import platform
import sys
import zlib
from pathlib import Path

from zoo.backend import (
    check_backend,
    configured_backend,
    quiet_start,
    without,
    without_tensorflow,
)
from zoo.files import cache_folder

# From malloc.h. Large buffers would otherwise come from the system page by page, each
# of them zeroed, which can take longer than the arithmetic on them.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8

# A smaller model has no product that two threads compute faster than one.
_FEW_PARAMETERS = 1_000_000

# In JAX 0.10, XLA fuses products with their neighbours by default, which is slower than
# the product alone. (Fused sums of 0.10.2 can be wrong, too: JAX's issue 39103.)
_DOTS = "--xla_cpu_experimental_ynn_fusion_type"


def tune_process() -> None:
    """Prepares this process for work on a CPU, before the first tensor is made.

    Commands, recipes and workers call it; Python programs have to call it themselves,
    before they import JAX. It changes no result; see docs/performance.md.

    - With glibc, freed memory is kept for the next step instead of being returned to
      the system, unless the environment configures malloc (`MALLOC_…`,
      `GLIBC_TUNABLES`).
    - With JAX 0.10, products are not fused with their neighbours (`XLA_FLAGS`), unless
      the environment sets that flag.
    - With JAX, compiled programs are kept in `jax` of the cache folder
      (`ZOO_CACHE_DIR`), at most 1 GB, for the next process of the same kind of
      processor. What the environment sets, as `JAX_COMPILATION_CACHE_DIR`, comes first.

    Example:
        >>> tune_process()
    """
    _keep_memory()
    if configured_backend() == "jax":
        _set_xla_flags()
        _keep_programs()


def start_backend(devices: bool = True, presets_only: bool = False) -> None:
    """Imports Keras and KerasHub, quietly and without what the backend doesn't need.

    Under JAX and PyTorch, KerasHub is kept from importing TensorFlow, which takes 2 to
    3 s and 0.5 GB. Importing matplotlib, IPython and, under other backends, jax, which
    Keras does for what zoo doesn't use, takes time as well; they are hidden from it,
    too. Meanwhile Python's garbage collector is off, and afterwards it skips what was
    there when Keras had just been imported for the first time.

    Args:
        devices: whether to look for devices now, which prints messages, too. A
            distributed run must be set up before.
        presets_only: whether nothing but zoo's presets is used in this process. Then
            pandas and kagglehub are hidden, too.

    Raises:
        ImportError: if the backend is unknown, or it or a package that it needs is
            missing.
    """
    check_backend()
    unused = ["matplotlib", "IPython", *["pandas", "kagglehub"] * presets_only]
    if configured_backend() != "jax":
        unused.append("jax")
    new = "keras" not in sys.modules
    with quiet_start():
        with without(*unused):
            import keras

            with without_tensorflow():
                import keras_hub  # noqa: F401

        if devices:
            keras.ops.zeros(())
    if new:  # No model exists yet, which would never be let go of.
        gc.freeze()
    if devices and sys.modules.get("tensorflow"):
        start_tensorflow()


def start_tensorflow(devices: bool = True) -> None:
    """Imports TensorFlow quietly, if it is installed; `devices` as in `start_backend`.

    Keras's seeds use it under other backends, too.
    """
    with quiet_start(), contextlib.suppress(ImportError):
        import tensorflow

        if devices:
            tensorflow.config.list_physical_devices()


def choose_threads(parameters: int) -> str:
    """Sets how many threads PyTorch trains with.

    A model of fewer than a million parameters gets one: its products are over before a
    second thread has begun. Only the size decides, so that a resumed run computes as it
    did before. Does nothing under other backends, or if the environment sets the number
    (`OMP_NUM_THREADS`, `MKL_NUM_THREADS`). Returns the backend and its threads, to be
    shown: "torch backend, threads: 1".
    """
    backend = configured_backend()
    if backend != "torch":
        return f"{backend} backend"
    import torch

    threads = _default_threads()
    if not any(os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "MKL")):
        torch.set_num_threads(1 if parameters < _FEW_PARAMETERS else threads)
    return f"torch backend, threads: {torch.get_num_threads()}"


@functools.cache
def _default_threads():
    """PyTorch's own number, read before it is changed."""
    import torch

    return torch.get_num_threads()


def _keep_memory():
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    chosen = chosen or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
    if chosen or platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_TOP_PAD, 2**28)
    if configured_backend() == "jax":
        # Otherwise each of its threads would keep memory.
        mallopt(_ARENA_MAX, 1)


def _set_xla_flags():
    flags = os.environ.get("XLA_FLAGS", "")
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("jaxlib")
        if version.startswith("0.10.") and _DOTS not in flags:
            flag = f"{_DOTS}=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
            os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()


def _keep_programs():
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    # What JAX names a program by holds versions and flags, but not the processor.
    folder = cache_folder() / "jax" / f"{zlib.crc32(_processor().encode()):08x}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
    found = folder.stat()
    user = getattr(os, "getuid", lambda: found.st_uid)()  # Windows has none
    if found.st_uid != user or found.st_mode & 0o022 or not os.access(folder, os.W_OK):
        return  # whoever can write there could run code here
    for program in folder.glob("*-cache"):
        # A process killed while writing one leaves no time of its use, without which
        # JAX keeps no more programs.
        if not Path(f"{str(program).removesuffix('cache')}atime").exists():
            program.unlink(missing_ok=True)
    for name, value in {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(2**30),  # the least recently used go
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }.items():
        os.environ.setdefault(name, value)


def _processor():
    """Returns what XLA's programs depend on: the architecture and its extensions."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    extensions = [x for x in lines if x.startswith(("flags", "Features"))][:1]
    return " ".join([platform.machine(), platform.processor(), *extensions])
