"""Progress of a run on standard error, and callbacks that don't slow its steps."""

import contextlib
import math
import sys
import time
from typing import Any

import keras

from zoo.strings import duration
from zoo.training.fast.process import start_tensorflow

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


def epoch_line(
    epoch: int, epochs: int | None, logs: dict[str, Any], scores: dict[str, float]
) -> str:
    """Formats the line shown after an epoch; log.csv has all its logs.

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
