"""The folder of a run, and `config.json`, which records how the run was made."""

import contextlib
import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zoo
from zoo.backend import usable_cores
from zoo.files import lock, sha256, write_bytes

FILE = "config.json"
CACHE = "tokenised"  # the folder of a user's own text as ids
MODELS = "models"  # holds a folder for each of several models of a run
# These may change when a run is resumed, and are no part of its identity.
MAY_CHANGE_ON_RESUME = ("epochs", "patience", "average", "samples")
_FOLDERS = ("epoch_weights", "tensorboard", CACHE, MODELS)
_FILES = (
    *("checkpoint.npz", "best.weights.h5", "tokenizer.spm", "log.csv"),
    *("samples.jsonl", FILE, "results.json", "report.html"),
)
_PACKAGES = ("keras", "keras-hub", "numpy", "sentencepiece", "sacrebleu")
_BACKENDS = {
    "tensorflow": ("tensorflow", "tensorflow-text"),
    "jax": ("jax", "jaxlib"),
    "torch": ("torch",),
}


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
    """Makes the folder of a run, and keeps other runs out of it.

    Raises:
        ConfigurationError: if another process trains there.
        OSError: if the folder can't be made.
    """
    Path(output).mkdir(parents=True, exist_ok=True)
    try:
        descriptor = lock(output)
    except BlockingIOError:
        raise ConfigurationError(
            f"another run is using {output}: wait for it to end, or choose another "
            "folder with --output"
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
    paths = [Path(output, "checkpoint.npz"), *models]
    return [path for path in paths if path.exists()]


def clear(output: str | os.PathLike[str]) -> None:
    """Removes the files of an earlier run, so that none of them is reused."""
    for name in _FOLDERS:
        shutil.rmtree(Path(output, name), ignore_errors=True)
    for name in _FILES:
        Path(output, name).unlink(missing_ok=True)


def say(name: str, text: str) -> None:
    """Prints a line about a run to standard error, after the name of its recipe."""
    print(f"[{name}] {text}", file=sys.stderr, flush=True)


# === config.json ===


def write_configuration(
    folder: str | os.PathLike[str], recipe: Any, choices: dict[str, Any]
) -> None:
    """Writes `config.json`: everything that a run depends on.

    If the folder has a checkpoint, the run is resumed: the command, commit, backend,
    versions, machine and date of each earlier command are kept as "before".

    Args:
        folder: the run's folder.
        recipe: the `Recipe`.
        choices: "arguments", "set", "hyper_parameters" and "command" of the run.
    """
    import keras

    path, backend, before = Path(folder, FILE), keras.backend.backend(), []
    file = recipe.file and str(Path(recipe.file).absolute())
    made_by = {
        "backend": backend,
        "versions": versions(backend),
        "commit": commit(),
        "machine": machine(),
        "command": choices["command"],
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    if path.exists() and checkpoints(folder):
        old = read_configuration(folder)
        before = [*old.get("before", []), {name: old.get(name) for name in made_by}]
    configuration = {
        "recipe": {"name": recipe.name, "file": file, "sha256": source_digest(recipe)},
        **choices,
        **made_by,
        "before": before,
    }
    write_bytes(path, f"{json.dumps(configuration, indent=2)}\n".encode())


def read_configuration(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a run's `config.json`.

    Raises:
        ConfigurationError: if the file is missing, damaged or none of zoo's.
    """
    path = Path(folder, FILE)
    try:
        configuration = json.loads(path.read_text(encoding="utf-8"))
        complete = (
            isinstance(configuration["recipe"]["name"], str)
            and isinstance(configuration["arguments"], dict)
            and configuration["backend"] in _BACKENDS
            and all(isinstance(text, str) for text in configuration["set"])
        )
        if not complete:
            raise TypeError("a value of another type")
    except OSError as error:
        raise ConfigurationError(
            f"{folder} is not the folder of a run: {FILE} can't be read "
            f"({error.strerror})"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} is damaged, or not the configuration of a run. Received: {error!r}"
        ) from error
    return configuration


def to_jsonable(settings: Any) -> Any:
    """Returns a recipe's choices as nested dicts that JSON can hold.

    An optimizer that is a function is described by the Keras optimizer that it makes.
    """
    if dataclasses.is_dataclass(settings):
        names = [field.name for field in dataclasses.fields(settings)]
        return {name: to_jsonable(getattr(settings, name)) for name in names}
    if isinstance(settings, dict):
        return {name: to_jsonable(value) for name, value in settings.items()}
    if callable(settings):
        # For a huge plan: the real one depends on the number of epochs.
        optimizer = settings(10**6, 100)
        # The optimizer's name counts the instances.
        config = {**optimizer.get_config(), "name": None}
        settings = {"class": type(optimizer).__name__, **config}
    return json.loads(json.dumps(settings, default=str))


# === Code and machine ===


def source_digest(recipe: Any) -> str | None:
    """Returns the sha256 of a recipe's files; None if they can't be read."""
    try:
        digests = [sha256(path) for path in (recipe.file, *recipe.parts) if path]
    except OSError:
        return None
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else None


def versions(backend: str) -> dict[str, str | None]:
    """Returns the versions of Python, zoo and the packages that a run depends on."""
    numbers: dict[str, str | None] = {}
    for name in (*_PACKAGES, *_BACKENDS[backend]):
        try:
            numbers[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            numbers[name] = None
    return {"python": platform.python_version(), "zoo": zoo.__version__, **numbers}


def machine() -> str:
    """Returns the GPUs that the backend uses, if any, and the CPU."""
    import keras

    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        gpus = [d.device_kind for d in jax.devices() if d.platform != "cpu"]
    elif backend == "torch":
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        gpus = [torch.cuda.get_device_name(i) for i in range(count)]
    else:
        import tensorflow as tf

        devices = tf.config.list_physical_devices("GPU")
        details = tf.config.experimental.get_device_details
        gpus = [details(d).get("device_name", "GPU") for d in devices]
    return ", ".join([*gpus, cpu()])


def cpu() -> str:
    """Returns the cores that this process may use: "2 CPU cores (x86_64)"."""
    count = usable_cores()
    return f"{count} CPU core{'s' * (count != 1)} ({platform.machine()})"


def commit() -> str:
    """Returns the git commit of the code, with "-dirty" if files differ from it."""
    folder = Path(__file__).absolute().parents[2]
    if not (folder / ".git").exists():
        return "unknown"
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


# === Resuming ===


def choose_backend(backend: str, folder: str | os.PathLike[str]) -> bool:
    """Makes Keras use the backend that the run in a folder was started with.

    Returns:
        Whether the environment had to be changed.

    Raises:
        ConfigurationError: if the environment asks for another backend, or Keras is
            already imported with another one.
    """
    chosen = os.environ.get("KERAS_BACKEND")
    if "keras" in sys.modules:
        chosen = sys.modules["keras"].config.backend()
    if chosen not in (None, "", backend):
        raise ConfigurationError(
            f"{folder} was trained under {backend}, but KERAS_BACKEND (or Keras, which "
            f"is already imported) says {chosen}. Unset KERAS_BACKEND, or set "
            f"KERAS_BACKEND={backend}"
        )
    os.environ["KERAS_BACKEND"] = backend
    return not chosen
