"""A recipe's optimizer, as plain values that `--set` can change."""

import dataclasses
from typing import Any

from zoo.checks import above_zero, integer, one_of

# Name -> class, Keras's except for `zoo.training.Rprop`.
_CLASSES = "Adadelta Adafactor Adagrad Adam AdamW Lion Nadam RMSprop Rprop SGD"
OPTIMIZERS = {name.lower(): name for name in _CLASSES.split()}
SCHEDULES = ("constant", "linear", "inverse_sqrt", "noam", "halving")


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """A Keras optimizer with a learning-rate schedule, described by plain values.

    Called with the steps of an epoch and the number of epochs, it makes the Keras
    optimizer.

    Attributes:
        name: "adadelta", "adafactor", "adagrad", "adam", "adamw", "lion", "nadam",
            "rmsprop", "rprop" or "sgd".
        learning_rate: highest learning rate.
        schedule: "constant"; "linear" rises in `warmup` steps and falls to 0 at the
            last step (`WarmupLinearDecay`); "inverse_sqrt" rises, then falls as 1/√step
            (`InverseSquareRoot`); "noam" is the schedule of Vaswani et al. times
            `learning_rate` (`NoamSchedule`); "halving" halves every `halving_epochs`
            after the first `constant_epochs` (`HalvingSchedule`).
        warmup: steps of the rise; for "linear", at most a quarter of all steps.
        constant_epochs: epochs before the first halving, for "halving".
        halving_epochs: epochs between two halvings.
        hidden_dim: size of the model, for "noam".
        clip: global norm at which gradients are clipped; None for no clipping.
        options: further arguments of the Keras class, such as `{"beta_2": 0.98}`.

    Raises:
        ValueError: for an unknown name or schedule, or a number out of range.

    Example:
        >>> optimizer = Optimizer("sgd", 1.0, "halving", constant_epochs=8, clip=5.0)
        >>> type(optimizer(100, 12)).__name__
        'SGD'
    """

    name: str
    learning_rate: float
    schedule: str = "constant"
    warmup: int = 0
    constant_epochs: int = 0
    halving_epochs: float = 1.0
    hidden_dim: int = 512
    clip: float | None = None
    options: dict[str, bool | int | float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        one_of("name", self.name, OPTIMIZERS)
        one_of("schedule", self.schedule, SCHEDULES)
        for name in ("learning_rate", "clip", "halving_epochs", "hidden_dim"):
            if (value := getattr(self, name)) is not None:
                above_zero(name, value)
        for name in ("warmup", "constant_epochs"):
            integer(name, getattr(self, name), 0)
        if self.options.get("use_ema"):
            raise ValueError(f"`options` can't be `use_ema`. Received: {self.options}")
        if (steps := self.options.get("gradient_accumulation_steps")) is not None:
            integer("gradient_accumulation_steps", steps, 2)
        if self.schedule in ("inverse_sqrt", "noam") and not self.warmup:
            raise ValueError(
                f'`warmup` must be at least 1 for "{self.schedule}". Received: 0'
            )

    @property
    def keras_class(self) -> Any:
        """The class of the Keras optimizer."""
        if self.name == "rprop":
            from zoo.training.fast.updates import Rprop

            return Rprop
        import keras

        return getattr(keras.optimizers, OPTIMIZERS[self.name])

    def __call__(self, steps_per_epoch: int, epochs: int) -> Any:
        """Makes the Keras optimizer for `epochs` epochs of `steps_per_epoch` steps."""
        rate = self._rate(steps_per_epoch, epochs)
        return self.keras_class(rate, global_clipnorm=self.clip, **self.options)

    def _rate(self, steps, epochs):
        from zoo.training import schedules

        rate, total = self.learning_rate, steps * epochs
        if self.schedule == "linear":
            warmup = min(self.warmup, total // 4)
            return schedules.WarmupLinearDecay(rate, warmup, total)
        if self.schedule == "halving":
            start, every = self.constant_epochs, self.halving_epochs
            return schedules.HalvingSchedule(rate, start, steps, every)
        if self.schedule == "inverse_sqrt":
            return schedules.InverseSquareRoot(rate, self.warmup)
        if self.schedule == "noam":
            return schedules.NoamSchedule(self.hidden_dim, self.warmup, rate)
        return rate
