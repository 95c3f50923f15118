"""Adam's update in one pass over the weights, under torch on a CPU."""

import functools

import keras
from keras import ops


def fuse(optimizer):
    """The same optimizer with a faster update, where there is one.

    Under torch Keras updates with Adam by a dozen passes over all weights; torch's own
    fused kernel reads and writes each weight once. Everything else stays Keras's:
    schedules, clipping, weight decay, averages, the variables and their order. Not
    for weights on a GPU: the numbers that the kernel takes would wait for it.

    Args:
        optimizer: a Keras optimizer that has not been built.

    Returns:
        A new optimizer under torch for a `keras.optimizers.Adam` without `amsgrad`,
        else `optimizer`.

    Example:
        >>> fuse(keras.optimizers.Adam(0.01)).get_config()["beta_1"]
        0.9
    """
    if keras.backend.backend() != "torch":
        return optimizer

    plain = type(optimizer) is type(keras.optimizers.Adam())
    if not plain or optimizer.amsgrad:
        return optimizer
    return _fused_adam().from_config(optimizer.get_config())


@functools.cache
def _fused_adam():
    import torch
    from torch.optim.adam import adam

    # A subclass of Keras's takes the update variable by variable, by `update_step`.
    class Adam(keras.optimizers.Adam):
        def update_step(self, gradient, variable, learning_rate):
            """Keras's update: ε is added to the root of the uncorrected v."""
            if variable.value.device.type != "cpu":
                # The numbers that the kernel takes would wait for the device.
                super().update_step(gradient, variable, learning_rate)
                return
            index = self._get_variable_index(variable)
            done = int(ops.convert_to_numpy(self.iterations))
            correction = (1.0 - self.beta_2 ** (done + 1)) ** 0.5
            adam(
                [variable.value.detach()],
                [gradient],
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
