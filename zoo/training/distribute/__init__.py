"""Data parallelism by each backend's own engine, behind one small interface.

JAX: `keras.distribution.DataParallel` over all devices of all processes. PyTorch:
`DistributedDataParallel`, one process per device, started by `torchrun`. TensorFlow:
`tf.distribute.MirroredStrategy`, or `MultiWorkerMirroredStrategy` where `TF_CONFIG`
names several workers.

Every device holds all weights and gets an equal share of the rows of each batch. On
each engine, the gradient is that of the whole batch's loss: a share's summed loss is
divided by the real tokens (or sentences) of the whole batch, not by those of the share.
"""

import importlib

import keras

from zoo.backend import MODES
from zoo.training.distribute.engine import Distribution, DistributionError

__all__ = ["Distribution", "DistributionError", "start"]

# For each backend: module, class, and how to get several devices.
_ENGINES = {
    "jax": (
        "jax",
        "JaxDistribution",
        "several GPUs, or KERAS_DISTRIBUTION_* for several processes",
    ),
    "torch": ("torch", "TorchDistribution", "torchrun --nproc-per-node=DEVICES"),
    "tensorflow": (
        "tensorflow",
        "TensorFlowDistribution",
        "several GPUs, or TF_CONFIG for several workers",
    ),
}


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
    module, engine, advice = _ENGINES[keras.backend.backend()]
    engine = getattr(importlib.import_module(f"{__name__}.{module}"), engine)
    try:
        distribution = engine()
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
            f"Data parallelism needs several devices: {advice}. "
            f"Received: 1 device, {keras.backend.backend()} backend"
        )
    return Distribution()
