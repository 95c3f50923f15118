"""Progress of a run on standard error, and callbacks that don't slow its steps."""

import contextlib
import math
import sys
import time
from typing import Any

import keras

from zoo.strings import duration

Logs = dict[str, Any] | None


class StepCallbacks(keras.callbacks.CallbackList):
    """Passes a step's logs on as device arrays.

    Keras turns them into floats first, which makes each step wait for the device.
    """

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


def epoch_line(
    epoch: int, epochs: int | None, logs: dict[str, Any], scores: dict[str, float]
) -> str:
    """Formats the line shown after an epoch: "epoch 1/3  loss 2.29  BLEU 38.7"."""
    parts = [f"epoch {epoch + 1}" + (f"/{epochs}" if epochs else "")]
    if "loss" in logs:
        parts.append(f"loss {logs['loss']:.4g}")
    parts += [f"{name} {value:.4g}" for name, value in scores.items()]
    return "  ".join(parts)


class Progress(keras.callbacks.Callback):
    """Progress on standard error: epoch, step, loss, tokens per second, time left.

    A line at most every `seconds`; the time left is that of the remaining steps at the
    pace since the last line. Adds `seconds` and `tokens_per_second` to an epoch's logs:
    real target tokens (or other batches' `unit`), with compilation included in the
    time. `earlier` seconds were spent on the first epoch before it was resumed.
    """

    def __init__(self, batches: Any, seconds: float = 5.0, earlier: float = 0.0):
        super().__init__()
        self.batches, self.seconds, self.earlier = batches, seconds, earlier

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.epoch, self.shown, self.last = epoch, 0.0, 0
        self.begun, self.earlier = time.monotonic() - self.earlier, 0.0

    def elapsed(self) -> float:
        """Returns the seconds of the epoch so far."""
        return time.monotonic() - self.begun

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        now, passed = time.monotonic(), time.monotonic() - self.shown
        if passed < self.seconds:
            return
        total, epochs = self.batches.start + len(self.batches), self.params["epochs"]
        step, left = self.batches.start + batch + 1, ""
        if batch:  # the first line is that of the first step, which may be compiled
            pace = passed / (batch - self.last)
            left = duration(pace * (total * (epochs - self.epoch) - step))
            left = f"  about {left} left"
        self.shown, self.last = now, batch
        loss = float((logs or {}).get("loss", math.nan))  # waits for the device
        rate = self.batches.tokens * step / total / self.elapsed()
        line = (
            f"epoch {self.epoch + 1}/{epochs}  step {step}/{total}  "
            f"loss {loss:.4f}  {rate:,.0f} {self.batches.unit}/s{left}"
        )
        # On a terminal, the next line takes its place.
        line = f"{line:<78}\r" if sys.stderr.isatty() else f"{line}\n"
        with contextlib.suppress(OSError):
            print(line, end="", file=sys.stderr, flush=True)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        seconds = self.elapsed()
        if logs is not None:
            logs["tokens_per_second"] = round(self.batches.tokens / seconds, 1)
            logs["seconds"] = round(seconds, 1)
