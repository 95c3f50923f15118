"""Training state on disk: written aside and renamed, refused when it doesn't fit."""

import contextlib
import csv
import dataclasses
import io
import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.checks import one_of
from zoo.files import atomic_write, part_of, write_bytes
from zoo.strings import counted

FORMAT = 3  # of the state
# Attributes of a `Checkpoint` that are part of the state under their names.
_RECORD = ("best", "best_epoch", "seconds", "log", "plans", "generator")
Logs = dict[str, Any] | None


class CheckpointError(ValueError):
    """A checkpoint that is broken or belongs to another run."""


def save_state(path: str | Path, model: Any, state: dict[str, Any]) -> None:
    """Writes all variables of a model and its optimizer, and a state, or nothing.

    A weight that is not finite is a FloatingPointError; the file stays as it was.
    """
    check_weights(model)
    variables = enumerate(_variables(model))
    arrays = {f"v{i}": ops.convert_to_numpy(v.value) for i, v in variables}
    arrays["state"] = np.array(json.dumps(state))

    def write(aside):
        with Path(aside).open("wb") as file:
            np.savez(file, **arrays)

    atomic_write(path, write)


def check_weights(model: Any) -> None:
    """Raises a FloatingPointError for a weight that is not finite."""
    for variable in model.weights:
        if not ops.all(ops.isfinite(variable.value)):  # one bool from the device
            raise FloatingPointError(
                f"The weights are not finite and no checkpoint is written. "
                f"Received: {variable.path}"
            )


def read_state(path: str | Path, expected: Any = ()) -> dict[str, Any]:
    """Reads only the state that `save_state` wrote, which needs no model."""
    with _reading(path) as file:
        state = dict(json.loads(str(file["state"])))
    _check(path, "", dict(expected), state)
    return state


def load_state(path: str | Path, model: Any, expected: Any = ()) -> dict[str, Any]:
    """Restores a model and its optimizer from what `save_state` wrote.

    Nothing is assigned before everything has been read and checked. `expected` has
    entries that the state must have. Returns the state; a file that is broken, or
    written by another model or run, is a `CheckpointError`.
    """
    state = read_state(path, expected)
    with _reading(path) as file:
        arrays = [file[f"v{i}"] for i in range(len(file.files) - 1)]
    variables = _variables(model)
    wanted = [tuple(variable.shape) for variable in variables]
    found = [array.shape for array in arrays]
    for number, (one, other) in enumerate(itertools.zip_longest(wanted, found)):
        if one != other:
            raise CheckpointError(
                f"The checkpoint {Path(path).name} is of another architecture: the "
                f"model has {len(wanted)} variables, the file {len(found)}; they first "
                f"differ at number {number}. Expected {one}. Received: {other}"
            )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return state


