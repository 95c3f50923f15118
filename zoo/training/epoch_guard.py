"""Guards a run within an epoch: saving, interrupts, finite losses."""

import math
import time

import keras

from zoo.training import interrupts
from zoo.training.checkpoint import (
    get_generator,
    get_metrics,
    set_generator,
    set_metrics,
)

# Above so many times its first loss, or 1, a run has diverged, if not yet to infinity.
LIMIT = 1e5


class NotFiniteError(FloatingPointError):
    """A loss, or weights, that are not finite, or a loss beyond `LIMIT`.

    Attributes:
        epoch: the epoch, counted from 0.
        step: the batch's place in the epoch, counted from 0.
    """

    def __init__(self, what, epoch, step):
        super().__init__(f"{what} in epoch {epoch + 1}, step {step + 1}")
        self.epoch, self.step = epoch, step


class EpochGuard(keras.callbacks.Callback):
    """Saves the state within an epoch, ends an interrupted run, finds a bad loss.

    The state is saved every so often, at the end of an epoch before its validation, and
    when the run is interrupted (see `zoo.training.interrupts`). What is trained doesn't
    depend on when. Losses are looked at every `every` steps, since the host has to
    wait for the device then; the first one that is not finite, or beyond `LIMIT`, is
    named, and no state is saved after it.

    Args:
        checkpoint: the `Checkpoint`, which saves.
        progress: the `Progress`, for the seconds of the epoch so far.
        batches: the `PairBatches` trained on.
        minutes: time between two saves; None for never.
        steps: steps between two saves; None for never.
        every: steps between two looks at the loss.
        resumed: the state that the run starts from.
        distribution: a `zoo.training.distribute.Distribution`. Several processes must
            look at the same losses, so that saves by time come with every look there.

    Raises:
        NotFiniteError: from a hook, if a loss or the weights are not finite.
        Interrupted: from a hook, after SIGINT or SIGTERM.
    """

    def __init__(
        self,
        checkpoint,
        progress,
        batches,
        minutes=10.0,
        steps=None,
        every=50,
        resumed=None,
        distribution=None,
    ):
        super().__init__()
        self.checkpoint, self.progress, self.batches = checkpoint, progress, batches
        self.minutes, self.steps, self.every = minutes, steps, every
        # Of an epoch that goes on in its middle.
        self.resumed = resumed if resumed and resumed["step"] else None
        self.bound = None  # of this run's losses
        self.several = distribution is not None and distribution.processes > 1

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.losses, self.saved = epoch, [], time.monotonic()
        if self.resumed:
            set_metrics(self.model, self.resumed["metrics"])
            self.resumed = None
        # torch's DataLoader draws a number when an epoch, or the rest of one, begins,
        # and where it ends: batches are to see none of that.
        self.generator = get_generator()
        interrupts.hold()

    def on_train_batch_begin(self, batch, logs=None):
        if not batch:
            set_generator(self.generator)

    def on_train_batch_end(self, batch, logs=None):
        step = self.batches.start + batch + 1
        self.losses.append((step - 1, logs["loss"]))
        if batch + 1 == len(self.batches):  # the epoch's end saves
            self.generator = get_generator()
        elif self._due(step) or interrupts.received():
            self._save(step, metrics=get_metrics(self.model))
            self.saved = time.monotonic()
            if interrupts.received():
                interrupts.release()
        elif len(self.losses) >= self.every:
            self._look()

    def on_epoch_end(self, epoch, logs=None):
        set_generator(self.generator)
        step = self.batches.start + len(self.batches)
        self._save(step, logs={k: v for k, v in logs.items() if _is_number(v)})
        interrupts.release()

    def _due(self, step):
        if self.steps is not None and step % self.steps == 0:
            return True
        if self.minutes is None or (self.several and len(self.losses) < self.every):
            return False
        return time.monotonic() - self.saved >= 60 * self.minutes

    def _save(self, step, **within):
        self._look()
        try:
            seconds = self.progress.elapsed()
            self.checkpoint.save(self.epoch, step, epoch_seconds=seconds, **within)
        except FloatingPointError as error:
            raise NotFiniteError(str(error), self.epoch, step - 1) from error

    def _look(self):
        """Looks at the losses since the last look.

        They are running means: once one is not finite, neither are those after it.
        (One beyond the bound may be; then the run has recovered.)
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


def _is_number(value):
    return isinstance(value, (int, float))
