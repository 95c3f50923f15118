"""Additions to an optimizer: statistics, accumulation, averages, a fused Adam."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import keras
from keras import ops

from zoo.checks import positive
from zoo.training.schedules import PerUpdate


def global_norm(gradients: Sequence[Any]) -> Any:
    """Returns the Euclidean norm of all gradients together, a float32 scalar.

    Args:
        gradients: list of tensors, or None where there is no gradient.

    Example:
        >>> import numpy as np
        >>> float(global_norm([np.array([3.0]), None, np.array([[4.0]])]))
        5.0
    """
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


def _over_replicas(norm):
    """The norm of a gradient whose parts are on several replicas.

    No two parts overlap: see `TensorFlowDistribution.optimizer`.
    """
    if keras.backend.backend() != "tensorflow":
        return norm
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return norm
    return ops.sqrt(replica.all_reduce(tf.distribute.ReduceOp.SUM, norm**2))


def prepare_optimizer(
    optimizer: Any, accumulation: int = 1, ema: float | None = None
) -> Any:
    """Copies an optimizer, adding statistics, accumulation and averages.

    The statistics (see `read_statistics`) are summed up in variables of the optimizer,
    inside the compiled step: nothing is fetched from the device until they are read,
    and checkpoints have them.

    Args:
        optimizer: a Keras optimizer that has not been built.
        accumulation: batches whose gradients make one update. Keras takes the mean of
            their gradients. A schedule's steps are updates, not batches as in Keras.
        ema: momentum of an exponential moving average of the weights, per update; None
            for none. See `averaged_weights`.

    Returns:
        An optimizer of a subclass of the same name; under torch with the update of
        `zoo.training.fuse`.

    Raises:
        ValueError: if `accumulation` is below 1, or `ema` not between 0 and 1.

    Example:
        >>> optimizer = prepare_optimizer(keras.optimizers.Adam(1e-3), accumulation=4)
        >>> optimizer.gradient_accumulation_steps
        4
    """
    positive("accumulation", accumulation)
    if ema is not None and not 0 < ema < 1:
        raise ValueError(f"`ema` must be between 0 and 1. Received: ema={ema!r}")
    config = optimizer.get_config()
    if accumulation > 1:
        config["gradient_accumulation_steps"] = accumulation
        if isinstance(config["learning_rate"], dict):
            config["learning_rate"] = PerUpdate(config["learning_rate"], accumulation)
    if ema is not None:
        # Keras averages after each batch, `accumulation` times for each update.
        momentum = ema ** (1 / accumulation)
        config |= {"use_ema": True, "ema_momentum": momentum}
    cls: Any = type(fuse(optimizer))
    return _tracked(cls).from_config(config)


@functools.cache
def _tracked(cls: Any) -> Any:
    if issubclass(cls, _Tracked):
        return cls
    return type(cls.__name__, (_Tracked, cls), {})


class _Tracked:
    """Statistics of the gradients, kept inside the compiled step."""

    built: bool

    def build(self, variables):
        self.norm_sum, self.norm_max, self.norm_count, self.last_rate = (
            # The same in all of TensorFlow's replicas.
            self.add_variable((), aggregation="mean", name=name)
            for name in ("norm_sum", "norm_max", "norm_count", "last_rate")
        )
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(list(trainable_variables))
        grads = _dense(grads)
        norm = ops.stop_gradient(_over_replicas(global_norm(grads)))
        self.norm_sum.assign_add(norm)
        # Not `maximum`: XLA's, on a CPU, passes over NaN.
        highest = self.norm_max.value
        self.norm_max.assign(ops.where(norm <= highest, highest, norm))
        self.norm_count.assign_add(1.0)
        self.last_rate.assign(ops.cast(self.learning_rate, "float32"))
        return super().apply(grads, trainable_variables)


def read_statistics(optimizer: Any, reset: bool = True) -> dict[str, float]:
    """Reads the statistics of an optimizer from `prepare_optimizer`.

    Args:
        optimizer: a built optimizer, or a `LossScaleOptimizer` around one.
        reset: whether the statistics start anew.

    Returns:
        dict of `gradient_norm` and `gradient_norm_max`, the mean and the highest norm
        of the batches' gradients before clipping, and the last batch's
        `learning_rate`; empty for other optimizers and before the first batch.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if not isinstance(optimizer, _Tracked) or not optimizer.built:
        return {}
    counters = optimizer.norm_sum, optimizer.norm_max, optimizer.norm_count
    total, highest, count, rate = (
        # Its value: the variable itself may be that of several replicas.
        float(ops.convert_to_numpy(variable.value))
        for variable in (*counters, optimizer.last_rate)
    )
    if not count:
        return {}
    for counter in counters if reset else ():
        counter.assign(0.0)
    return {
        "gradient_norm": total / count,
        "gradient_norm_max": highest,
        "learning_rate": rate,
    }


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

    Args:
        model: a compiled Keras model.

    Example:
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile(prepare_optimizer(keras.optimizers.SGD(0.1), ema=0.99), "mse")
        >>> with averaged_weights(model):
        ...     model.predict_on_batch(keras.ops.ones((1, 2))).shape
        (1, 1)
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
