"""Data parallelism by each backend's own engine, behind one small interface.

JAX: `keras.distribution.DataParallel` over all devices of all processes. PyTorch:
`DistributedDataParallel`, one process per device, started by `torchrun`. TensorFlow:
`tf.distribute.MirroredStrategy`, or `MultiWorkerMirroredStrategy` where `TF_CONFIG`
names several workers.

Every device holds all weights and gets an equal share of the rows of each batch. On
each engine, the gradient is that of the whole batch's loss: a share's summed loss is
divided by the real tokens (or sentences) of the whole batch, not by those of the share.
"""

import ast
import contextlib
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

import keras
import numpy as np

from zoo.backend import MODES

_ENGINES = {
    "jax": "JaxDistribution",
    "torch": "TorchDistribution",
    "tensorflow": "TensorFlowDistribution",
}


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
        if self.devices > 1:
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
                    "Several devices need a SmoothedCrossEntropy. Received: "
                    f"{getattr(loss, 'name', loss)!r}"
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

        It is a literal of Python: bytes, numbers, strings, lists of these.
        """
        if self.processes == 1:
            return value
        data = repr(value).encode()
        size = int(self._from_main(np.array([len(data)], "int32"))[0])
        array = np.frombuffer(data, "uint8") if self.main else np.zeros(size, "uint8")
        data = np.asarray(self._from_main(array), "uint8").tobytes()
        return ast.literal_eval(data.decode())

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


def start(mode: str = "auto") -> Distribution:
    """Finds the devices and joins the other processes.

    Call it before the backend computes anything.

    Args:
        mode: "none" for one device; "data" for data parallelism over all devices of
            the machine, or of all machines whose processes the launcher started;
            "auto" for "data" if there are several devices, else "none".

    Returns:
        A `Distribution`.

    Raises:
        DistributionError: for "data" if there is only one device, for invalid settings
            of a launcher, or for an unknown mode.

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
    backend = keras.backend.backend()
    engine = importlib.import_module(f"{__name__}.{backend}")
    try:
        distribution = getattr(engine, _ENGINES[backend])()
    # The engines' errors for wrong addresses, numbers or devices.
    except (RuntimeError, ValueError, KeyError) as error:
        raise DistributionError(
            f"The other processes can't be joined. Received: {error}"
        ) from error
    if distribution.devices > 1:
        return distribution
    distribution.stop()
    if mode == "data":
        raise DistributionError(
            "Data parallelism needs several devices; docs/many_machines.md tells how "
            f"to start it. Received: 1 device, {backend} backend"
        )
    return Distribution()
