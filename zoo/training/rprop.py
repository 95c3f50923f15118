"""RPROP, the optimizer of Schuster & Paliwal (1997)."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class Rprop(keras.optimizers.Optimizer):
    """Resilient propagation (Riedmiller & Braun 1993): only the gradient's sign counts.

    Each weight has its own step. It grows while the gradient keeps its sign; when the
    sign changes, the step shrinks and the weight stays for one update:

        step = min(step * increase, most)      the sign is that of the last update
        step = max(step * decrease, least)     it has changed: the weight stays
        w   -= learning_rate * step * sign(gradient)

    So gradients must be those of the whole training set: one batch an epoch. This
    form, which takes no step back, is iRPROP- (Igel & Hüsken 2003). Schuster & Paliwal
    call theirs modified, without saying how.

    Args:
        learning_rate: the first step.
        increase, decrease: factors on the step.
        least, most: bounds of the step, as multiples of the first.
        name: see `keras.optimizers.Optimizer`.
        **kwargs: see `keras.optimizers.Optimizer`.

    Example:
        >>> weight = keras.Variable([1.0, 1.0])
        >>> optimizer = Rprop(0.1)
        >>> for _ in range(2):  # a step of 0.1, then one of 0.12
        ...     optimizer.apply([ops.convert_to_tensor([3.0, -0.01])], [weight])
        >>> [round(float(w), 2) for w in weight.value]
        [0.78, 1.22]
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        increase: float = 1.2,
        decrease: float = 0.5,
        least: float = 1e-4,
        most: float = 5000.0,
        name: str = "rprop",
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.increase, self.decrease = increase, decrease
        self.least, self.most = least, most

    def build(self, variables: list[Any]) -> None:
        if self.built:
            return
        super().build(variables)
        self._steps, self._signs = (
            [
                self.add_variable_from_reference(v, name, initializer=initializer)
                for v in variables
            ]
            for name, initializer in (("step", "ones"), ("sign", "zeros"))
        )

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self._get_variable_index(variable)
        last, sign = self._signs[index], ops.sign(ops.cast(gradient, variable.dtype))
        agreed = sign * last
        factor = ops.where(agreed < 0, self.decrease, 1.0)
        factor = ops.where(agreed > 0, self.increase, factor)
        step = ops.cast(factor, variable.dtype) * self._steps[index]
        step = ops.clip(step, self.least, self.most)
        sign = ops.where(agreed < 0, ops.zeros_like(sign), sign)
        self.assign(self._steps[index], step)
        self.assign(last, sign)
        rate = ops.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, rate * step * sign)

    def get_config(self) -> dict[str, Any]:
        names = ("increase", "decrease", "least", "most")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
