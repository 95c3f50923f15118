"""Learning-rate schedules."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly to `peak` in `warmup` steps, then falls linearly to 0 at `total`.

    Args:
        peak: highest learning rate.
        warmup: steps of the rise.
        total: steps of the whole training.

    Example:
        >>> round(float(WarmupLinearDecay(1e-3, warmup=10, total=110)(60)), 7)
        0.0005
    """

    def __init__(self, peak, warmup, total):
        if not 0 <= warmup < total:
            raise ValueError(
                "`warmup` must be at least 0 and below `total`. "
                f"Received: warmup={warmup}, total={total}"
            )
        self.peak, self.warmup, self.total = float(peak), int(warmup), int(total)

    def __call__(self, step):
        step = ops.cast(step, "float32")
        rise = (step + 1.0) / max(self.warmup, 1)
        fall = (self.total - step) / (self.total - self.warmup)
        return self.peak * ops.clip(ops.minimum(rise, fall), 0.0, 1.0)

    def get_config(self):
        return {"peak": self.peak, "warmup": self.warmup, "total": self.total}


@keras.saving.register_keras_serializable(package="zoo")
class HalvingSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Constant for `start` epochs, then halved every epoch (Luong et al. 2015, 4.1).

    The paper: rate 1, 12 epochs with dropout, halved after epoch 8.

    Args:
        rate: first learning rate.
        start: epochs before the first halving.
        steps_per_epoch: steps of one epoch.

    Example:
        >>> schedule = HalvingSchedule(1.0, start=8, steps_per_epoch=100)
        >>> float(schedule(799)), float(schedule(800)), float(schedule(900))
        (1.0, 0.5, 0.25)
    """

    def __init__(self, rate, start, steps_per_epoch):
        if steps_per_epoch < 1:
            raise ValueError(
                "`steps_per_epoch` must be at least 1. "
                f"Received: steps_per_epoch={steps_per_epoch}"
            )
        self.rate, self.start = float(rate), int(start)
        self.steps_per_epoch = int(steps_per_epoch)

    def __call__(self, step):
        epoch = ops.floor(ops.cast(step, "float32") / self.steps_per_epoch)
        return self.rate * ops.power(0.5, ops.maximum(epoch - self.start + 1.0, 0.0))

    def get_config(self):
        return {
            "rate": self.rate,
            "start": self.start,
            "steps_per_epoch": self.steps_per_epoch,
        }
