"""The folder of a run, and what the run was made of: `config.json` in it."""

import contextlib
import dataclasses
import datetime
import glob
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys

import zoo
from zoo.files import lock, sha256, write_bytes

FILE = "config.json"
MODELS = "models"  # the folder in which each of a run's several models has its own
# What may be changed on the way: it makes no other run of one.
FREE = ("epochs", "patience", "average", "samples")
_PACKAGES = ("keras", "keras-hub", "numpy", "sentencepiece", "sacrebleu")
_BACKENDS = {
    "tensorflow": ("tensorflow", "tensorflow-text"),
    "jax": ("jax", "jaxlib"),
    "torch": ("torch",),
}


class ConfigurationError(ValueError):
    """Choices that can't be run, or a folder whose run can't be gone on with."""


@contextlib.contextmanager
def only_run_in(output):
    """Makes the folder of a run, and keeps other runs out of it.

    Raises:
        ConfigurationError: if another process trains there.
        OSError: if it can't be made.
    """
    os.makedirs(output, exist_ok=True)
    try:
        held = lock(output)
    except BlockingIOError:
        raise ConfigurationError(
            f"another run is at work in {output}: wait for it, or give this one a "
            "folder of its own by --output"
        ) from None
    try:
        yield
    finally:
        os.close(held)


def checkpoints(output):
    """The paths of a run's checkpoints: its own, and those of its several models."""
    own = os.path.join(output, "checkpoint.npz")
    models = os.path.join(glob.escape(output), MODELS, "*", "checkpoint.npz")
    return [path for path in (own, *sorted(glob.glob(models))) if os.path.exists(path)]


def clear(output):
    """Removes what an earlier run left, so that nothing of it is taken up again."""
    for name in ("epoch_weights", "tensorboard", MODELS):
        shutil.rmtree(os.path.join(output, name), ignore_errors=True)
    for name in (
        "checkpoint.npz",
        "best.weights.h5",
        "tokenizer.spm",
        "log.csv",
        "samples.jsonl",
        "config.json",
        "results.json",
        "report.html",
    ):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(output, name))


# === config.json ===


def make_configuration(recipe, scale, arguments, settings, command):
    """The whole of a run, as `config.json` holds it.

    Args:
        recipe: the `Recipe`.
        scale: the `Scale` that runs, its overrides applied.
        arguments: dict of the run's arguments: scale, seed, limit, precision, …
        settings: list of the "key=value" that were set.
        command: str, the command line.

    Returns:
        dict that goes through JSON unchanged.
    """
    import keras

    backend = keras.backend.backend()
    file = recipe.file and os.path.abspath(recipe.file)
    return {
        "recipe": {"name": recipe.name, "file": file, "sha256": source_digest(recipe)},
        "arguments": dict(arguments),
        "set": list(settings),
        "hyper_parameters": plain(scale),
        "backend": backend,
        "versions": versions(backend),
        "commit": commit(),
        "machine": machine(),
        "command": command,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def write_configuration(folder, configuration, goes_on=False):
    """Writes `config.json`, aside and renamed.

    Args:
        folder: str, the run's.
        configuration: dict from `make_configuration`.
        goes_on: whether the run has begun under an earlier command. Command, commit,
            backend, versions, machine and date of all those are kept, as "before".
    """
    kept = ("command", "commit", "backend", "versions", "machine", "date")
    path, before = os.path.join(folder, FILE), []
    if goes_on and os.path.exists(path):
        old = read_configuration(folder)
        before = [*old.get("before", []), {name: old.get(name) for name in kept}]
    text = json.dumps({**configuration, "before": before}, indent=2)
    write_bytes(path, f"{text}\n".encode())


def read_configuration(folder):
    """Reads a run's `config.json`.

    Raises:
        ConfigurationError: if there is none, or if it is none of the zoo's.
    """
    path = os.path.join(folder, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        complete = (
            isinstance(found["recipe"]["name"], str)
            and isinstance(found["arguments"], dict)
            and found["backend"] in _BACKENDS
            and all(isinstance(text, str) for text in found["set"])
        )
    except OSError as error:
        raise ConfigurationError(
            f"{folder} is no folder of a run: {FILE} can't be read ({error.strerror})"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} is damaged, or no configuration of a run. Received: {error!r}"
        ) from error
    if not complete:
        raise ConfigurationError(f"{path} is damaged, or no configuration of a run")
    return found


def plain(scale):
    """All hyper-parameters of a scale as nested dicts of what JSON can hold.

    An optimizer that is a function is told by the Keras optimizer that it makes.
    """
    if dataclasses.is_dataclass(scale):
        fields = dataclasses.fields(scale)
        return {field.name: plain(getattr(scale, field.name)) for field in fields}
    if isinstance(scale, dict):
        return {name: plain(value) for name, value in scale.items()}
    if callable(scale):
        # For a plan larger than any: the real one follows the number of epochs.
        made = scale(10**6, 100)
        config = {**made.get_config(), "name": None}  # it counts the instances
        scale = {"class": type(made).__name__, **config}
    return json.loads(json.dumps(scale, default=str))


# === Where it runs ===


def source_digest(recipe):
    """sha256 of a recipe's files; None if they can't be read."""
    try:
        digests = [sha256(path) for path in (recipe.file, *recipe.parts) if path]
    except OSError:
        return None
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else None


def versions(backend):
    """Versions of Python, zoo and the packages that a run depends on."""
    found = {"python": platform.python_version(), "zoo": zoo.__version__}
    for name in (*_PACKAGES, *_BACKENDS[backend]):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def machine():
    """The machine's CPU, and the GPUs where the backend uses any."""
    import keras

    backend, found = keras.backend.backend(), []
    if backend == "jax":
        import jax

        found = [d.device_kind for d in jax.devices() if d.platform != "cpu"]
    elif backend == "torch":
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        found = [torch.cuda.get_device_name(i) for i in range(count)]
    else:
        import tensorflow as tf

        devices = tf.config.list_physical_devices("GPU")
        details = tf.config.experimental.get_device_details
        found = [details(d).get("device_name", "GPU") for d in devices]
    return ", ".join([*found, cpu()])


def cpu():
    """The cores that this process may use, as in "2 CPU cores (x86_64)"."""
    own = getattr(os, "sched_getaffinity", None)  # Linux has it
    count = len(own(0)) if own else os.cpu_count()
    return f"{count} CPU core{'s' * (count != 1)} ({platform.machine()})"


def commit():
    """The version of the code that runs, where git knows it."""
    folder = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    )
    if not os.path.exists(os.path.join(folder, ".git")):
        return "unknown"
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


# === Going on ===


def choose_backend(wanted, folder):
    """Makes the backend of a run the one that Keras will have.

    Args:
        wanted: str, the backend that the run has begun with.
        folder: str, named in errors.

    Returns:
        Whether the environment had to be changed.

    Raises:
        ConfigurationError: if the environment, or Keras where it is imported already,
            says another one.
    """
    chosen = os.environ.get("KERAS_BACKEND")
    if "keras" in sys.modules:
        chosen = sys.modules["keras"].config.backend()
    if chosen not in (None, "", wanted):
        raise ConfigurationError(
            f"{folder} was trained under {wanted}, but KERAS_BACKEND (or Keras, which "
            f"is imported already) says {chosen}. Leave KERAS_BACKEND out, or set "
            f"KERAS_BACKEND={wanted}"
        )
    os.environ["KERAS_BACKEND"] = wanted
    return not chosen
