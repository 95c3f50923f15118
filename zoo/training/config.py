"""The folder of a run, and `config.json`, which records how the run was made."""

import contextlib
import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zoo
from zoo.backend import BACKENDS, usable_cores
from zoo.files import lock, write_bytes
from zoo.strings import counted

FILE = "config.json"
MODELS = "models"  # holds a folder for each of several models of a run
# These may change when a run is resumed, and are no part of its identity.
MAY_CHANGE_ON_RESUME = ("epochs", "patience", "average", "samples")
# Arguments that `config.json` doesn't keep: others hold them, or they are for once.
UNRECORDED = ("output", "changes", "finish")
_PACKAGES = ("keras", "keras-hub", "numpy", "sentencepiece", "sacrebleu")


class ConfigurationError(ValueError):
    """Choices that can't run, or a folder whose run can't be resumed."""


@contextlib.contextmanager
def refused_as(name: str) -> Iterator[None]:
    """Turns errors of what a field of the choices makes into a ConfigurationError."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{name}: {error}") from error


@contextlib.contextmanager
def only_run_in(output: str | os.PathLike[str]) -> Iterator[None]:
    """Makes the folder of a run, and keeps other runs out of it."""
    Path(output).mkdir(parents=True, exist_ok=True)
    try:
        descriptor = lock(output)
    except BlockingIOError:
        raise ConfigurationError(
            f"another run is using {output}: choose another folder with --output"
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):  # it is not empty: the run has begun
            Path(output).rmdir()


def checkpoints(output: str | os.PathLike[str]) -> list[Path]:
    """Returns the paths of a run's checkpoints, those of its `models/` last."""
    models = sorted(Path(output, MODELS).glob("*/checkpoint.npz"))
    return [*Path(output).glob("checkpoint.npz"), *models]


# === config.json ===


def write_configuration(run: Any, command: str) -> None:
    """Writes `config.json`: everything that a `Run` depends on, and what started it."""
    import keras

    recipe, arguments = run.recipe, vars(run.arguments)
    file = recipe.file and str(Path(recipe.file).absolute())
    configuration = {
        "recipe": {"name": recipe.name, "file": file},
        "arguments": {k: v for k, v in arguments.items() if k not in UNRECORDED},
        "set": list(run.arguments.changes),
        "hyper_parameters": to_jsonable(run.settings),
        "command": command,
        "backend": keras.backend.backend(),
        "versions": versions(keras.backend.backend()),
        "commit": commit(),
        "machine": machine(),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    write_bytes(run.output / FILE, f"{json.dumps(configuration, indent=2)}\n".encode())


def read_configuration(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a run's `config.json`; refuses one that is damaged or none of zoo's."""
    path = Path(folder, FILE)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"{folder} is not the folder of a run: {FILE}: {error.strerror}"
        ) from error
    except ValueError as error:
        raise ConfigurationError(f"{path} is damaged: {error}") from error
    match found:
        case {"recipe": {"name": str()}, "arguments": {}, "set": list(), **rest}:
            changes = all(isinstance(text, str) for text in found["set"])
            if changes and rest.get("backend") in BACKENDS:
                return dict(found)
    raise ConfigurationError(
        f"{path} is damaged: a value is missing or of another type"
    )


def to_jsonable(settings: Any) -> Any:
    """Returns a recipe's choices as nested dicts that JSON can hold."""
    return json.loads(json.dumps(dataclasses.asdict(settings)))


# === Code and machine ===


def versions(backend: str) -> dict[str, str | None]:
    """Returns the versions of Python, zoo and the packages that a run depends on."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    found["zoo"] = zoo.__version__
    for name in (*_PACKAGES, backend):
        found[name] = None
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def gpus() -> list[tuple[str, str]]:
    """Returns name and compute capability, as "9.0", of the GPUs that Keras uses."""
    import keras

    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        found = [d for d in jax.devices() if d.platform != "cpu"]
        return [(d.device_kind, getattr(d, "compute_capability", "")) for d in found]
    if backend == "torch":
        from torch import cuda

        places = range(cuda.device_count())
        versions = ["{}.{}".format(*cuda.get_device_capability(i)) for i in places]
        return list(zip(map(cuda.get_device_name, places), versions, strict=True))
    import tensorflow as tf

    devices = tf.config.list_physical_devices("GPU")
    found = [tf.config.experimental.get_device_details(device) for device in devices]
    versions = [".".join(map(str, d.get("compute_capability", ()))) for d in found]
    names = [details.get("device_name", "GPU") for details in found]
    return list(zip(names, versions, strict=True))


def machine() -> str:
    """Returns the GPUs that the backend uses, if any, and the CPU."""
    return ", ".join([*(name for name, _ in gpus()), cpu()])


def cpu() -> str:
    """Returns the cores that this process may use: "2 CPU cores (x86_64)"."""
    return f"{counted(usable_cores(), 'CPU core')} ({platform.machine()})"


def commit() -> str:
    """Returns the git commit of the code, with "-dirty" if files differ from it."""
    folder = Path(__file__).absolute().parents[2]
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    if not (folder / ".git").exists() or not shutil.which("git"):
        return "unknown"
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
