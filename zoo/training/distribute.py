"""Data parallelism by each backend's own engine, behind one small interface.

JAX: `keras.distribution.DataParallel` over all devices of all processes. PyTorch:
`DistributedDataParallel`, one process per device, started by `torchrun`. TensorFlow:
`tf.distribute.MirroredStrategy`, or `MultiWorkerMirroredStrategy` where `TF_CONFIG`
names several workers.

Every device holds all weights and gets an equal share of the rows of each batch. The
gradient is that of the whole batch's loss on each engine: the share's summed loss is
divided by the whole batch's number of real tokens (or sentences), not by its own.
"""

import contextlib
import json

import keras
import numpy as np
from keras import ops

from zoo.training.recipe import MODES
from zoo.training.updates import averaged_weights


class DistributionError(ValueError):
    """A way to distribute that this machine, launcher or backend doesn't have."""


def start(mode="auto"):
    """Finds the devices and joins the other processes; to be called first of all.

    Args:
        mode: "none" for one device; "data" for data parallelism over all devices of
            the machine, or of all machines whose processes the launcher started;
            "auto" for "data" where there are several devices, else "none".

    Returns:
        A `Distribution`.

    Raises:
        DistributionError: for "data" where there is one device only, for a launcher's
            settings that don't fit, or for an unknown mode.

    Example:
        >>> start("none").devices
        1
    """
    if mode not in MODES:
        raise DistributionError(
            f"`mode` must be one of {list(MODES)}. Received: mode={mode!r}"
        )
    if mode == "none":
        return Distribution()
    from zoo.training.engines import ENGINES

    engine, advice = ENGINES[keras.backend.backend()]
    try:
        distribution = engine()
    # What the engines raise where addresses, numbers or devices don't fit.
    except (RuntimeError, ValueError, KeyError) as error:
        raise DistributionError(
            f"The other processes can't be joined. Received: {error}"
        ) from error
    if distribution.devices > 1:
        return distribution
    distribution.stop()
    if mode == "data":
        raise DistributionError(
            f"Data parallelism needs several devices: {advice}. "
            f"Received: 1 device, {keras.backend.backend()} backend"
        )
    return Distribution()


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

    def alone(self):
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
        """What this process calls back while it trains on `batches`: `main_only` in
        process 0 alone."""
        mine = [*everywhere, *(main_only if self.main else [])]
        return [*mine, Together(self, batches)] if self.processes > 1 else mine

    def stop(self):
        """Leaves the other processes, after the slowest of them is done."""


class Alone(keras.callbacks.Callback):
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
        with averaged_weights(self.model), self.distribution.alone():
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
