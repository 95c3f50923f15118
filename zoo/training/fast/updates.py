"""Additions to an optimizer: statistics of the gradients, a fused Adam."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import keras
from keras import ops


def global_norm(gradients: Sequence[Any]) -> Any:
    """Returns the Euclidean norm of all gradients (or None) together, in float32."""
    parts = [
        ops.reshape(ops.cast(part, "float32"), (-1,))
        for part in _dense(gradients)
        if part is not None
    ]
    # A product is twice as fast as XLA's reductions on a CPU.
    return ops.sqrt(sum(ops.dot(part, part) for part in parts))


def _dense(gradients):
    """Makes TensorFlow's sparse gradients dense.

    That of an embedding has an entry for each occurrence of a word. Keras's norm, and
    so its clipping, would take them for different rows.
    """
    if keras.backend.backend() != "tensorflow":
        return list(gradients)
    import tensorflow as tf

    return [g if g is None else tf.convert_to_tensor(g) for g in gradients]


def prepare_optimizer(optimizer: Any) -> Any:
    """Copies an unbuilt optimizer, adding statistics and, under torch, a faster Adam.

    The statistics (see `read_statistics`) are summed up in variables of the optimizer,
    inside the compiled step: nothing is fetched from the device until they are read,
    and checkpoints have them. Under torch on a CPU, Keras's Adam takes a dozen passes
    over all weights; torch's fused kernel, used here unless `amsgrad` is set, reads and
    writes each weight once.
    """
    cls: Any = type(optimizer)
    # On a GPU, Keras's own update takes few passes over all weights at once.
    cpu = keras.backend.backend() == "torch" and ops.zeros(()).device.type == "cpu"
    if cpu and cls is type(keras.optimizers.Adam()) and not optimizer.amsgrad:
        cls = _fused_adam()
    return _tracked(cls).from_config(optimizer.get_config())


@functools.cache
def _tracked(cls: Any) -> Any:
    if issubclass(cls, _Tracked):
        return cls
    return type(cls.__name__, (_Tracked, cls), {})


class _Tracked:
    """Statistics of the gradients, kept inside the compiled step."""

    built: bool

    def build(self, variables):
        names = ("norm_sum", "norm_max", "norm_count", "last_rate")
        self.statistics = [self.add_variable((), name=name) for name in names]
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(list(trainable_variables))
        grads = _dense(grads)
        norm = ops.stop_gradient(global_norm(grads))
        total, highest, count, rate = self.statistics
        total.assign_add(norm)
        # Not `maximum`: XLA's, on a CPU, passes over NaN.
        highest.assign(ops.where(norm <= highest.value, highest.value, norm))
        count.assign_add(1.0)
        rate.assign(ops.cast(self.learning_rate, "float32"))
        return super().apply(grads, trainable_variables)


def read_statistics(optimizer: Any, reset: bool = True) -> dict[str, float]:
    """Reads the statistics of an optimizer, which then start anew unless not `reset`.

    They are `gradient_norm` and `gradient_norm_max`, the mean and the highest norm of
    the batches' gradients before clipping, and the last batch's `learning_rate`; none
    for other optimizers and before the first batch.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if not isinstance(optimizer, _Tracked) or not optimizer.built:
        return {}
    total, highest, count, rate = (
        float(ops.convert_to_numpy(variable)) for variable in optimizer.statistics
    )
    if not count:
        return {}
    for variable in optimizer.statistics if reset else ():
        variable.assign(0.0)
    norms = {"gradient_norm": total / count, "gradient_norm_max": highest}
    return {**norms, "learning_rate": rate}


class Statistics(keras.callbacks.Callback):
    """Adds the optimizer's statistics (see `read_statistics`) to the epoch's logs."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        statistics = read_statistics(self.model.optimizer)
        if logs is not None:
            logs |= {name: float(f"{value:.6g}") for name, value in statistics.items()}


@contextlib.contextmanager
def averaged_weights(model: Any) -> Iterator[None]:
    """Context in which a model has its averaged weights, if its optimizer keeps any.

    With `use_ema` the optimizer keeps an exponential moving average of the weights
    (Polyak & Juditsky 1992). Afterwards every weight is exactly what it was.
    """
    optimizer: Any = getattr(model, "optimizer", None)
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not getattr(inner, "use_ema", False) or not optimizer.built:
        yield
        return
    variables = model.trainable_variables
    kept = [ops.copy(ops.stop_gradient(variable.value)) for variable in variables]
    optimizer.finalize_variable_values(variables)
    for variable in variables:
        # A copy of the average: JAX deletes an array that variables share when another
        # model evaluates.
        variable.assign(ops.copy(ops.stop_gradient(variable.value)))
    try:
        yield
    finally:
        for variable, value in zip(variables, kept, strict=True):
            variable.assign(value)


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
