"""Keras's `fit`, from one checkpoint to the next."""

import contextlib
import math
import os
import sys

import numpy as np
from keras import ops

from zoo.files import part_of
from zoo.training import interrupts
from zoo.training.callbacks import (
    BETTER,
    Checkpoint,
    EpochOrder,
    Progress,
    StepCallbacks,
)
from zoo.training.checkpoint import (
    change_state,
    check_weights,
    load_state,
    save_state,
    set_metrics,
    trim_log,
    trim_samples,
)
from zoo.training.distribute import Distribution
from zoo.training.feeding import feed
from zoo.training.gradients import gradient_norm
from zoo.training.safeguard import NotFiniteError, Safeguard
from zoo.training.updates import Statistics


class Loop:
    """Trains to the last epoch, from the last checkpoint in a folder if there is one.

    A run that is killed at any moment and started again has the losses and the weights
    of one that was not, bit for bit, on the same backend and machine. A loss that is
    not finite, or that is 100,000 times the first, makes it go back to the last
    checkpoint, once in a run, and go on without the batch that gave it (as Chowdhery et
    al. 2022, section 5.1, did with the batches around a spike); the second such loss
    ends it.

    Args:
        model: the compiled task, its optimizer built.
        backbone: whose best weights are kept.
        batches: the `PairBatches` or `ArrayBatches` to train on.
        output: folder of `checkpoint.npz`, `best.weights.h5`, `log.csv` and
            `samples.jsonl`.
        epochs: passes over the data.
        identity: see `Checkpoint`; so are `plan`, `patience`, `monitor`, `mode`
            and `goal`.
        minutes, steps: see `Safeguard`.
        say: function that shows a text.
        distribution: a `zoo.training.distribute.Distribution`; one device by default.
            Process 0 alone writes and calls `watching`. A loss that is not finite ends
            a run of several processes, which goes back when it is started again.
        stateful: dict of name to an object, usually one of the callbacks, whose
            `state()` every checkpoint holds, and which `resume(state)` puts back.

    Attributes:
        state: the last checkpoint's, {} if there is none.
        checkpoint: the `Checkpoint` that goes on from it.

    Raises:
        CheckpointError: if the folder holds the checkpoint of another run, or damaged
            files of this one.
    """

    def __init__(
        self,
        model,
        backbone,
        batches,
        output,
        epochs,
        identity=(),
        plan=(),
        patience=None,
        minutes=10.0,
        steps=None,
        say=None,
        distribution=None,
        stateful=(),
        monitor="val_bleu",
        mode="max",
        goal=None,
    ):
        self.distribution = distribution or Distribution()
        self.stateful = dict(stateful)
        self.model, self.backbone, self.batches = model, backbone, batches
        self.epochs, self.identity = epochs, dict(identity)
        self.options = {"plan": plan, "patience": patience, "identity": self.identity}
        self.options |= {"monitor": monitor, "mode": mode, "goal": goal}
        self.intervals = {"minutes": minutes, "steps": steps}
        names = ("checkpoint.npz", "best.weights.h5", "log.csv", "samples.jsonl")
        self.path, self.best_path, self.log, self.samples = (
            os.path.join(output, name) for name in names
        )
        self.say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self.state = {}
        self._resume(first=True)
        if self.distribution.main:
            self._tidy()

    @property
    def done(self):
        """Whether there is nothing left to train."""
        state, patience = self.state, self.options["patience"]
        if not state:
            return False
        # Not as it was saved: a run that stopped early goes on with more patience.
        waited = state["epoch"] - 1 - state["best_epoch"]
        stopped = patience is not None and waited >= patience
        goal, better = self.options["goal"], BETTER[self.options["mode"]]
        reached = goal is not None and not better(goal, state["best"])
        return state["epoch"] >= self.epochs or stopped or reached

    def run(self, watching):
        """Trains.

        Args:
            watching: callbacks for the end of an epoch; they may add to its logs, which
                must hold what the checkpoint monitors.

        Raises:
            FloatingPointError: if the loss is not finite for the second time.
            Interrupted: after SIGINT or SIGTERM, where `interrupts.catching` is on; the
                state has been saved.
            OSError: if a file can't be written; those of before stay.
        """
        if not self.state:  # where a first loss that is not finite goes back to
            self.checkpoint.save(epoch=0)
            self._resume()
        while not self.done:
            try:
                self._fit(watching)
            except NotFiniteError as error:
                interrupts.release()
                self._roll_back(error)
            self._resume()

    def _tidy(self):
        """Removes what a run left that was killed."""
        if self.state and self.state["best_epoch"] >= 0:
            check_weights(self.best_path)
        for path in (self.path, self.best_path, self.log, self.samples):
            with contextlib.suppress(FileNotFoundError):
                os.remove(part_of(path))
        trim_log(self.log, self.state.get("epoch", 0))
        trim_samples(self.samples, self.state.get("epoch", 0))

    def _resume(self, first=False):
        self.distribution.wait()  # until it has been written
        if not first or os.path.exists(self.path):
            self.state = load_state(self.path, self.model, self.identity)
            for name, part in self.stateful.items():
                part.resume(self.state["stateful"][name])
        place = [self.state.get(name) for name in ("epoch", "step")]
        self.distribution.agree("epoch and step of the checkpoint", place)
        self.checkpoint = Checkpoint(
            self.path,
            self.best_path,
            self.backbone,
            resumed=self.state,
            writes=self.distribution.main,
            stateful=self.stateful,
            **self.options,
        )
        self.checkpoint.set_model(self.model)

    def _fit(self, watching):
        """To the end of the state's epoch if that has begun, else of the last."""
        state = self.state
        epoch, start = state["epoch"], state["step"]
        place = state["rollback"] or [None, None]
        skip = place[1] if place[0] == epoch else None
        self.batches.set_epoch(epoch)
        steps = len(self.batches) - start - (skip is not None)
        within = start > 0 or skip is not None
        progress = Progress(
            self.batches,
            seconds=5.0 if self.distribution.main else math.inf,
            earlier=state.get("epoch_seconds", 0.0),
        )
        guard = Safeguard(
            self.checkpoint,
            progress,
            self.batches,
            resumed=state,
            distribution=self.distribution,
            **self.intervals,
        )
        order = EpochOrder(self.batches, start, skip)
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
            callbacks.on_epoch_end(epoch, state.get("logs") or self._logs_so_far())
            callbacks.on_train_end()
            return
        # Several devices share out what Keras makes of the batches itself.
        alone = self.distribution.devices == 1
        self.model.fit(
            feed(self.batches, steps) if alone else self.batches,
            # `fit` counts and samples the batches before they are put into the order of
            # their epoch, so that the part of one has to be told.
            steps_per_epoch=steps if within else None,
            epochs=epoch + 1 if within else self.epochs,
            initial_epoch=epoch,
            shuffle=False,
            verbose=0,
            callbacks=callbacks,
        )

    def _logs_so_far(self):
        """An epoch's logs, where its last batch is the one that is left out."""
        set_metrics(self.model, self.state["metrics"])
        found = self.model.get_metrics_result()
        logs = {name: float(value) for name, value in found.items()}
        return {**logs, "seconds": round(self.state["epoch_seconds"], 1)}

    def _roll_back(self, error):
        if self.distribution.processes > 1:
            # They may not all have seen it: each ends, and the others with it.
            if not self.state["rollback"] and self.distribution.main:
                # Without the model: its variables are all processes' together.
                change_state(self.path, rollback=[error.epoch, error.step])
            then = "started again, it goes back to the last checkpoint and leaves this "
            then += "batch out, once in a run"
            if self.state["rollback"]:
                then = "it left a batch out once before"
            raise FloatingPointError(
                f"{error}. Training stops in all processes; {then}"
            ) from error
        state = load_state(self.path, self.model, self.identity)
        ahead = error.step - (state["step"] if state["epoch"] == error.epoch else 0)
        rate = _rate_after(self.model.optimizer, ahead)
        # A gradient that is not finite spoils the loss of the batch that follows.
        before = [error.step - 1] if error.step > self.batches.start else []
        norms = {
            step: gradient_norm(self.model, self.batches[step - self.batches.start])
            for step in (*before, error.step)
        }
        bad = next((s for s, n in norms.items() if not math.isfinite(n)), error.step)
        told = ", ".join(f"{norm:g} at step {step + 1}" for step, norm in norms.items())
        found = (
            f"{error}. The learning rate was {rate:g}; the gradient norm is {told}, "
            f"with the weights of the last checkpoint (epoch {state['epoch'] + 1}, "
            f"step {state['step']})"
        )
        if state["rollback"]:
            place = "epoch {}, step {}".format(*(n + 1 for n in state["rollback"]))
            raise FloatingPointError(
                f"{found}. Training stops: it went back once before, from {place}. "
                "That checkpoint is as it was. A lower learning rate may help, or "
                "clipping at a smaller norm"
            )
        if len(self.batches) + self.batches.start == 1:
            raise FloatingPointError(
                f"{found}. Training stops: the epoch has no other batch to train on"
            )
        self.say(f"{found}. Back to that checkpoint; step {bad + 1} is left out")
        rollback = [error.epoch, bad]
        save_state(self.path, self.model, {**state, "rollback": rollback})


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
