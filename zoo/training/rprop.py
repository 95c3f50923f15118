"""RPROP, the optimizer of Schuster & Paliwal (1997)."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class Rprop(keras.optimizers.Optimizer):
    """Resilient propagation (Riedmiller & Braun 1993): only the gradient's sign counts.

    Each weight has a step of its own. It grows while its gradient keeps its sign; where
    the sign changes, the step shrinks and the weight stays for one update:

        step = min(step * increase, most)      the sign is that of the last update
        step = max(step * decrease, least)     it has changed: the weight stays
        w   -= learning_rate * step * sign(gradient)

    So gradients must be of the whole training set: one batch an epoch. The form without
    taking a step back is iRPROP- (Igel & Hüsken 2003). Schuster & Paliwal call theirs
    modified; how is not known here.

    Args:
        learning_rate: the first step. Default 0.01.
        increase, decrease: factors. Default 1.2 and 0.5.
        least, most: bounds of the step, as multiples of the first. Default 1e-4 and
            5000.
        name, **kwargs: see `keras.optimizers.Optimizer`.

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
        learning_rate=0.01,
        increase=1.2,
        decrease=0.5,
        least=1e-4,
        most=5000.0,
        name="rprop",
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.increase, self.decrease = increase, decrease
        self.least, self.most = least, most

    def build(self, variables):
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

    def update_step(self, gradient, variable, learning_rate):
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

    def get_config(self):
        return {
            **super().get_config(),
            "increase": self.increase,
            "decrease": self.decrease,
            "least": self.least,
            "most": self.most,
        }
