"""Data parallelism under PyTorch."""

import datetime
import os
from typing import Any

import keras
import numpy as np
import torch
import torch.distributed as dist
from keras import ops

from zoo.training.distribute import Distribution


class TorchDistribution(Distribution):
    """One process per device.

    Each draws its own dropout masks: process 0 from the run's generator, the others
    seeded by the run's seed, the epoch, the step and the process.
    """

    # The others wait while process 0 validates, which may take long. A process that has
    # died is noticed at once, by its closed connection or by torchrun.
    HOURS = 12

    def __init__(self):
        self.processes = self.devices = int(os.environ.get("WORLD_SIZE", 1))
        self._group = None
        if self.processes == 1:
            return
        gpu = torch.cuda.is_available()
        if gpu:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        if not dist.is_initialized():
            dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo")
        self.process = dist.get_rank()
        wait = datetime.timedelta(hours=self.HOURS)
        self._group = dist.new_group(backend="gloo", timeout=wait)

    def model(self, model: Any) -> Any:
        return _torch_replica(model)

    def mean(self, total: Any, count: Any) -> Any:
        """The whole batch's loss.

        Its gradient is this share's, times the number of processes, since DDP averages.
        """
        sums = torch.stack([total.detach(), count])
        if sums.device.type != "meta":  # Keras's symbolic call has no peers
            dist.all_reduce(sums)
        count = ops.maximum(sums[1], 1.0)
        share = total * self.processes / count
        return share + (sums[0] / count - share).detach()

    def seed(self, seed: int, epoch: int, step: int) -> None:
        if not self.main:
            state = np.random.SeedSequence((seed, epoch, step, self.process))
            torch.manual_seed(int(state.generate_state(1)[0]))

    def _from_main(self, array):
        tensor = torch.from_numpy(array.copy())
        dist.broadcast(tensor, src=0, group=self._group)
        return tensor.numpy()

    def stop(self) -> None:
        super().stop()
        if self.processes > 1:
            dist.destroy_process_group()


def _torch_replica(model):
    """A Keras model that calls `model` through DDP when gradients are needed."""
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
