"""Data parallelism under JAX."""

import contextlib
import os
from collections.abc import Iterator

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils

from zoo.training.distribute import Distribution


class JaxDistribution(Distribution):
    """One program over all devices.

    The model sees the whole batch, so that loss, clipping and dropout are those of one
    device.
    """

    copies = True
    LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")

    def __init__(self):
        addresses = "KERAS_DISTRIBUTION_JOB_ADDRESSES", "JAX_COORDINATOR_ADDRESS"
        launched = any(os.environ.get(name) for name in addresses) or any(
            int(os.environ.get(name, 1)) > 1 for name in self.LAUNCHERS
        )
        if launched and not jax.distributed.is_initialized():
            _join_jax()
        self.process, self.processes = jax.process_index(), jax.process_count()
        self.devices = jax.device_count()
        if self.devices > 1:
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

    def _from_main(self, array):
        return np.asarray(multihost_utils.broadcast_one_to_all(array))

    def stop(self) -> None:
        keras.distribution.set_distribution(None)
        super().stop()
        if self.processes > 1:
            jax.distributed.shutdown()


def _join_jax():
    """Joins by the variables of `keras.distribution.initialize`, with a short timeout.

    Otherwise a process whose peer has died waits minutes for it before it ends.
    """
    names = ("NUM_PROCESSES", "PROCESS_ID")
    numbers = [os.environ.get(f"KERAS_DISTRIBUTION_{name}") for name in names]
    addresses = os.environ.get("KERAS_DISTRIBUTION_JOB_ADDRESSES")
    # Between CPUs, JAX uses gloo by default.
    jax.distributed.initialize(
        addresses and addresses.split(",")[0],
        *(number and int(number) for number in numbers),
        shutdown_timeout_seconds=10,
    )
