"""Keras's `fit`, from one checkpoint to the next."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.files import part_of
from zoo.training import interrupts
from zoo.training.batches.dataset import as_dataset
from zoo.training.callbacks import Checkpoint, EpochOrder, Progress, StepCallbacks
from zoo.training.checkpoint import (
    check_weights,
    load_state,
    trim_log,
    trim_samples,
)
from zoo.training.distribute import Distribution
from zoo.training.epoch_guard import EpochGuard, NotFiniteError
from zoo.training.fast.updates import Statistics, read_statistics


class Loop:
    """Trains to the last epoch, resuming from the last checkpoint if there is one.

    A run that is killed at any moment and started again reaches the same losses and
    weights as one that was not, bit for bit, on the same backend and machine. A loss
    that is not finite, or 100,000 times the first, ends the run; the last checkpoint
    stays.

    Args:
        model: the compiled task, its optimizer built.
        batches: the `PairBatches` or `ArrayBatches` to train on.
        checkpoint: a new `Checkpoint`, which resumes from its file if there is one.
            `log.csv` and `samples.jsonl` are in the same folder.
        epochs: passes over the data.
        distribution: a `zoo.training.distribute.Distribution`; one device by default.
            Only process 0 writes and calls the callbacks given to `run`.

    Attributes:
        state: the last checkpoint's, {} if there is none.

    Raises:
        CheckpointError: if the folder holds the checkpoint of another run, or damaged
            files of this one.
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
        self.log = checkpoint.path.parent / "log.csv"
        self.samples = checkpoint.path.parent / "samples.jsonl"
        checkpoint.writes = self.distribution.main
        checkpoint.set_model(model)
        self.state: dict[str, Any] = {}
        self._resume(first=True)
        if self.distribution.main:
            self._clean_up()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to train."""
        state, monitor = self.state, self.checkpoint.monitor
        if not state:
            return False
        # Not the saved `stopped`: with more patience, a run that stopped early resumes.
        stopped = monitor.exhausted(state["epoch"] - 1 - state["best_epoch"])
        reached = monitor.reached(self.checkpoint.best)
        return state["epoch"] >= self.epochs or stopped or reached

    def run(self, callbacks: Iterable[Any]) -> None:
        """Trains.

        Args:
            callbacks: Keras callbacks, called at the end of an epoch; they may add to
                its logs, which must hold what the checkpoint monitors.

        Raises:
            FloatingPointError: if the loss or the weights are not finite.
            Interrupted: after SIGINT or SIGTERM within `interrupts.catching`; the state
                has been saved.
            OSError: if a file can't be written; earlier files stay as they were.
        """
        if not self.state:  # a bad loss in the first epoch needs one, too
            self.checkpoint.save(epoch=0)
            self._resume()
        while not self.done:
            try:
                self._fit(callbacks)
            except NotFiniteError as error:
                interrupts.release()
                raise FloatingPointError(self._explain(error)) from error
            self._resume()

    def _clean_up(self):
        """Removes what a killed run left behind."""
        checkpoint = self.checkpoint
        if checkpoint.best_epoch >= 0:
            check_weights(checkpoint.best_path)
        for path in (checkpoint.path, checkpoint.best_path, self.log, self.samples):
            Path(part_of(path)).unlink(missing_ok=True)
        trim_log(self.log, checkpoint.epochs)
        trim_samples(self.samples, checkpoint.epochs)

    def _resume(self, first=False):
        checkpoint = self.checkpoint
        self.distribution.wait()  # until process 0 has written it
        if not first or checkpoint.path.exists():
            self.state = load_state(checkpoint.path, self.model, checkpoint.identity)
            checkpoint.resume(self.state)
        place = [self.state.get(name) for name in ("epoch", "step")]
        self.distribution.agree("epoch and step of the checkpoint", place)

    def _fit(self, callbacks):
        """Trains to the end of a resumed epoch, or else to the last epoch."""
        epoch, start = self.state["epoch"], self.state["step"]
        self.batches.set_epoch(epoch)
        steps = len(self.batches) - start
        progress = Progress(
            self.batches,
            seconds=5.0 if self.distribution.main else math.inf,
            earlier=self.state.get("epoch_seconds", 0.0),
            epochs=self.epochs,
        )
        guard = EpochGuard(
            self.checkpoint,
            progress,
            resumed=self.state,
            several=self.distribution.processes > 1,
        )
        order = EpochOrder(self.batches, start)
        callbacks = StepCallbacks(
            self.distribution.callbacks(
                [order, progress, Statistics(), guard] if steps else [],
                [*callbacks, self.checkpoint],
                self.batches,
            ),
            add_history=True,
            model=self.model,
            epochs=self.epochs,
        )
        if not steps:  # the epoch is trained, but not yet validated
            callbacks.on_train_begin()
            callbacks.on_epoch_end(epoch, self.state["logs"])
            callbacks.on_train_end()
            return
        # On several devices, Keras distributes the batches itself.
        alone = self.distribution.devices == 1
        self.model.fit(
            as_dataset(self.batches, steps) if alone else self.batches,
            # `fit` counts the batches before `EpochOrder` drops those already done.
            steps_per_epoch=steps if start else None,
            epochs=epoch + 1 if start else self.epochs,
            initial_epoch=epoch,
            shuffle=False,
            verbose=0,
            callbacks=callbacks,
        )

    def _explain(self, error):
        """Describes a loss that is not finite."""
        found = read_statistics(self.model.optimizer, reset=False)
        numbers = ", ".join(f"{k.replace('_', ' ')} {v:g}" for k, v in found.items())
        told = f" Of this epoch: {numbers}." if found else ""
        return (
            f"{error}.{told} Training stops, and the last checkpoint is as it was. A "
            "lower learning rate may help, or clipping at a smaller norm"
        )
