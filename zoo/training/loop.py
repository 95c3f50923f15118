"""Keras's `fit`, from one checkpoint to the next."""

import contextlib
import math
import os

import numpy as np
from keras import ops

from zoo.files import part_of
from zoo.training import interrupts
from zoo.training.callbacks import EpochOrder, Progress, StepCallbacks
from zoo.training.checkpoint import (
    check_weights,
    load_state,
    trim_log,
    trim_samples,
)
from zoo.training.dataset import as_dataset
from zoo.training.distribute import Distribution
from zoo.training.epoch_guard import EpochGuard, NotFiniteError
from zoo.training.gradients import gradient_norm
from zoo.training.updates import Statistics


class Loop:
    """Trains to the last epoch, from the last checkpoint in a folder if there is one.

    A run that is killed at any moment and started again has the losses and the weights
    of one that was not, bit for bit, on the same backend and machine. A loss that is
    not finite, or that is 100,000 times the first, ends it; the last checkpoint stays.

    Args:
        model: the compiled task, its optimizer built.
        batches: the `PairBatches` or `ArrayBatches` to train on.
        checkpoint: a new `Checkpoint`, which goes on from what its file holds. The
            folder of that file has `log.csv` and `samples.jsonl`, too.
        epochs: passes over the data.
        distribution: a `zoo.training.distribute.Distribution`; one device by default.
            Process 0 alone writes and calls `watching`.
        minutes, steps: see `EpochGuard`.

    Attributes:
        state: the last checkpoint's, {} if there is none.

    Raises:
        CheckpointError: if the folder holds the checkpoint of another run, or damaged
            files of this one.
    """

    def __init__(
        self,
        model,
        batches,
        checkpoint,
        epochs,
        distribution=None,
        minutes=10.0,
        steps=None,
    ):
        self.model, self.batches, self.epochs = model, batches, epochs
        self.checkpoint, self.distribution = checkpoint, distribution or Distribution()
        self.intervals = {"minutes": minutes, "steps": steps}
        folder = os.path.dirname(checkpoint.path)
        self.log, self.samples = (
            os.path.join(folder, name) for name in ("log.csv", "samples.jsonl")
        )
        checkpoint.set_model(model)
        self.state = {}
        self._resume(first=True)
        if self.distribution.main:
            self._tidy()

    @property
    def done(self):
        """Whether there is nothing left to train."""
        state, checkpoint = self.state, self.checkpoint
        if not state:
            return False
        # Not as it was saved: a run that stopped early goes on with more patience.
        waited = state["epoch"] - 1 - state["best_epoch"]
        stopped = checkpoint.patience is not None and waited >= checkpoint.patience
        return state["epoch"] >= self.epochs or stopped or checkpoint.reached

    def run(self, watching):
        """Trains.

        Args:
            watching: callbacks for the end of an epoch; they may add to its logs, which
                must hold what the checkpoint monitors.

        Raises:
            FloatingPointError: if the loss or the weights are not finite.
            Interrupted: after SIGINT or SIGTERM, where `interrupts.catching` is on; the
                state has been saved.
            OSError: if a file can't be written; those of before stay.
        """
        if not self.state:  # so that there is one from the start
            self.checkpoint.save(epoch=0)
            self._resume()
        while not self.done:
            try:
                self._fit(watching)
            except NotFiniteError as error:
                interrupts.release()
                raise FloatingPointError(self._explained(error)) from error
            self._resume()

    def _tidy(self):
        """Removes what a run left that was killed."""
        checkpoint = self.checkpoint
        if checkpoint.best_epoch >= 0:
            check_weights(checkpoint.best_path)
        for path in (checkpoint.path, checkpoint.best_path, self.log, self.samples):
            with contextlib.suppress(FileNotFoundError):
                os.remove(part_of(path))
        trim_log(self.log, checkpoint.epochs)
        trim_samples(self.samples, checkpoint.epochs)

    def _resume(self, first=False):
        checkpoint = self.checkpoint
        self.distribution.wait()  # until it has been written
        if not first or os.path.exists(checkpoint.path):
            self.state = load_state(checkpoint.path, self.model, checkpoint.identity)
            checkpoint.resume(self.state)
        place = [self.state.get(name) for name in ("epoch", "step")]
        self.distribution.agree("epoch and step of the checkpoint", place)

    def _fit(self, watching):
        """To the end of the state's epoch if that has begun, else of the last."""
        epoch, start = self.state["epoch"], self.state["step"]
        self.batches.set_epoch(epoch)
        steps = len(self.batches) - start
        progress = Progress(
            self.batches,
            seconds=5.0 if self.distribution.main else math.inf,
            earlier=self.state.get("epoch_seconds", 0.0),
        )
        guard = EpochGuard(
            self.checkpoint,
            progress,
            self.batches,
            resumed=self.state,
            distribution=self.distribution,
            **self.intervals,
        )
        order = EpochOrder(self.batches, start)
        callbacks = StepCallbacks(
            self.distribution.callbacks(
                [order, progress, Statistics(), guard] if steps else [],
                [*watching, self.checkpoint],
                self.batches,
            ),
            add_history=True,
            model=self.model,
            epochs=self.epochs,
        )
        if not steps:  # the epoch has been trained, and was to be watched
            callbacks.on_train_begin()
            callbacks.on_epoch_end(epoch, self.state["logs"])
            callbacks.on_train_end()
            return
        # Several devices share out what Keras makes of the batches itself.
        alone = self.distribution.devices == 1
        self.model.fit(
            as_dataset(self.batches, steps) if alone else self.batches,
            # `fit` counts and samples the batches before they are put into the order of
            # their epoch, so that the part of one has to be told.
            steps_per_epoch=steps if start else None,
            epochs=epoch + 1 if start else self.epochs,
            initial_epoch=epoch,
            shuffle=False,
            verbose=0,
            callbacks=callbacks,
        )

    def _explained(self, error):
        """Describes a loss that is not finite."""
        if self.distribution.processes > 1:  # they may not all have seen it
            return (
                f"{error}. Training stops in all processes, and the last checkpoint is "
                "as it was. A lower learning rate may help"
            )
        state = load_state(self.checkpoint.path, self.model, self.checkpoint.identity)
        ahead = error.step - (state["step"] if state["epoch"] == error.epoch else 0)
        rate = _rate_after(self.model.optimizer, ahead)
        # A gradient that is not finite spoils the loss of the batch that follows.
        before = [error.step - 1] if error.step > self.batches.start else []
        norms = {
            step: gradient_norm(self.model, self.batches[step - self.batches.start])
            for step in (*before, error.step)
        }
        norms = ", ".join(
            f"{norm:g} at step {step + 1}" for step, norm in norms.items()
        )
        return (
            f"{error}. The learning rate was {rate:g}; the gradient norm is {norms}, "
            "with the weights of the last checkpoint (epoch "
            f"{state['epoch'] + 1}, step {state['step']}). Training stops, and that "
            "checkpoint is as it was. A lower learning rate may help, or clipping at a "
            "smaller norm"
        )


def _rate_after(optimizer, steps):
    """The learning rate that the optimizer will have after so many steps."""
    # Not its `iterations`: where gradients accumulate that is no variable.
    counters = [v for v in optimizer.variables if v.name == "iteration"]
    now = [np.array(ops.convert_to_numpy(counter.value)) for counter in counters]
    for counter, value in zip(counters, now, strict=True):
        counter.assign(value + steps)
    rate = float(ops.convert_to_numpy(optimizer.learning_rate))
    for counter, value in zip(counters, now, strict=True):
        counter.assign(value)
    return rate
