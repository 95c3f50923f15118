"""Keras callbacks: data order, progress, validation and checkpoints."""

import contextlib
import math
import operator
import sys
import time

import keras

from zoo.files import write_aside
from zoo.training.checkpoint import (
    CheckpointError,
    get_generator,
    save_state,
    set_generator,
)
from zoo.training.process import start_tensorflow
from zoo.training.updates import averaged_weights


class StepCallbacks(keras.callbacks.CallbackList):
    """Hands a step's logs to the callbacks as they are: arrays of the device.

    Keras turns them into floats first, and so waits for the device after each step.
    """

    def on_train_batch_end(self, batch, logs=None):
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


class TensorBoard(keras.callbacks.TensorBoard):
    """Keras's, for epochs alone: it would look at each step's loss, and so wait for the
    device. TensorFlow is imported when training begins, quietly."""

    def set_model(self, model):
        start_tensorflow()
        super().set_model(model)

    def on_train_batch_end(self, batch, logs=None):
        pass


class EpochOrder(keras.callbacks.Callback):
    """Puts a `PairBatches` into the order of each epoch before it starts.

    Args:
        batches: the `PairBatches`.
        start: see `PairBatches.set_epoch`; for the first epoch that comes.
    """

    def __init__(self, batches, start=0):
        super().__init__()
        self.batches, self.start = batches, start

    def on_epoch_begin(self, epoch, logs=None):
        self.batches.set_epoch(epoch, self.start)
        self.start = 0


def epoch_line(epoch, epochs, logs, scores):
    """The line that is shown of an epoch; log.csv has all that is known of it.

    Args:
        epoch: int, from 0.
        epochs: int, or None where it is not known.
        logs: dict of the epoch's logs.
        scores: dict of what was found after it, by the names to show.

    Example:
        >>> logs = {"loss": 2.29, "tokens_per_second": 1722.6, "seconds": 1665.7}
        >>> epoch_line(0, 3, logs, {"BLEU": 38.7})
        'epoch 1/3  loss 2.29  BLEU 38.7  1,723 tokens/s  about 56 min left'
    """
    parts = [f"epoch {epoch + 1}" + (f"/{epochs}" if epochs else "")]
    if "loss" in logs:
        parts.append(f"loss {logs['loss']:.4g}")
    parts += [f"{name} {value:.4g}" for name, value in scores.items()]
    if "tokens_per_second" in logs:
        parts.append(f"{logs['tokens_per_second']:,.0f} tokens/s")
    left = logs.get("seconds", 0) * ((epochs or 0) - epoch - 1)
    if left > 0:
        shown = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
        parts.append(f"about {shown} left")
    return "  ".join(parts)


class Progress(keras.callbacks.Callback):
    """Progress on standard error: epoch, step, loss, target tokens per second.

    `on_epoch_end` adds `tokens_per_second` (real target tokens, compilation included;
    of other batches what their `unit` says) to the logs.

    Args:
        batches: the `PairBatches` trained on.
        seconds: least time between two lines.
        earlier: seconds of the first epoch that passed before it was resumed.
    """

    def __init__(self, batches, seconds=5.0, earlier=0.0):
        super().__init__()
        self.batches, self.seconds, self.earlier = batches, seconds, earlier
        self.compiled = False

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.begun, self.shown = epoch, time.monotonic(), 0.0
        self.begun -= self.earlier
        self.earlier = 0.0
        if not self.compiled and keras.backend.backend() != "torch":
            self._write("compiling: the first step of each shape of batch takes longer")
        self.compiled = True

    def elapsed(self):
        """Seconds of the epoch so far."""
        return time.monotonic() - self.begun

    def on_train_batch_end(self, batch, logs=None):
        now = time.monotonic()
        if now - self.shown < self.seconds:
            return
        self.shown = now
        step = self.batches.start + batch + 1
        total = self.batches.start + len(self.batches)
        rate = self.batches.tokens * step / total / (now - self.begun)
        loss = float((logs or {}).get("loss", math.nan))
        self._write(
            f"epoch {self.epoch + 1}/{self.params.get('epochs', '?')}  "
            f"step {step}/{total}  loss {loss:.4f}  {rate:,.0f} {self.batches.unit}/s"
        )

    def on_epoch_end(self, epoch, logs=None):
        seconds = self.elapsed()
        if logs is not None:
            logs["tokens_per_second"] = round(self.batches.tokens / seconds, 1)
            logs["seconds"] = round(seconds, 1)

    def _write(self, line):
        terminal = sys.stderr.isatty()  # one line there, written over again and again
        with contextlib.suppress(OSError):
            print(
                f"{line:<78}" if terminal else line,
                end="\r" if terminal else "\n",
                file=sys.stderr,
                flush=True,
            )


