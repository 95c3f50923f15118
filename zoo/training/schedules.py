"""Learning-rate schedules, and a rate that falls at plateaus."""

from typing import Any

import keras
from keras import ops

from zoo.checks import above_zero, positive


class _Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule whose attributes are its arguments."""

    def get_config(self) -> dict[str, Any]:
        return dict(vars(self))


@keras.saving.register_keras_serializable(package="zoo")
class WarmupLinearDecay(_Schedule):
    """Rises linearly to `peak` in `warmup` steps, then falls linearly to 0 at `total`.

    Args:
        peak: highest learning rate.
        warmup: steps of the rise.
        total: steps of the whole training.

    Example:
        >>> round(float(WarmupLinearDecay(1e-3, warmup=10, total=110)(60)), 7)
        0.0005
    """

    def __init__(self, peak: float, warmup: int, total: int):
        if not 0 <= warmup < total:
            raise ValueError(
                "`warmup` must be at least 0 and below `total`. "
                f"Received: warmup={warmup}, total={total}"
            )
        self.peak, self.warmup, self.total = float(peak), int(warmup), int(total)

    def __call__(self, step: Any) -> Any:
        step = ops.cast(step, "float32")
        rise = (step + 1.0) / max(self.warmup, 1)
        fall = (self.total - step) / (self.total - self.warmup)
        return self.peak * ops.clip(ops.minimum(rise, fall), 0.0, 1.0)


@keras.saving.register_keras_serializable(package="zoo")
class HalvingSchedule(_Schedule):
    """Constant for `start` epochs, then halved at once and every `every` epochs.

    - Luong et al. 2015, section 4.1: rate 1, halved every epoch after the 5th, with
      dropout after the 8th (`start=5`, `start=8`).
    - Sutskever et al. 2014, section 3.4: rate 0.7, halved every half epoch after the
      5th (`start=5, every=0.5`), 7.5 epochs in all.

    Args:
        rate: first learning rate.
        start: epochs before the first halving.
        steps_per_epoch: steps of one epoch.
        every: epochs between two halvings.

    Raises:
        ValueError: if `steps_per_epoch` is below 1, or `every` not positive.

    Example:
        >>> schedule = HalvingSchedule(1.0, start=8, steps_per_epoch=100)
        >>> float(schedule(799)), float(schedule(800)), float(schedule(900))
        (1.0, 0.5, 0.25)
    """

    def __init__(
        self, rate: float, start: int, steps_per_epoch: int, every: float = 1.0
    ):
        self.rate, self.start = float(rate), int(start)
        self.every = float(above_zero("every", every))
        self.steps_per_epoch = positive("steps_per_epoch", steps_per_epoch)

    def __call__(self, step: Any) -> Any:
        # A quarter of a step keeps rounding from shifting whole and half epochs: a
        # compiler may turn the division into a product.
        late = ops.cast(step, "int32") - self.start * self.steps_per_epoch
        late = ops.cast(late, "float32") + 0.25
        halvings = ops.floor(late / (self.every * self.steps_per_epoch)) + 1.0
        return self.rate * ops.power(0.5, ops.maximum(halvings, 0.0))


@keras.saving.register_keras_serializable(package="zoo")
class InverseSquareRoot(_Schedule):
    """Rises linearly to `peak` in `warmup` steps, then falls as 1/√step.

    Args:
        peak: highest learning rate, that of step `warmup`.
        warmup: steps of the rise.

    Raises:
        ValueError: if `warmup` is below 1.

    Example:
        >>> schedule = InverseSquareRoot(1e-3, warmup=100)
        >>> round(float(schedule(99)), 6), round(float(schedule(399)), 6)
        (0.001, 0.0005)
    """

    def __init__(self, peak: float, warmup: int = 4000):
        self.peak, self.warmup = float(peak), positive("warmup", warmup)

    def __call__(self, step: Any) -> Any:
        step = ops.cast(step, "float32") + 1.0  # the papers count from 1
        rise, fall = step / self.warmup, ops.sqrt(self.warmup / step)
        return self.peak * ops.minimum(rise, fall)


@keras.saving.register_keras_serializable(package="zoo")
class NoamSchedule(_Schedule):
    """The schedule of Vaswani et al. 2017, equation 3.

    rate = d^-0.5 · min(step^-0.5, step · warmup^-1.5)

    Args:
        hidden_dim: d, the model's size. Paper: 512, 1024 for the large model.
        warmup: steps of the rise. Paper: 4000.
        factor: factor on the rate. Paper: 1.

    Raises:
        ValueError: if `hidden_dim` or `warmup` is below 1.

    Example:
        >>> round(float(NoamSchedule(512)(3999)), 6)
        0.000699
    """

    def __init__(self, hidden_dim: int, warmup: int = 4000, factor: float = 1.0):
        self.hidden_dim = positive("hidden_dim", hidden_dim)
        self.warmup, self.factor = positive("warmup", warmup), float(factor)

    def __call__(self, step: Any) -> Any:
        peak = self.factor * (self.hidden_dim * self.warmup) ** -0.5
        return InverseSquareRoot(peak, self.warmup)(step)


class Plateau(keras.callbacks.ReduceLROnPlateau):
    """Keras's `ReduceLROnPlateau`, able to resume its count in another `fit`.

    The optimizer's learning rate must be a number. `Loop` keeps the count in the
    checkpoint, beside the lowered rate.

    Args:
        monitor: the log to watch.
        mode: "max" if higher is better, "min" if lower is.
        **options: of `ReduceLROnPlateau`: `factor`, `patience`, `min_delta`, …

    Raises:
        ValueError: when training begins with a schedule as learning rate.
    """

    def __init__(self, monitor: str = "val_bleu", mode: str = "max", **options: Any):
        super().__init__(monitor=monitor, mode=mode, **options)

    def state(self) -> dict[str, float]:
        """Returns what a resumed run needs, ready for JSON."""
        names = ("best", "wait", "cooldown_counter")
        return {name: getattr(self, name) for name in names}

    def resume(self, state: dict[str, float]) -> None:
        """Restores a `state`."""
        vars(self).update(state)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Checks the learning rate; unlike Keras's, keeps the count."""
        optimizer = self.model.optimizer
        rate = getattr(optimizer, "inner_optimizer", optimizer).get_config()
        if not isinstance(rate["learning_rate"], float):
            raise ValueError(
                "A plateau lowers a constant learning rate. Received: the schedule "
                f"{rate['learning_rate']['class_name']}"
            )
