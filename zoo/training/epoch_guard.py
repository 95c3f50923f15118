"""Guards a run within an epoch: saving, interrupts, finite losses."""

import math
import time
from typing import Any

import keras

from zoo.training import interrupts
from zoo.training.callbacks import Checkpoint, Logs, Progress
from zoo.training.checkpoint import (
    get_generator,
    get_metrics,
    set_generator,
    set_metrics,
)

# A loss this many times the first (or 1) has diverged, even if it is still finite.
LIMIT = 1e5


class NotFiniteError(FloatingPointError):
    """A loss or weights that are not finite, or a loss beyond `LIMIT`.

    Attributes:
        epoch: the epoch, counted from 0.
        step: the batch's place in the epoch, counted from 0.
    """

    def __init__(self, reason: str, epoch: int, step: int):
        super().__init__(f"{reason} in epoch {epoch + 1}, step {step + 1}")
        self.epoch, self.step = epoch, step


class EpochGuard(keras.callbacks.Callback):
    """Saves the state within an epoch, ends an interrupted run, finds a bad loss.

    The state is saved at the checkpoint's intervals, at the end of an epoch before its
    validation, and when the run is interrupted (see `zoo.training.interrupts`). None
    of this changes the training. Losses are read every `every` steps only, since
    reading makes the host wait for the device. The first one that is not finite, or
    beyond `LIMIT`, is reported, and no state is saved after it.

    Args:
        checkpoint: the `Checkpoint` that saves.
        progress: the `Progress` that measures the epoch.
        every: steps between two reads of the loss.
        resumed: the state that the run starts from.
        several: whether several processes train. They must read the same losses, so
            saves by time then wait for the next read.

    Raises:
        NotFiniteError: from a hook, if a loss or the weights are not finite.
        Interrupted: from a hook, after SIGINT or SIGTERM.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        progress: Progress,
        every: int = 50,
        resumed: dict[str, Any] | None = None,
        several: bool = False,
    ):
        super().__init__()
        self.checkpoint, self.progress = checkpoint, progress
        self.batches = progress.batches
        self.every, self.several = every, several
        # Needed only for an epoch that is resumed in its middle.
        self.resumed = resumed if resumed and resumed["step"] else None
        self.bound: float | None = None  # for the losses of this run

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Restores the metrics of a resumed epoch and holds signals back."""
        self.epoch, self.saved = epoch, time.monotonic()
        self.losses: list[tuple[int, Any]] = []
        if self.resumed:
            set_metrics(self.model, self.resumed["metrics"])
            self.resumed = None
        # torch's DataLoader draws a number where an epoch, or the rest of one, begins
        # and ends. Training must not depend on it.
        self.generator = get_generator()
        interrupts.hold()

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Restores the random generators before the first batch."""
        if not batch:
            set_generator(self.generator)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Saves, or reads the losses, if either is due."""
        step = self.batches.start + batch + 1
        self.losses.append((step - 1, (logs or {})["loss"]))
        if batch + 1 == len(self.batches):  # the end of the epoch saves
            self._check_losses()  # while the epoch's statistics are there
            self.generator = get_generator()
        elif self._due(step) or interrupts.received():
            self._save(step, metrics=get_metrics(self.model))
            self.saved = time.monotonic()
            if interrupts.received():
                interrupts.release()
        elif len(self.losses) >= self.every:
            self._check_losses()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Saves, then lets signals through."""
        set_generator(self.generator)
        step = self.batches.start + len(self.batches)
        numbers = {k: v for k, v in (logs or {}).items() if isinstance(v, (int, float))}
        self._save(step, logs=numbers)
        interrupts.release()

    def _due(self, step):
        minutes, steps = self.checkpoint.minutes, self.checkpoint.steps
        if steps is not None and step % steps == 0:
            return True
        if minutes is None or (self.several and len(self.losses) < self.every):
            return False
        return time.monotonic() - self.saved >= 60 * minutes

    def _save(self, step, **within):
        self._check_losses()
        try:
            seconds = self.progress.elapsed()
            self.checkpoint.save(self.epoch, step, epoch_seconds=seconds, **within)
        except FloatingPointError as error:
            raise NotFiniteError(str(error), self.epoch, step - 1) from error

    def _check_losses(self):
        """Reads the losses since the last check.

        They are running means: once one is not finite, neither are those after it. (A
        loss beyond the bound may come back; then the run has recovered.)
        """
        if self.losses and self.bound is None:
            self.bound = LIMIT * max(1.0, abs(float(self.losses[0][1])))
        if self.losses and not self._sound(self.losses[-1][1]):
            step, loss = next(
                (s, float(v)) for s, v in self.losses if not self._sound(v)
            )
            raise NotFiniteError(f"The loss is {loss:g}", self.epoch, step)
        self.losses = []

    def _sound(self, loss):
        loss = float(loss)
        return math.isfinite(loss) and abs(loss) <= self.bound
