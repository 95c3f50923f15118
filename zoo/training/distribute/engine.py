"""The interface of data parallelism, implemented for one device, and shared parts."""

import contextlib
import json
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np


class DistributionError(ValueError):
    """A distribution that this machine, launcher or backend can't provide."""


class Distribution:
    """One device; each engine overrides it.

    Attributes:
        process: number of this process, from 0.
        processes: number of processes.
        devices: number of devices of all processes together.
        copies: whether decoding needs a copy of the weights on one device.
        shards: whether a process is given its rows of a batch alone, filled up for all
            devices; else the engine itself shards whole batches.
        mean: function of a share's total and count to the whole batch's loss; None if
            the model sees whole batches.
    """

    process: int = 0
    processes: int = 1
    devices: int = 1
    copies: ClassVar[bool] = False
    shards: ClassVar[bool] = True
    mean: Callable[[Any, Any], Any] | None = None

    @property
    def main(self) -> bool:
        """Whether this process writes, prints and validates."""
        return self.process == 0

    def __str__(self) -> str:
        text = f"{self.devices} devices"
        return text + (f" in {self.processes} processes" if self.processes > 1 else "")

    def shard(self, batches: Any) -> None:
        """Keeps only this process's rows of a `PairBatches`."""
        if self.devices == 1:
            return
        part = (self.process, self.processes) if self.shards else (0, 1)
        try:
            batches.shard(*part, self.devices)
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
        """Returns the loss to `fit` with: the whole batch's, for a share of it.

        Args:
            loss: a `SmoothedCrossEntropy`, where `mean` isn't None.

        Raises:
            DistributionError: for a loss that can't be summed over devices.
        """
        if self.mean is not None:
            if not hasattr(loss, "mean"):
                raise DistributionError(
                    "The loss on several devices must be a SmoothedCrossEntropy, which "
                    f"is summed over them. Received: {getattr(loss, 'name', loss)!r}"
                )
            loss = type(loss).from_config(loss.get_config())
            loss.mean = self.mean
        return loss

    def optimizer(self, optimizer: Any) -> Any:
        """Returns the optimizer to `fit` with: it clips the whole batch's gradient."""
        return optimizer

    def seed(self, seed: int, epoch: int, step: int) -> None:
        """Seeds a step, so that dropout differs between processes and steps."""

    def broadcast(self, value: Any) -> Any:
        """Returns the `value` of process 0 in every process, once all have called it.

        It is bytes, or what JSON can hold.
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
        """Raises a `DistributionError` if process 0 has another value of this name."""
        expected = self.broadcast(value)
        if value != expected:
            raise DistributionError(
                f"The processes differ in the {name}: give all of them one folder. "
                f"Process 0 has {expected!r}. Received: {value!r} in process "
                f"{self.process}"
            )

    def stop(self) -> None:
        """Leaves the other processes, once all are done."""
        self.wait()