@contextlib.contextmanager
def _reading(path: str | Path) -> Iterator[Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    # NumPy, zipfile, zlib and even Python's tokenizer have their own errors.
    except Exception as error:
        raise CheckpointError(
            f"The checkpoint {Path(path).name} can't be read: it is truncated or no "
            f"checkpoint. Start afresh in an empty folder. Received: {error}"
        ) from error


def _check(path, name, expected, state):
    for key, value in expected.items():
        other = state.get(key)
        if isinstance(value, dict) and isinstance(other, dict):
            _check(path, f"{name}{key}.", {**dict.fromkeys(other), **value}, other)
        elif value != other:
            raise CheckpointError(
                f"The checkpoint {Path(path).name} belongs to another run: "
                f"its {name}{key} differs. Expected {value!r}. Received: {other!r}"
            )


def _variables(model):
    """All variables but those of the metrics; dropout's seeds are among the model's."""
    metrics = {id(variable) for variable in _metric_variables(model)}
    variables = [v for v in model.variables if id(v) not in metrics]
    return variables + list(model.optimizer.variables)


def _metric_variables(model):
    return [variable for metric in model.metrics for variable in metric.variables]


def get_metrics(model: Any) -> list[Any]:
    """Returns the values of a model's metrics, with the running loss."""
    return [ops.convert_to_numpy(v.value).tolist() for v in _metric_variables(model)]


def set_metrics(model: Any, values: list[Any]) -> None:
    """Restores metrics from `get_metrics`."""
    for variable, value in zip(_metric_variables(model), values, strict=True):
        variable.assign(np.array(value, variable.dtype))


def get_generator() -> list[list[int]] | None:
    """Returns the states of torch's random generators; None under other backends.

    Under torch, Keras's dropout draws from the device's generator; under the others,
    from variables of the model.
    """
    if keras.backend.backend() != "torch":
        return None
    import torch

    states = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
    return [state.tolist() for state in states]


def set_generator(states: list[list[int]] | None) -> None:
    """Restores random generators from `get_generator`."""
    if states is None or keras.backend.backend() != "torch":
        return
    import torch

    cpu, *gpus = (torch.tensor(state, dtype=torch.uint8) for state in states)
    torch.set_rng_state(cpu)
    if len(gpus) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(gpus)


@dataclasses.dataclass(frozen=True)
class Monitor:
    """The log that decides which weights are best and when training may stop.

    Attributes:
        name: its key in the logs.
        mode: "max" if higher is better, "min" if lower is.
        patience: epochs without a new best after which training stops; None for never.
        goal: value at which training stops; None for none.

    Raises:
        ValueError: for another mode.

    Example:
        >>> Monitor("val_accuracy", "max", patience=2).better(0.9, than=0.8)
        True
    """

    name: str = "val_bleu"
    mode: str = "max"
    patience: int | None = None
    goal: float | None = None

    def __post_init__(self) -> None:
        one_of("mode", self.mode, ("max", "min"))

    def better(self, value: float, than: float) -> bool:
        """Returns whether a value beats another."""
        return value > than if self.mode == "max" else value < than


class Checkpoint(keras.callbacks.Callback):
    """Saves the whole training state after each epoch, the log and the best weights.

    The state is in `path`, the logs of all epochs in `log.csv` beside it, and the best
    weights of `backbone` in `best_path`. A resumed run must share `identity`; `plan`
    (epochs, backend, commit) may change: each one that was followed is saved. The
    `state()` of each of `stateful` is saved, and restored by its `resume(state)`.
    """

    def __init__(
        self,
        path: str | Path,
        best_path: str | Path,
        backbone: Any,
        monitor: Monitor = Monitor(),  # noqa: B008 (frozen)
        identity: Any = (),
        plan: Any = (),
        stateful: Any = (),
    ):
        super().__init__()
        self.path, self.best_path = Path(path), Path(best_path)
        self.backbone, self.monitor = backbone, monitor
        self.identity, self.stateful = dict(identity), dict(stateful)
        self.writes = True  # of several processes, one writes
        self.best = math.inf if monitor.mode == "min" else -math.inf
        self.best_epoch = -1
        self.epochs, self.seconds = 0, 0.0  # completed
        self.log: list[dict[str, Any]] = []  # of each epoch
        self.generator: list[list[int]] | None = None
        self.plan: list[Any] = list(plan)
        self.plans: list[list[Any]] = []

    def resume(self) -> dict[str, Any]:
        """Restores the model and itself from the file, whose state it returns."""
        state = load_state(self.path, self.model, {"format": FORMAT, **self.identity})
        if state["best_epoch"] >= 0:
            self.load_best()  # now, since it may be damaged
            load_state(self.path, self.model)
        vars(self).update({name: state[name] for name in _RECORD})
        self.epochs = state["epoch"]
        for name, part in self.stateful.items():
            part.resume(state["stateful"][name])
        return state

    def clean_up(self) -> None:
        """Removes what a killed run left behind."""
        for path in (self.path, self.best_path):
            Path(part_of(path)).unlink(missing_ok=True)
        self._write_log()

    def load_best(self) -> None:
        """Loads the best weights into the backbone."""
        try:
            self.backbone.load_weights(self.best_path)
        # What is raised depends on the damage: OSError, KeyError, RuntimeError, …
        except Exception as error:
            raise CheckpointError(
                f"{self.best_path}, the weights of the best epoch so far, can't be "
                "read: put it back, or start afresh in an empty folder. "
                f"Received: {error}"
            ) from error

    @property
    def stop_reason(self) -> str:
        """Why the completed epochs are enough; "" if they aren't."""
        monitor, waited = self.monitor, self.epochs - 1 - self.best_epoch
        if monitor.goal is not None and not monitor.better(monitor.goal, self.best):
            return f"{monitor.name} {self.best:g}"
        if monitor.patience is not None and waited >= monitor.patience:
            return f"no better {monitor.name} for {counted(waited, 'epoch')}"
        return ""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Restores the random generators, after `fit`'s own first call of the model."""
        set_generator(self.generator)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Saves, and stops training where the monitor says so."""
        logs = logs or {}
        self.seconds += logs.get("seconds", 0.0)
        self.epochs = epoch + 1
        # As it is when it is read.
        row = json.dumps({"epoch": epoch, **dict(sorted(logs.items()))}, default=float)
        self.log.append(json.loads(row))
        if self.monitor.better(logs[self.monitor.name], self.best):
            self.best, self.best_epoch = logs[self.monitor.name], epoch
            atomic_write(self.best_path, self.backbone.save_weights)
        self.save(epoch + 1)
        self._write_log()
        if reason := self.stop_reason:
            print(f"{reason}: stopped", file=sys.stderr)
            self.model.stop_training = True

    def save(self, epoch: int, step: int = 0, **within: Any) -> None:
        """Saves the state after `epoch` epochs and `step` batches of the next one.

        `within` has what is needed to resume within an epoch.
        """
        if not self.writes:
            return
        if (epoch or step) and self.plan not in self.plans[-1:]:
            self.plans.append(self.plan)
        self.generator = get_generator()
        state = {
            **self.identity,
            **{name: getattr(self, name) for name in _RECORD},
            "epoch": epoch,
            "step": step,
            "format": FORMAT,
            "stateful": {name: part.state() for name, part in self.stateful.items()},
            **within,
        }
        save_state(self.path, self.model, state)

    def _write_log(self):
        """Writes the log of all epochs anew."""
        text = io.StringIO()
        writer = csv.DictWriter(text, dict.fromkeys(itertools.chain(*self.log)))
        if self.log:
            writer.writeheader()
        writer.writerows(self.log)
        write_bytes(self.path.with_name("log.csv"), text.getvalue().encode())
