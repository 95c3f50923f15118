"""Settings of the process that trains: its memory, and XLA's flags for the CPU."""

import ctypes
import importlib.metadata
import os
import platform

# Of malloc.h. Freed memory stays with the process, where the next step finds it: a
# step's large buffers otherwise come from the system page by page, each page zeroed,
# which can take longer than the arithmetic on them.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8

# By default XLA fuses products with their neighbours in JAX 0.10; such fusions run
# slower than a product by itself.
_DOTS = "--xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"


def tune_process():
    """Prepares this process for training on a CPU, before the first tensor is made.

    `zoo train` and every recipe call it. It does two things, and neither changes what
    is computed; docs/performance.md has what each is worth.

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


def _keep_memory():
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    chosen = chosen or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
    if chosen or platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_TOP_PAD, 2**28)
    if _backend() == "jax":
        # Its threads would each keep memory of their own.
        mallopt(_ARENA_MAX, 1)


def _set_xla_flags():
    if _backend() != "jax":
        return
    try:
        version = importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:
        return
    flags = os.environ.get("XLA_FLAGS", "")
    name = _DOTS.split("=")[0]
    if version.startswith("0.10.") and name not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_DOTS}".strip()


def _backend():
    import keras

    return keras.backend.backend()
