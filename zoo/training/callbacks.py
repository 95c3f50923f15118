"""Keras callbacks: data order, progress and checkpoints."""

import contextlib
import dataclasses
import math
import sys
import time
from pathlib import Path
from typing import Any

import keras

from zoo.checks import one_of
from zoo.files import atomic_write
from zoo.strings import counted, duration
from zoo.training.checkpoint import (
    CheckpointError,
    get_generator,
    save_state,
    set_generator,
)
from zoo.training.fast.process import start_tensorflow
from zoo.training.fast.updates import averaged_weights

Logs = dict[str, Any] | None
_ENOUGH_STEPS = 10  # without compilation, from which to tell how long the rest takes


class StepCallbacks(keras.callbacks.CallbackList):
    """Passes a step's logs on as device arrays.

    Keras turns them into floats first, which makes each step wait for the device.
    """

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Calls the callbacks."""
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


class TensorBoard(keras.callbacks.TensorBoard):
    """Keras's callback, writing epochs only.

    Reading the loss of each step would make it wait for the device. TensorFlow is
    imported when training begins, without its start-up messages.
    """

    def set_model(self, model: Any) -> None:
        """Imports TensorFlow, which writes the logs."""
        start_tensorflow()
        super().set_model(model)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Writes nothing."""


class EpochOrder(keras.callbacks.Callback):
    """Puts batches into the order of each epoch before it starts.

    Args:
        batches: a `PairBatches`, or other batches with its `set_epoch`.
        start: the first batch of the first epoch; see `PairBatches.set_epoch`.
    """

    def __init__(self, batches: Any, start: int = 0):
        super().__init__()
        self.batches, self.start = batches, start

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Sets the order."""
        self.batches.set_epoch(epoch, self.start)
        self.start = 0


def epoch_line(
    epoch: int, epochs: int | None, logs: dict[str, Any], scores: dict[str, float]
) -> str:
    """Formats the line shown after an epoch; log.csv has all its logs.

    Args:
        epoch: the epoch, from 0.
        epochs: how many there are; None if unknown.
        logs: the epoch's logs.
        scores: validation scores by the names to show.

    Example:
        >>> epoch_line(0, 3, {"loss": 2.29}, {"BLEU": 38.7})
        'epoch 1/3  loss 2.29  BLEU 38.7'
    """
    parts = [f"epoch {epoch + 1}" + (f"/{epochs}" if epochs else "")]
    if "loss" in logs:
        parts.append(f"loss {logs['loss']:.4g}")
    parts += [f"{name} {value:.4g}" for name, value in scores.items()]
    return "  ".join(parts)


class Progress(keras.callbacks.Callback):
    """Progress on standard error: epoch, step, loss, target tokens per second.

    Adds `seconds` and `tokens_per_second` to an epoch's logs: real target tokens (for
    other batches, their `unit`), with compilation included in the time. The time left
    is told without it, by the steps since the last batch of a new shape.

    Args:
        batches: the batches trained on.
        seconds: minimum time between two lines.
        earlier: seconds spent on the first epoch before it was resumed.
        epochs: how many there are; those of this `fit` by default.
    """

    def __init__(
        self,
        batches: Any,
        seconds: float = 5.0,
        earlier: float = 0.0,
        epochs: int | None = None,
    ):
        super().__init__()
        self.batches, self.seconds, self.earlier = batches, seconds, earlier
        self.epochs = epochs
        self._shapes: set[Any] = set()  # compiled so far
        self._pace = math.inf  # seconds of a step
        self._pauses: list[float] = []  # seconds between epochs
        self._ended: float | None = None  # when the last epoch did

    def on_train_begin(self, logs: Logs = None) -> None:
        """Tells why the first steps are slow."""
        if keras.backend.backend() != "torch":
            self._write("compiling: the first step of each batch shape takes longer")

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Starts the clock."""
        self.epoch, self.begun, self.shown = epoch, time.monotonic(), 0.0
        self._pauses += [self.begun - self._ended] if self._ended else []
        self._since = 0, self.begun  # steps and time since which none was compiled
        self._order = getattr(self.batches, "shapes", None)
        self.begun -= self.earlier
        self.earlier = 0.0

    def elapsed(self) -> float:
        """Returns the seconds of the epoch so far."""
        return time.monotonic() - self.begun

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Shows a line if the last one is old enough."""
        shape = self._order[batch] if self._order else None
        loss = (logs or {}).get("loss", math.nan)
        if shape not in self._shapes:
            self._shapes.add(shape)
            loss = float(loss)  # waits for the device
            self._since = batch + 1, time.monotonic()
        now = time.monotonic()
        if now - self.shown < self.seconds:
            return
        self.shown = now
        step = self.batches.start + batch + 1
        total = self.batches.start + len(self.batches)
        rate = self.batches.tokens * step / total / (now - self.begun)
        loss = float(loss)
        self._measure(batch + 1)
        epochs = self.epochs or self.params.get("epochs")
        self._write(
            f"epoch {self.epoch + 1}/{epochs or '?'}  step {step}/{total}  "
            f"loss {loss:.4f}  {rate:,.0f} {self.batches.unit}/s"
            f"{self._left(step, total, epochs)}"
        )

    def _measure(self, steps):
        """Measures the pace since the last batch of a new shape, or the last line."""
        before, since = self._since
        if steps - before >= min(_ENOUGH_STEPS, len(self.batches)):
            now = time.monotonic()
            pace, self._since = (now - since) / (steps - before), (steps, now)
            if self._pace < math.inf:
                pace = (3 * self._pace + pace) / 4  # other processes make it vary
            self._pace = pace

    def _left(self, step, total, epochs):
        """The time that all epochs will take yet, in words; "" if it isn't known."""
        if not epochs or self._pace == math.inf:
            return ""
        more = epochs - self.epoch - 1
        left = self._pace * (more * total + total - step)
        left += more * min(self._pauses, default=0.0)  # the first may compile a search
        return f"  about {duration(left)} left"

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Adds the time and the speed to the logs."""
        self._measure(len(self.batches))
        self._ended = time.monotonic()
        seconds = self.elapsed()
        if logs is not None:
            logs["tokens_per_second"] = round(self.batches.tokens / seconds, 1)
            logs["seconds"] = round(seconds, 1)

    def _write(self, line):
        terminal = sys.stderr.isatty()  # overwrites the same line there
        with contextlib.suppress(OSError):
            print(
                f"{line:<78}" if terminal else line,
                end="\r" if terminal else "\n",
                file=sys.stderr,
                flush=True,
            )


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
        >>> monitor = Monitor("val_accuracy", "max", patience=2)
        >>> monitor.better(0.9, than=0.8), monitor.exhausted(epochs=1)
        (True, False)
    """

    name: str = "val_bleu"
    mode: str = "max"
    patience: int | None = None
    goal: float | None = None

    def __post_init__(self) -> None:
        one_of("mode", self.mode, ("max", "min"))

    @property
    def worst(self) -> float:
        """A value that every other beats."""
        return -math.inf if self.mode == "max" else math.inf

    def better(self, value: float, than: float) -> bool:
        """Returns whether a value beats another."""
        return value > than if self.mode == "max" else value < than

    def exhausted(self, epochs: int) -> bool:
        """Returns whether that many epochs without a new best are enough to stop."""
        return self.patience is not None and epochs >= self.patience

    def reached(self, best: float) -> bool:
        """Returns whether the best value meets the goal."""
        return self.goal is not None and not self.better(self.goal, best)


