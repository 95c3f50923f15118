"""Keras's `fit` from one checkpoint to the next: saving, interrupts, finite losses."""

import contextlib
import math
import sys
import time
from collections.abc import Iterable
from typing import Any

import keras

from zoo.strings import duration
from zoo.training.distribute import Distribution, DistributionError
from zoo.training.fast.updates import read_statistics
from zoo.training.fit import interrupts
from zoo.training.fit.checkpoint import (
    Checkpoint,
    Logs,
    check_weights,
    get_generator,
    get_metrics,
    set_generator,
    set_metrics,
)
from zoo.training.fit.padded_batches import as_dataset

SAVE_EVERY = 600  # seconds between two saves within an epoch
READ_EVERY = 50  # steps between two reads of the losses: the host waits for the device
# A loss this many times the first (or 1) has diverged, even if it is still finite.
LIMIT = 1e5


class Loop:
    """Trains to the last epoch, resuming from the last checkpoint if there is one.

    A run that is killed at any moment and started again reaches the same losses and
    weights as one that was not, bit for bit, on the same backend and machine. A loss
    that is not finite, or 100,000 times the first, ends the run; the last checkpoint
    stays. Of several processes, only the first one writes and calls `run`'s callbacks.
    """

    def __init__(
        self,
        model: Any,
        batches: Any,
        checkpoint: Checkpoint,
        epochs: int,
        distribution: Distribution | None = None,
    ):
        self.model, self.batches, self.epochs = model, batches, epochs
        self.checkpoint, self.distribution = checkpoint, distribution or Distribution()
        checkpoint.writes = self.distribution.main
        checkpoint.set_model(model)
        self.state: dict[str, Any] = {}  # of the last checkpoint, if there is one
        self._resume()
        if self.distribution.main:
            checkpoint.clean_up()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to train."""
        checkpoint = self.checkpoint
        return checkpoint.epochs >= self.epochs or bool(checkpoint.stop_reason)

    def run(self, callbacks: Iterable[Any]) -> None:
        """Trains; raises `NotFiniteError`, or `Interrupted` once the state is saved.

        The callbacks are called at the end of an epoch; they may add to its logs, which
        must hold what the checkpoint monitors.
        """
        if not self.state:  # a bad loss in the first epoch needs one, too
            self.checkpoint.save(epoch=0)
            self._resume()
        while not self.done:
            self._fit(callbacks)
            self._resume()

    def _resume(self):
        self.distribution.wait()  # until process 0 has written it
        if self.checkpoint.path.exists():
            self.state = self.checkpoint.resume()
        place = [self.state.get(name) for name in ("epoch", "step")]
        if (expected := self.distribution.broadcast(place)) != place:
            raise DistributionError(
                "All processes must have one folder. Expected a checkpoint of epoch "
                f"and step {expected}, as in process 0. Received: {place}"
            )

    def _fit(self, callbacks):
        """Trains to the end of a resumed epoch, or else to the last epoch."""
        epoch, start = self.state["epoch"], self.state["step"]
        self.batches.set_epoch(epoch, start)
        main = self.distribution.main
        earlier = self.state.get("epoch_seconds", 0.0)
        progress = Progress(self.batches, 5.0 if main else math.inf, earlier)
        callbacks = StepCallbacks(
            [
                *(progress, EpochGuard(self, progress)),
                *([*callbacks, self.checkpoint] if main else []),
                keras.callbacks.LambdaCallback(on_epoch_end=self._end_epoch),
            ],
            add_history=True,
            model=self.model,
            epochs=self.epochs,
        )
        # On several devices, Keras distributes the batches itself.
        alone = self.distribution.devices == 1
        self.model.fit(
            as_dataset(self.batches) if alone else self.batches,
            epochs=epoch + 1 if start else self.epochs,
            initial_epoch=epoch,
            shuffle=False,
            verbose=0,
            callbacks=callbacks,
        )

    def _end_epoch(self, epoch, logs):
        """Waits for process 0's validation, and stops if it does."""
        stop = self.distribution.broadcast(bool(self.model.stop_training))
        self.model.stop_training = stop
        interrupts.release()  # the state is saved


class StepCallbacks(keras.callbacks.CallbackList):
    """Passes a step's logs on as device arrays.

    Keras turns them into floats first, which makes each step wait for the device.
    """

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


