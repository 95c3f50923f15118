"""The interface of data parallelism, implemented for one device, and shared parts."""

import contextlib
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from zoo.training.fast.updates import averaged_weights


class DistributionError(ValueError):
    """A distribution that this machine, launcher or backend can't provide."""


class Distribution:
    """One device; each engine overrides it.

    Attributes:
        process: number of this process, from 0.
        processes: number of processes.
        devices: number of devices of all processes together.
        copies: whether decoding needs a copy of the weights on one device.
    """

    process: int = 0
    processes: int = 1
    devices: int = 1
    copies: ClassVar[bool] = False

    @property
    def main(self) -> bool:
        """Whether this process writes, prints and validates."""
        return self.process == 0

    def __str__(self) -> str:
        text = f"{self.devices} devices"
        return text + (f" in {self.processes} processes" if self.processes > 1 else "")

    def shard(self, batches: Any) -> None:
        """Keeps only this process's rows of a `PairBatches`."""
        if self.devices > 1:
            try:
                batches.shard(self.process, self.processes, self.devices)
            except ValueError as error:
                raise DistributionError(str(error)) from error

    def scope(self) -> contextlib.AbstractContextManager:
        """Returns the context in which a model and its optimizer must be made."""
        return contextlib.nullcontext()

    def single_device(self) -> contextlib.AbstractContextManager:
        """Returns a context for work on one device in one process, within `fit` too."""
        return contextlib.nullcontext()

    def model(self, model: Any) -> Any:
        """Returns the model to `fit`."""
        return model

    def loss(self, loss: Any) -> Any:
        """Returns the loss to `fit` with: the whole batch's, for a share of it."""
        return loss

    def optimizer(self, optimizer: Any) -> Any:
        """Returns the optimizer to `fit` with: it clips the whole batch's gradient."""
        return optimizer

    def seed(self, seed: int, epoch: int, step: int) -> None:
        """Seeds a step, so that dropout differs between processes and steps."""

    def broadcast(self, value: Any) -> Any:
        """Returns the `value` of process 0 in every process, once all have called it.

        Args:
            value: bytes, or what JSON can hold.
        """
        if self.processes == 1:
            return value
        kind = b"b" if isinstance(value, bytes) else b"j"
        data = kind + (value if kind == b"b" else json.dumps(value).encode())
        size = int(self._from_main(np.array([len(data)], "int32"))[0])
        array = np.frombuffer(data, "uint8") if self.main else np.zeros(size, "uint8")
        data = np.asarray(self._from_main(array), "uint8").tobytes()
        return data[1:] if data[:1] == b"b" else json.loads(data[1:])

    def _from_main(self, array: np.ndarray) -> np.ndarray:
        """Returns the array of process 0, of the same shape in every process."""
        return array

    def wait(self) -> None:
        """Waits until all processes have called it."""
        self.broadcast(None)

    def agree(self, name: str, value: Any) -> None:
        """Raises a `DistributionError` if process 0 has another value.

        Args:
            name: what the value is.
            value: what JSON can hold.
        """
        expected = self.broadcast(value)
        if value != expected:
            raise DistributionError(
                f"The processes differ in the {name}: give all of them one folder. "
                f"Process 0 has {expected!r}. Received: {value!r} in process "
                f"{self.process}"
            )

    def callbacks(
        self, everywhere: Sequence[Any], main_only: Sequence[Any], batches: Any
    ) -> list[Any]:
        """Returns the callbacks of this process.

        Args:
            everywhere: those of all processes.
            main_only: those of process 0.
            batches: what it trains on.
        """
        callbacks = [*everywhere, *(main_only if self.main else [])]
        together = [Together(self, batches)] if self.processes > 1 else []
        return callbacks + together

    def stop(self) -> None:
        """Leaves the other processes, once all are done."""


class SingleDevice(keras.callbacks.Callback):
    """Calls another callback on one device at the end of an epoch.

    It works with the current weights, or with their moving average if the optimizer has
    one.

    Args:
        distribution: a `Distribution`.
        callback: a callback that works with its `translator`.
        backbone: the backbone that is trained.
    """

    def __init__(self, distribution: Distribution, callback: Any, backbone: Any):
        super().__init__()
        self.distribution, self.callback = distribution, callback
        self.backbone = backbone

    def set_params(self, params: dict[str, Any]) -> None:
        """Sets the parameters of both callbacks."""
        super().set_params(params)
        self.callback.set_params(params)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Copies the weights, if necessary, and calls the callback."""
        copy = self.callback.translator.backbone
        with averaged_weights(self.model), self.distribution.single_device():
            if copy is not self.backbone:
                pairs = zip(copy.weights, self.backbone.weights, strict=True)
                for weight, trained in pairs:
                    weight.assign(ops.convert_to_numpy(trained.value))
            self.callback.on_epoch_end(epoch, logs)


class Together(keras.callbacks.Callback):
    """Keeps the processes in step; it must be the last callback.

    All wait for the first one's validation, and stop when it stops.

    Args:
        distribution: a `Distribution`.
        batches: what is trained on.
    """

    def __init__(self, distribution: Distribution, batches: Any):
        super().__init__()
        self.distribution, self.batches = distribution, batches

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Notes the epoch."""
        self.epoch = epoch

    def on_train_batch_begin(
        self, batch: int, logs: dict[str, Any] | None = None
    ) -> None:
        """Seeds the step."""
        step = self.batches.start + batch
        self.distribution.seed(self.batches.seed or 0, self.epoch, step)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Waits for process 0, and stops if it does."""
        stop = self.distribution.broadcast(bool(self.model.stop_training))
        self.model.stop_training = stop


class ShardLoss(keras.losses.Loss):
    """A loss that is divided by the count of the whole batch, given a share of it.

    Args:
        loss: a loss with `sums`, such as `SmoothedCrossEntropy`.
        mean: function of a share's total and count to the whole batch's loss.
    """

    def __init__(self, loss: Any, mean: Callable[[Any, Any], Any]):
        super().__init__(name=loss.name, reduction="sum")
        self.loss, self.mean = loss, mean

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Returns the loss."""
        return self.mean(*self.loss.sums(y_true, y_pred, sample_weight))

    def projected(self, *arguments: Any) -> Any:
        """See `SmoothedCrossEntropy.projected`."""
        return self.mean(*self.loss.projected_sums(*arguments))
