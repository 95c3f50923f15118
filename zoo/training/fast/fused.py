"""Adam's update in one pass over the weights, under torch on a CPU."""

import functools
from typing import Any

import keras
from keras import ops


def fuse(optimizer: Any) -> Any:
    """Returns an optimizer with a faster update, if there is one.

    Under torch, Keras's Adam takes a dozen passes over all weights; torch's fused
    kernel reads and writes each weight once. Schedules, clipping, weight decay,
    averages, the variables and their order stay Keras's. On a GPU, Keras's own update
    does it: few passes over all weights at once.

    Args:
        optimizer: a Keras optimizer that has not been built.

    Returns:
        A new optimizer, under torch on a CPU and for a `keras.optimizers.Adam` without
        `amsgrad`; otherwise `optimizer`.

    Example:
        >>> fuse(keras.optimizers.Adam(0.01)).get_config()["beta_1"]
        0.9
    """
    if keras.backend.backend() != "torch" or ops.zeros(()).device.type != "cpu":
        return optimizer
    plain = type(optimizer) is type(keras.optimizers.Adam())
    if not plain or optimizer.amsgrad:
        return optimizer
    return _fused_adam().from_config(optimizer.get_config())


@functools.cache
def _fused_adam():
    import torch
    from torch.optim.adam import adam

    # For a subclass, Keras calls `update_step` for each variable.
    class Adam(keras.optimizers.Adam):
        def update_step(self, gradient, variable, learning_rate):
            """Keras's update: ε is added to the root of the uncorrected v."""
            index = self._get_variable_index(variable)
            done = int(ops.convert_to_numpy(self.iterations))
            correction = (1.0 - self.beta_2 ** (done + 1)) ** 0.5
            adam(
                [variable.value.detach()],
                [gradient.contiguous()],  # the kernel reads it as if it were
                [self._momentums[index].value],
                [self._velocities[index].value],
                [],
                [torch.tensor(float(done))],
                fused=True,
                amsgrad=False,
                beta1=self.beta_1,
                beta2=self.beta_2,
                lr=float(learning_rate),
                weight_decay=0.0,
                eps=self.epsilon / correction,
                maximize=False,
            )

    return Adam