class Progress(keras.callbacks.Callback):
    """Progress on standard error: epoch, step, loss, tokens per second, time left.

    A line at most every `seconds`; the time left is that of the remaining steps at the
    pace of the epoch so far, without the first step, which may be compiled. Adds
    `seconds` and `tokens_per_second` to an epoch's logs: real target tokens (or other
    batches' `unit`), with compilation included in the time. `earlier` seconds were
    spent on the first epoch before it was resumed.
    """

    def __init__(self, batches: Any, seconds: float = 5.0, earlier: float = 0.0):
        super().__init__()
        self.batches, self.seconds, self.earlier = batches, seconds, earlier

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.epoch, self.shown, self.first = epoch, 0.0, 0.0
        self.begun, self.earlier = time.monotonic() - self.earlier, 0.0

    def elapsed(self) -> float:
        """Returns the seconds of the epoch so far."""
        return time.monotonic() - self.begun

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        now = time.monotonic()
        self.first = self.first or now
        if now - self.shown < self.seconds:
            return
        total, epochs = self.batches.start + len(self.batches), self.params["epochs"]
        step, left = self.batches.start + batch + 1, ""
        if batch:
            pace = (now - self.first) / batch
            left = duration(pace * (total * (epochs - self.epoch) - step))
            left = f"  about {left} left"
        self.shown = now
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


class NotFiniteError(FloatingPointError):
    """A loss that is not finite, or beyond `LIMIT`."""


class EpochGuard(keras.callbacks.Callback):
    """Orders an epoch's batches, saves within it, ends a run, finds a bad loss.

    The state is saved every `SAVE_EVERY` seconds and when the run is interrupted.
    Losses are read every `READ_EVERY` steps only. The first one that is not finite, or
    beyond `LIMIT`, is reported, and no state is saved after it.
    """

    def __init__(self, loop: Loop, progress: Progress):
        super().__init__()
        self.batches, self.checkpoint = loop.batches, loop.checkpoint
        self.distribution, self.progress = loop.distribution, progress
        self.resumed = loop.state if loop.state["step"] else None
        self.bound: float | None = None  # for the losses of this run

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Puts the batches into their order, restores metrics, holds signals back."""
        self.epoch, self.saved = epoch, time.monotonic()
        self.losses: list[tuple[int, Any]] = []
        if self.resumed:
            set_metrics(self.model, self.resumed["metrics"])
            self.resumed = None
        else:
            self.batches.set_epoch(epoch)
        # torch's DataLoader draws a number where an epoch, or the rest of one, begins
        # and ends. Training must not depend on it.
        self.generator = get_generator()
        interrupts.hold()

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Restores the random generators before the first batch."""
        if not batch:
            set_generator(self.generator)
        if self.distribution.processes > 1:
            step = self.batches.start + batch
            self.distribution.seed(self.batches.seed or 0, self.epoch, step)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Saves, or reads the losses, if either is due."""
        step = self.batches.start + batch + 1
        self.losses.append((step, (logs or {})["loss"]))
        if batch + 1 == len(self.batches):  # saved once it is validated
            self._check_losses()  # while the epoch's statistics are there
            self.generator = get_generator()
        elif self._due(step) or interrupts.received():
            self._save(step)
            if interrupts.received():
                interrupts.release()
        elif len(self.losses) >= READ_EVERY:
            self._check_losses()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Checks the weights, adds the optimizer's statistics to the logs."""
        check_weights(self.model)  # before the best ones may be replaced
        set_generator(self.generator)
        logs = {} if logs is None else logs
        statistics = read_statistics(self.model.optimizer)
        logs |= {name: float(f"{value:.6g}") for name, value in statistics.items()}

    def _due(self, step):
        return time.monotonic() >= self.saved + SAVE_EVERY

    def _save(self, step):
        self._check_losses()
        self.checkpoint.save(
            self.epoch,
            step,
            epoch_seconds=self.progress.elapsed(),
            metrics=get_metrics(self.model),
        )
        self.saved = time.monotonic()

    def _check_losses(self):
        """Reads the losses since the last check: running means, so NaN in one stays.

        (A loss beyond the bound may come back; then the run has recovered.)
        """
        losses, self.losses = self.losses, []
        if losses and self.bound is None:
            self.bound = LIMIT * max(1.0, abs(float(losses[0][1])))
        if losses and not self._sound(losses[-1][1]):
            step, loss = next((s, v) for s, v in losses if not self._sound(v))
            found = read_statistics(self.model.optimizer, reset=False).items()
            numbers = ", ".join(f"{k.replace('_', ' ')} {v:g}" for k, v in found)
            told = f" Of this epoch: {numbers}." if numbers else ""
            raise NotFiniteError(
                f"The loss is {float(loss):g} in epoch {self.epoch + 1}, step {step}."
                f"{told} Training stops, and the last checkpoint is as it was. A lower "
                "learning rate may help, or clipping at a smaller norm"
            )

    def _sound(self, loss):
        return abs(float(loss)) <= self.bound  # NaN isn't