class Checkpoint(keras.callbacks.Callback):
    """Saves the whole training state after each epoch, and the best weights.

    Args:
        path: file of the state, `.npz`; see `zoo.training.save_state`.
        best_path: file of the best weights, `.weights.h5`.
        backbone: the model whose weights are kept.
        monitor: a `Monitor`.
        identity: dict that a resumed run must share; saved with the state.
        plan: list of what may change when a run is resumed (number of epochs, backend,
            commit); saved with the epoch from which it applies.
        stateful: dict of name to an object, usually a callback, whose `state()` goes
            into every saved state and is restored by its `resume(state)`.
        minutes: time between two saves within an epoch; None for no such saves.
        steps: steps between two saves within an epoch; None for no such saves.
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
        minutes: float | None = 10.0,
        steps: int | None = None,
    ):
        super().__init__()
        self.path, self.best_path = Path(path), Path(best_path)
        self.backbone, self.monitor, self.identity = backbone, monitor, dict(identity)
        self.stateful, self.minutes, self.steps = dict(stateful), minutes, steps
        self.writes = True  # of several processes, one writes
        self.best, self.best_epoch = monitor.worst, -1
        self.epochs, self.seconds = 0, 0.0  # completed
        self.generator: list[str] | None = None
        self.plan: list[Any] = list(plan)
        self.plans: list[list[Any]] = []  # with the first epoch of each, in front

    def resume(self, state: dict[str, Any]) -> None:
        """Restores a state that `save` wrote."""
        self.best, self.best_epoch = state["best"], state["best_epoch"]
        self.epochs, self.seconds = state["epoch"], state["seconds"]
        self.generator = state["generator"]
        self.plans = [list(entry) for entry in state["plans"]]
        if (names := set(state["stateful"])) != set(self.stateful):
            raise CheckpointError(
                f"The checkpoint {self.path} belongs to a run with other callbacks. "
                f"Expected {sorted(self.stateful)}. Received: {sorted(names)}"
            )
        for name, part in self.stateful.items():
            part.resume(state["stateful"][name])

    def on_train_begin(self, logs: Logs = None) -> None:
        """Restores the random generators, after `fit`'s own first call of the model."""
        set_generator(self.generator)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Saves, and stops training where the monitor says so."""
        logs, monitor = logs or {}, self.monitor
        self.seconds += logs.get("seconds", 0.0)
        self.epochs = epoch + 1
        if monitor.better(logs[monitor.name], self.best):
            self.best, self.best_epoch = logs[monitor.name], epoch
            with averaged_weights(self.model):
                atomic_write(self.best_path, self.backbone.save_weights)
        reason = ""
        if monitor.reached(self.best):
            reason = f"{monitor.name} {self.best:g}"
        elif monitor.exhausted(epoch - self.best_epoch):
            without = counted(epoch - self.best_epoch, "epoch")
            reason = f"no better {monitor.name} for {without}"
        self._note_plan(epoch)
        self.save(epoch + 1, stopped=bool(reason))
        if reason:
            print(f"{reason}: stopped", file=sys.stderr)
            self.model.stop_training = True

    def save(
        self, epoch: int, step: int = 0, stopped: bool = False, **within: Any
    ) -> None:
        """Saves the state.

        Args:
            epoch: completed epochs.
            step: completed batches of the next epoch.
            stopped: whether training ended before its last epoch.
            **within: further entries, needed to resume within an epoch.
        """
        if not self.writes:
            return
        if step:
            self._note_plan(epoch)
        state = {
            **self.identity,
            "epoch": epoch,
            "step": step,
            "best": self.best,
            "best_epoch": self.best_epoch,
            "seconds": self.seconds,
            "plans": self.plans,
            "generator": get_generator(),
            "stopped": stopped,
            "stateful": {name: part.state() for name, part in self.stateful.items()},
            **within,
        }
        save_state(self.path, self.model, state)

    def _note_plan(self, epoch):
        if not self.plans or self.plans[-1][1:] != self.plan:
            self.plans.append([epoch, *self.plan])
