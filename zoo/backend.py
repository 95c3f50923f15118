"""Keras's backends, and which one is configured, without importing Keras."""

import contextlib
import functools
import gc
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Tensor = np.ndarray  # for type checkers: what every backend's tensors work like
else:
    Tensor = Any  # of whichever backend runs, or a NumPy array
Shape = tuple[Any, ...]  # ints, None where a size is not known

_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")  # a container's
BACKENDS = ("tensorflow", "jax", "torch")
MODES = ("auto", "none", "data")  # of distributing over devices


def usable_cores() -> int:
    """Returns how many cores this process may use, by its affinity and cgroup."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no limit is "max"
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        count = min(count, max(1, int(quota) // int(period)))
    return count


def configured_backend() -> str:
    """Returns the name of Keras's backend: the active one, or the one it would use."""
    if "keras" in sys.modules:
        return sys.modules["keras"].config.backend()
    if chosen := os.environ.get("KERAS_BACKEND"):
        return chosen
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        config = json.loads((home / "keras.json").read_text(encoding="utf-8"))
        return config.get("backend", "tensorflow")
    except (OSError, ValueError):
        return "tensorflow"


def check_backend() -> None:
    """Rejects a backend that zoo does not support or that is not installed.

    Raises:
        ImportError: the message lists the supported backends.
    """
    name = configured_backend()
    if name not in BACKENDS:
        reason = f"zoo does not run on the backend {name!r}"
    elif not sys.modules.get(name) and importlib.util.find_spec(name) is None:
        extra = "" if name == "tensorflow" else f"[{name}]"
        reason = f"the backend {name} is not installed (pip install "
        reason += f"'attention-zoo{extra}')"
    else:
        return
    raise ImportError(
        f"{reason}; choose one of {', '.join(BACKENDS)} with the environment variable "
        "KERAS_BACKEND (or a command's --backend)"
    )


@contextlib.contextmanager
def without(*packages: str) -> Iterator[None]:
    """Hides packages from imports that try them and do as well without.

    A package that is already imported stays. Afterwards the others can be imported.
    """
    hidden = [name for name in packages if name not in sys.modules]
    for name in hidden:  # None makes Python raise ModuleNotFoundError on import
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name, name) is None:
                del sys.modules[name]


def without_tensorflow() -> contextlib.AbstractContextManager[None]:
    """Stops KerasHub from importing TensorFlow, which it does wherever it can.

    Under other backends KerasHub works without it and starts faster. Does nothing if
    TensorFlow is the backend.
    """
    return without(*([] if configured_backend() == "tensorflow" else ["tensorflow"]))


# A line that TensorFlow logs, or continues.
_GREETING = (
    "^([IWE][0-9]{4} |[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+: [IWE] |"
    "WARNING: All log messages before |To enable the following instructions)"
)


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Surrounds the first import of Keras or a backend, which is quiet and faster.

    The dozen lines that TensorFlow logs at its start, most of them about missing GPUs,
    are left out; any other line, C++'s too, is shown, even if the process ends.
    Python's garbage collector is off meanwhile: to go through the imported objects
    again and again takes a second, and finds next to nothing.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    enabled = gc.isenabled()
    gc.disable()
    try:
        with _without_greeting():
            yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _without_greeting():
    """Filters standard error; see `quiet_start`."""
    try:
        original = os.dup(2)
        sed = ["sed", "-E", f"/{_GREETING}/d"]
        shown = subprocess.Popen(sed, stdin=subprocess.PIPE, stdout=original)
    except OSError:  # it is closed, or there is no `sed`
        yield
        return
    os.dup2(shown.stdin.fileno(), 2)
    shown.stdin.close()
    try:
        yield
    finally:
        os.dup2(original, 2)
        os.close(original)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a child may write on
            shown.wait(1)


def jax_on_cpu() -> bool:
    """Whether JAX is the backend, and computes on a CPU."""
    if configured_backend() != "jax":
        return False
    import jax

    return jax.default_backend() == "cpu"


def bfloat16_product(*dtypes: Any) -> Any:
    """JAX's `dot_general` with sums in float32, for bfloat16s on a CPU, or None.

    For no other product of bfloat16s does XLA use AMX. Tried in JAX 0.10 on one device.
    """
    if any(x != "bfloat16" for x in dtypes) or not jax_on_cpu():
        return None
    import jax

    if jax.device_count() > 1 or jax.__version_info__[:2] != (0, 10):
        return None
    return functools.partial(jax.lax.dot_general, preferred_element_type="float32")


def trace(function: Any, *inputs: Tensor) -> Any:
    """Records, by torch, a function that takes tensors and returns a tuple of them."""
    import torch

    class Traced(torch.nn.Module):  # a function's program would be kept for ever
        def forward(self, *inputs):
            return function(*inputs)

    # Keras casts the tensors of each operation, mostly to what they are: recorded, more
    # than half of the program.
    class WithoutIdleCasts(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            wanted = [*args[1:], *(kwargs or {}).values()]
            if func is torch.Tensor.to and _is_of(args[0], wanted):
                return args[0]
            return func(*args, **(kwargs or {}))

    with warnings.catch_warnings(), WithoutIdleCasts():
        warnings.simplefilter("ignore")  # deprecation, and shapes made constants
        options = {"check_trace": False, "_store_inputs": False}
        program = torch.jit.trace(Traced(), inputs, **options)
    with contextlib.suppress(AttributeError):  # half of the nodes are equal constants
        torch._C._jit_pass_constant_pooling(program.graph)
    return program


def _is_of(tensor, wanted):
    """Returns whether a torch tensor has the dtypes and devices that are asked for."""
    import torch

    return all(
        x is None
        or (isinstance(x, torch.dtype) and x == tensor.dtype)
        or (isinstance(x, str | torch.device) and torch.device(x) == tensor.device)
        for x in wanted
    )
