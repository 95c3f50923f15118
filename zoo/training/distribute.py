"""Data parallelism: Keras's `DataParallel` under JAX, PyTorch's DDP.

Every device holds all weights and gets an equal share of the rows of each batch. The
gradient is that of the whole batch's loss: a share's summed loss is divided by the real
tokens (or sentences) of the whole batch, not by those of the share.
"""

import contextlib
import datetime
import os
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.backend import MODES

# The other processes wait while process 0 validates, which may take long. A process
# that has died is noticed at once, by its closed connection or by torchrun.
WAIT = datetime.timedelta(hours=12)


class DistributionError(ValueError):
    """A distribution that this machine, launcher or backend can't provide."""


class Distribution:
    """One device; subclasses are several."""

    process: int = 0  # the number of this process
    processes: int = 1
    devices: int = 1  # of all processes together
    # From a share's total and count to the whole batch's loss; None if the model sees
    # whole batches.
    mean: Callable[[Any, Any], Any] | None = None

    @property
    def main(self) -> bool:
        """Whether this process writes, prints and validates."""
        return self.process == 0

    def __str__(self) -> str:
        text = f"{self.devices} devices"
        return text + (f" in {self.processes} processes" if self.processes > 1 else "")

    def shard(self, batches: Any) -> None:
        """Keeps this process's rows of a `PairBatches`, a multiple of its devices."""
        if self.devices > 1:
            try:
                batches.shard(self.process, self.processes, self.devices)
            except ValueError as error:
                raise DistributionError(str(error)) from error

    def single_device(self) -> contextlib.AbstractContextManager:
        """Returns a context for work on one device in one process, within `fit` too."""
        return contextlib.nullcontext()

    def model(self, model: Any) -> Any:
        """Returns the model to `fit`."""
        return model

    def loss(self, loss: Any) -> Any:
        """Returns the loss to `fit` with: the whole batch's, for a share of it."""
        if self.mean is None:
            return loss
        if not hasattr(loss, "mean"):
            raise DistributionError(
                "Several devices need a SmoothedCrossEntropy. Received: "
                f"{getattr(loss, 'name', loss)!r}"
            )
        loss = type(loss).from_config(loss.get_config())
        loss.mean = self.mean
        return loss

    def seed(self, seed: int, epoch: int, step: int) -> None:
        """Seeds a step, so that dropout differs between processes and steps."""

    def broadcast(self, value: Any) -> Any:
        """Returns process 0's `value` in every process, once all have called it."""
        return value

    def wait(self) -> None:
        """Waits until all processes have called it."""
        self.broadcast(None)

    def stop(self) -> None:
        """Leaves the other processes, once all are done."""


class JaxDevices(Distribution):
    """All devices of a machine, in one process.

    The model sees the whole batch, so that loss, clipping and dropout are those of one
    device.
    """

    def __init__(self, devices: int):
        self.devices = devices
        engine = keras.distribution.DataParallel(auto_shard_dataset=False)
        keras.distribution.set_distribution(engine)

    @contextlib.contextmanager
    def single_device(self) -> Iterator[None]:
        engine = keras.distribution.distribution()
        keras.distribution.set_distribution(None)
        try:
            yield
        finally:
            keras.distribution.set_distribution(engine)

    def stop(self) -> None:
        keras.distribution.set_distribution(None)


class TorchProcesses(Distribution):
    """One process per device, started by `torchrun`.

    Each draws its own dropout masks: process 0 from the run's generator, the others
    seeded by the run's seed, the epoch, the step and the process.
    """

    def __init__(self, processes: int):
        import torch
        import torch.distributed as dist

        gpu = torch.cuda.is_available()
        try:
            if gpu:
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            if not dist.is_initialized():
                dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo")
        # For wrong addresses, numbers or devices.
        except (RuntimeError, ValueError, KeyError) as error:
            raise DistributionError(
                f"The other processes can't be joined. Received: {error}"
            ) from error
        self.processes = self.devices = processes
        self.process = dist.get_rank()
        self._group = dist.new_group(backend="gloo", timeout=WAIT)

    def model(self, model: Any) -> Any:
        """Returns a model that calls this one by DDP when gradients are needed."""
        import torch

        # Not an attribute, which would be a layer, with all weights once more.
        parallel = torch.nn.parallel.DistributedDataParallel(model)

        class Replica(keras.Model):
            def __init__(self):
                super().__init__(name=model.name)
                self.model = model
                self.built = True

            def call(self, inputs, training=False):
                if training and torch.is_grad_enabled():
                    return parallel(inputs, training=True)
                return self.model(inputs, training=training)

        return Replica()

    def mean(self, total: Any, count: Any) -> Any:
        """The whole batch's loss.

        Its gradient is this share's, times the number of processes, since DDP averages.
        """
        import torch

        sums = torch.stack([total.detach(), count])
        if sums.device.type != "meta":  # Keras's symbolic call has no peers
            torch.distributed.all_reduce(sums)
        count = ops.maximum(sums[1], 1.0)
        share = total * self.processes / count
        return share + (sums[0] / count - share).detach()

    def seed(self, seed: int, epoch: int, step: int) -> None:
        if not self.main:
            import torch

            state = np.random.SeedSequence((seed, epoch, step, self.process))
            torch.manual_seed(int(state.generate_state(1)[0]))

    def broadcast(self, value: Any) -> Any:
        from torch.distributed import broadcast_object_list

        values = [value]
        broadcast_object_list(values, src=0, group=self._group)
        return values[0]

    def stop(self) -> None:
        import torch.distributed as dist

        self.wait()
        dist.destroy_process_group()


def start(mode: str = "auto") -> Distribution:
    """Finds the devices and joins the other processes, before anything is computed.

    The mode is "none" for one device; "data" for all devices of the machine, or, under
    PyTorch, the processes that the launcher started; "auto" for "data" if there are
    several devices, else "none". TensorFlow trains on one device.
    """
    if mode not in MODES:
        raise DistributionError(
            f"`mode` must be one of {list(MODES)}. Received: mode={mode!r}"
        )
    backend = keras.backend.backend()
    if mode != "none" and backend == "jax":
        devices = len(keras.distribution.list_devices())
        if devices > 1:
            return JaxDevices(devices)
    if mode != "none" and backend == "torch":
        processes = int(os.environ.get("WORLD_SIZE", 1))
        if processes > 1:
            return TorchProcesses(processes)
    if mode == "data":
        raise DistributionError(
            "Data parallelism needs several devices under JAX, or torchrun and PyTorch "
            f"(docs/many_machines.md). Received: 1 device, {backend} backend"
        )
    return Distribution()
