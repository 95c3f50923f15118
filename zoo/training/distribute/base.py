"""The interface of the engines of data parallelism: that of one device, and what the
engines share."""

import contextlib
import json

import keras
import numpy as np
from keras import ops

from zoo.training.updates import averaged_weights


class DistributionError(ValueError):
    """A way to distribute that this machine, launcher or backend doesn't have."""


class Distribution:
    """One device: what every engine's class overrides.

    Attributes:
        process, processes: number of this process, from 0, and how many there are.
        devices: how many devices all processes have together.
        copies: whether decoding needs a copy of the weights on one device.
    """

    process, processes, devices, copies = 0, 1, 1, False

    @property
    def main(self):
        """Whether this process writes, prints and validates."""
        return self.process == 0

    def __str__(self):
        text = f"{self.devices} devices"
        return text + (f" in {self.processes} processes" if self.processes > 1 else "")

    def shard(self, batches):
        """Leaves this process its rows of a `PairBatches`."""
        if self.devices > 1:
            try:
                batches.shard(self.process, self.processes, self.devices)
            except ValueError as error:
                raise DistributionError(str(error)) from error

    def scope(self):
        """Context in which a model and its optimizer must be made."""
        return contextlib.nullcontext()

    def single_device(self):
        """Context for what one process does on one device, within `fit` too."""
        return contextlib.nullcontext()

    def model(self, model):
        """The model to `fit`."""
        return model

    def loss(self, loss):
        """The loss to `fit` with: that of the whole batch, given a share of it."""
        return loss

    def optimizer(self, optimizer):
        """The optimizer to `fit` with: it clips the whole batch's gradient."""
        return optimizer

    def seed(self, seed, epoch, step):
        """Sees to it that the processes' dropout differs, as does that of steps."""

    def broadcast(self, value):
        """Process 0's `value` (bytes, or what JSON can hold), in every process.

        It waits for the slowest of them.
        """
        if self.processes == 1:
            return value
        kind = b"b" if isinstance(value, bytes) else b"j"
        data = kind + (value if kind == b"b" else json.dumps(value).encode())
        data = np.frombuffer(data, "uint8") if self.main else np.zeros(0, "uint8")
        size = int(self._from_main(np.array([len(data)], "int32"))[0])
        data = self._from_main(data if self.main else np.zeros(size, "uint8"))
        data = np.asarray(data, "uint8").tobytes()
        return data[1:] if data[:1] == b"b" else json.loads(data[1:])

    def wait(self):
        """Waits for the slowest of the processes."""
        self.broadcast(None)

    def agree(self, name, value):
        """Raises where a process sees another `value` than process 0 does."""
        expected = self.broadcast(value)
        if value != expected:
            raise DistributionError(
                f"The processes differ in the {name}: give all of them one folder. "
                f"Process 0 has {expected!r}. Received: {value!r} in process "
                f"{self.process}"
            )

    def callbacks(self, everywhere, main_only, batches):
        """The callbacks of this process while it trains on `batches`; `main_only` are
        those of process 0."""
        mine = [*everywhere, *(main_only if self.main else [])]
        return [*mine, Together(self, batches)] if self.processes > 1 else mine

    def stop(self):
        """Leaves the other processes, after the slowest of them is done."""


class SingleDevice(keras.callbacks.Callback):
    """Calls another callback at the end of an epoch on one device, with the weights as
    they are then, or with their moving average where the optimizer has one.

    Args:
        distribution: a `Distribution`.
        callback: a callback that works with its `translator`.
        backbone: the one that is trained.
    """

    def __init__(self, distribution, callback, backbone):
        super().__init__()
        self.distribution, self.callback = distribution, callback
        self.backbone = backbone

    def set_params(self, params):
        super().set_params(params)
        self.callback.set_params(params)

    def on_epoch_end(self, epoch, logs=None):
        copy = self.callback.translator.backbone
        with averaged_weights(self.model), self.distribution.single_device():
            if copy is not self.backbone:
                pairs = zip(copy.weights, self.backbone.weights, strict=True)
                for mine, trained in pairs:
                    mine.assign(ops.convert_to_numpy(trained.value))
            self.callback.on_epoch_end(epoch, logs)


class Together(keras.callbacks.Callback):
    """Keeps the processes in step: all wait for the first one's validation, and stop
    when it stops. To be the last of the callbacks."""

    def __init__(self, distribution, batches):
        super().__init__()
        self.distribution, self.batches = distribution, batches

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        step = self.batches.start + batch
        self.distribution.seed(self.batches.seed or 0, self.epoch, step)

    def on_epoch_end(self, epoch, logs=None):
        stop = self.distribution.broadcast(bool(self.model.stop_training))
        self.model.stop_training = stop


class ShardLoss(keras.losses.Loss):
    """A loss with `sums`, divided by what the whole batch's shares count together."""

    def __init__(self, loss, mean):
        super().__init__(name=loss.name, reduction="sum")
        self.loss, self.mean = loss, mean

    def __call__(self, y_true, y_pred, sample_weight=None):
        return self.mean(*self.loss.sums(y_true, y_pred, sample_weight))

    def projected(self, *arguments):
        """See `SmoothedCrossEntropy.projected`."""
        return self.mean(*self.loss.projected_sums(*arguments))
