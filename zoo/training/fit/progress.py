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


class StepCallbacks(keras.callbacks.CallbackList):
    """Passes a step's logs on as device arrays.

    Keras turns them into floats first, which makes each step wait for the device.
    """

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


class TensorBoard(keras.callbacks.TensorBoard):
    """Keras's callback, writing epochs only.

    Reading the loss of each step would make it wait for the device. TensorFlow is
    imported when training begins, without its start-up messages.
    """

    def set_model(self, model: Any) -> None:
        start_tensorflow()
        super().set_model(model)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        pass


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
    """Progress on standard error: epoch, step, loss, tokens per second, time left.

    The time left is that of the steps since the last line, and of the fastest pause
    between two epochs, in which a model is validated. Adds `seconds` and
    `tokens_per_second` to an epoch's logs: real target tokens (for other batches, their
    `unit`), with compilation included in the time.

    Args:
        batches: the batches trained on.
        seconds: minimum time between two lines.
        earlier: seconds spent on the first epoch before it was resumed.
    """

    def __init__(self, batches: Any, seconds: float = 5.0, earlier: float = 0.0):
        super().__init__()
        self.batches, self.seconds, self.earlier = batches, seconds, earlier
        self.ended, self.last = 0.0, 0  # the last epoch; the step of the last line
        self.pauses: list[float] = []  # seconds between epochs

    def on_train_begin(self, logs: Logs = None) -> None:
        """Tells why the first steps are slow."""
        if keras.backend.backend() != "torch":
            self._write("compiling: the first step of each batch shape takes longer")

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.epoch, self.begun, self.shown = epoch, time.monotonic(), 0.0
        self.pauses += [self.begun - self.ended] if self.ended else []
        self.begun -= self.earlier
        self.earlier = 0.0

    def elapsed(self) -> float:
        """Returns the seconds of the epoch so far."""
        return time.monotonic() - self.begun

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if time.monotonic() - self.shown < self.seconds:
            return
        step = self.batches.start + batch + 1
        total = self.batches.start + len(self.batches)
        loss = float((logs or {}).get("loss", math.nan))  # waits for the device
        rate = self.batches.tokens * step / total / self.elapsed()
        epochs, left, now = self.params.get("epochs"), "", time.monotonic()
        if batch and epochs:  # the first line is that of the first step
            more = epochs - self.epoch - 1
            steps, pause = more * total + total - step, min(self.pauses, default=0.0)
            pace = (now - self.shown) / (batch - self.last)
            seconds = pace * steps + pause * more
            left = f"  about {duration(seconds)} left"
        self.shown, self.last = now, batch
        self._write(
            f"epoch {self.epoch + 1}/{epochs or '?'}  step {step}/{total}  "
            f"loss {loss:.4f}  {rate:,.0f} {self.batches.unit}/s{left}"
        )

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        seconds, self.ended = self.elapsed(), time.monotonic()
        if logs is not None:
            logs["tokens_per_second"] = round(self.batches.tokens / seconds, 1)
            logs["seconds"] = round(seconds, 1)

    def _write(self, line):
        # On a terminal, the next line takes its place.
        line = f"{line:<78}\r" if sys.stderr.isatty() else f"{line}\n"
        with contextlib.suppress(OSError):
            print(line, end="", file=sys.stderr, flush=True)