class Plateau(keras.callbacks.ReduceLROnPlateau):
    """Keras's `ReduceLROnPlateau`, whose count goes on from one `fit` to the next.

    The optimizer's learning rate must be a number. `Loop` keeps the count in the
    checkpoint, where the lowered rate is as well.

    Args:
        monitor: the log to watch.
        mode: "max" where higher is better, "min" where lower is.
        **options: of `ReduceLROnPlateau`: `factor`, `patience`, `min_delta`, …

    Raises:
        ValueError: when training begins with a schedule as learning rate.
    """

    COUNT = ("best", "wait", "cooldown_counter")

    def __init__(self, monitor="val_bleu", mode="max", **options):
        super().__init__(monitor=monitor, mode=mode, **options)

    def state(self):
        """The state that a resumed run needs, as JSON."""
        return {name: getattr(self, name) for name in self.COUNT}

    def resume(self, state):
        """Goes on from what `state` gave."""
        for name in self.COUNT:
            setattr(self, name, state[name])

    def on_train_begin(self, logs=None):
        optimizer = self.model.optimizer
        rate = getattr(optimizer, "inner_optimizer", optimizer).get_config()
        if not isinstance(rate["learning_rate"], float):
            raise ValueError(
                "A plateau lowers a constant learning rate. Received: the schedule "
                f"{rate['learning_rate']['class_name']}"
            )


BETTER = {"min": operator.lt, "max": operator.gt}


class Checkpoint(keras.callbacks.Callback):
    """Saves the whole training state after each epoch, and the best weights.

    Args:
        path: the state's file, `.npz`; see `zoo.training.save_state`.
        best_path: the best weights' file, `.weights.h5`.
        backbone: whose weights are kept.
        monitor: the log to watch.
        mode: "max" where higher is better, "min" where lower is.
        patience: epochs without a new best after which training stops; None for never.
        goal: what ends training once it is reached; None for nothing.
        identity: dict that a resumed run must share, saved with the state.
        plan: what the weights owe to the command rather than to the identity (the
            number of epochs, the backend, the commit); kept with the epoch at which
            it came into force.
        writes: whether `save` writes; of several processes one does.
        stateful: dict of name to an object, usually one of the callbacks, whose
            `state()` every saved state holds, and which `resume(state)` puts back.
    """

    def __init__(
        self,
        path,
        best_path,
        backbone,
        monitor="val_bleu",
        mode="max",
        patience=None,
        goal=None,
        identity=(),
        plan=(),
        writes=True,
        stateful=(),
    ):
        super().__init__()
        self.path, self.best_path, self.backbone = path, best_path, backbone
        self.writes, self.stateful = writes, dict(stateful)
        self.monitor, self.patience, self.identity = monitor, patience, dict(identity)
        self.better, self.goal = BETTER[mode], goal
        self.best, self.best_epoch = math.inf if mode == "min" else -math.inf, -1
        self.epochs, self.seconds = 0, 0.0  # that are done
        self.generator, self.plan = None, list(plan)
        # Under which plans which epochs were trained: [first epoch, *plan].
        self.plans = []

    def resume(self, state):
        """Goes on from a state that `save` wrote."""
        self.best, self.best_epoch = state["best"], state["best_epoch"]
        self.epochs, self.seconds = state["epoch"], state["seconds"]
        self.generator = state["generator"]
        self.plans = [list(entry) for entry in state["plans"]]
        if (found := set(state["stateful"])) != set(self.stateful):
            raise CheckpointError(
                f"The checkpoint {self.path} belongs to a run with other callbacks. "
                f"Expected {sorted(self.stateful)}. Received: {sorted(found)}"
            )
        for name, part in self.stateful.items():
            part.resume(state["stateful"][name])

    @property
    def reached(self):
        """Whether the best number so far is as good as the goal, if there is one."""
        return self.goal is not None and not self.better(self.goal, self.best)

    def on_train_begin(self, logs=None):
        # Not earlier: `fit` runs the model once before it starts.
        set_generator(self.generator)

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        self.seconds += logs.get("seconds", 0.0)
        self.epochs = epoch + 1
        if self.better(logs[self.monitor], self.best):
            self.best, self.best_epoch = logs[self.monitor], epoch
            with averaged_weights(self.model):
                write_aside(self.best_path, self.backbone.save_weights)
        stopped = self.patience is not None and epoch - self.best_epoch >= self.patience
        reached = self.reached
        self._note_plan(epoch)
        self.save(epoch + 1, stopped=stopped or reached)
        if reached:
            print(f"{self.monitor} {self.best:g}: stopped", file=sys.stderr)
            self.model.stop_training = True
        elif stopped:
            print(
                f"no better {self.monitor} for {self.patience} epochs: stopped",
                file=sys.stderr,
            )
            self.model.stop_training = True

    def save(self, epoch, step=0, stopped=False, **within):
        """Saves the state.

        Args:
            epoch: how many epochs are done.
            step: how many batches of the next epoch are done.
            stopped: whether training ended before its last epoch.
            **within: what a resumed epoch needs besides.
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
