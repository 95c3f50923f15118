"""Around an optimizer's updates: accumulation, averaged weights, statistics."""

import contextlib
import functools

import keras
from keras import ops

from zoo.training.fused import fuse
from zoo.training.schedules import PerUpdate


def global_norm(gradients):
    """Euclidean norm of all gradients together, as float32.

    Args:
        gradients: list of tensors; None where there is no gradient.

    Returns:
        A scalar tensor.

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
    # As a product with itself: XLA's reductions on a CPU take twice as long.
    return ops.sqrt(sum(ops.dot(part, part) for part in parts))


def _dense(gradients):
    """TensorFlow's gradient of an embedding names a row once for each occurrence of its
    word; Keras's norm, and so its clipping, would take these for different rows."""
    if keras.backend.backend() != "tensorflow":
        return list(gradients)
    import tensorflow as tf

    return [g if g is None else tf.convert_to_tensor(g) for g in gradients]


def _over_replicas(norm):
    """Norm of all replicas' parts of a gradient, of which no two overlap: see
    `zoo.training.distribute.tensorflow.TensorFlowDistribution.optimizer`."""
    if keras.backend.backend() != "tensorflow":
        return norm
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return norm
    return ops.sqrt(replica.all_reduce(tf.distribute.ReduceOp.SUM, norm**2))


def prepare_optimizer(optimizer, accumulation=1, ema=None):
    """A copy of an optimizer that also accumulates, averages and keeps statistics.

    The statistics are `gradient_norm`, `gradient_norm_max` and `learning_rate` of
    `read_statistics`. They are summed up in variables of the optimizer, inside the
    compiled step: nothing is fetched from the device until they are read, and a
    checkpoint of the optimizer has them.

    Args:
        optimizer: a Keras optimizer that has not been built.
        accumulation: batches whose gradients make one update. Keras takes the mean of
            the batches' gradients; a schedule, which Keras would ask with the number
            of batches, is asked with the number of updates.
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
    if not isinstance(accumulation, int) or accumulation < 1:
        raise ValueError(
            "`accumulation` must be an integer of at least 1. "
            f"Received: accumulation={accumulation!r}"
        )
    if ema is not None and not 0 < ema < 1:
        raise ValueError(f"`ema` must be between 0 and 1. Received: ema={ema!r}")
    config = optimizer.get_config()
    if accumulation > 1:
        config["gradient_accumulation_steps"] = accumulation
        if isinstance(config["learning_rate"], dict):
            schedule = keras.optimizers.schedules.deserialize(config["learning_rate"])
            config["learning_rate"] = PerUpdate(schedule, accumulation)
    if ema is not None:
        # Keras averages after each batch: `accumulation` times between two updates.
        momentum = ema ** (1 / accumulation)
        config |= {"use_ema": True, "ema_momentum": momentum}
    return _tracked(type(fuse(optimizer))).from_config(config)


@functools.cache
def _tracked(cls):
    if issubclass(cls, _Tracked):
        return cls
    return type(cls.__name__, (_Tracked, cls), {})


class _Tracked:
    """Statistics of the gradients, kept inside the compiled step."""

    def build(self, variables):
        names = ("norm_sum", "norm_max", "norm_count", "last_rate")
        for name in names:
            # The same in all of TensorFlow's replicas.
            variable = self.add_variable((), aggregation="mean", name=name)
            setattr(self, name, variable)
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(list(trainable_variables))
        grads = _dense(grads)
        norm = ops.stop_gradient(_over_replicas(global_norm(grads)))
        self.norm_sum.assign_add(norm)
        self.norm_max.assign(ops.maximum(self.norm_max, norm))
        self.norm_count.assign_add(1.0)
        self.last_rate.assign(ops.cast(self.learning_rate, "float32"))
        return super().apply(grads, trainable_variables)


def read_statistics(optimizer, reset=True):
    """Statistics since the last reset of an optimizer from `prepare_optimizer`.

    Args:
        optimizer: a built optimizer, or a `LossScaleOptimizer` around one.
        reset: whether they start anew.

    Returns:
        dict of `gradient_norm` and `gradient_norm_max`, the mean and the highest norm
        of the batches' gradients before clipping, and `learning_rate`, that of the last
        batch; empty for other optimizers and before the first batch.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if not isinstance(optimizer, _Tracked) or not optimizer.built:
        return {}
    total, highest, count, rate = (
        # Not the variable itself: one of several replicas is no number.
        float(ops.convert_to_numpy(variable.value))
        for variable in (
            optimizer.norm_sum,
            optimizer.norm_max,
            optimizer.norm_count,
            optimizer.last_rate,
        )
    )
    if not count:
        return {}
    found = {
        "gradient_norm": total / count,
        "gradient_norm_max": highest,
        "learning_rate": rate,
    }
    if reset:
        for variable in (optimizer.norm_sum, optimizer.norm_max, optimizer.norm_count):
            variable.assign(0.0)
    return found


class Statistics(keras.callbacks.Callback):
    """Adds the optimizer's statistics of an epoch to its logs: see
    `zoo.training.read_statistics`."""

    def on_epoch_end(self, epoch, logs=None):
        found = read_statistics(self.model.optimizer)
        if logs is not None:
            logs.update({name: float(f"{value:.6g}") for name, value in found.items()})


@contextlib.contextmanager
def averaged_weights(model):
    """Gives a model its averaged weights for a while, where its optimizer has any.

    With `use_ema` the optimizer keeps an exponential moving average of the weights
    (Polyak & Juditsky 1992). Inside the context the model computes with it; afterwards
    every weight is exactly what it was.

    Args:
        model: a compiled Keras model.

    Example:
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile(prepare_optimizer(keras.optimizers.SGD(0.1), ema=0.99), "mse")
        >>> with averaged_weights(model):
        ...     model.predict_on_batch(keras.ops.ones((1, 2))).shape
        (1, 1)
    """
    optimizer = getattr(model, "optimizer", None)
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not getattr(inner, "use_ema", False) or not optimizer.built:
        yield
        return
    variables = model.trainable_variables
    kept = [ops.copy(ops.stop_gradient(variable.value)) for variable in variables]
    optimizer.finalize_variable_values(variables)
    for variable in variables:
        # Not the average's own array: JAX takes an array away from the variables that
        # share it when another model evaluates.
        variable.assign(ops.copy(ops.stop_gradient(variable.value)))
    try:
        yield
    finally:
        for variable, value in zip(variables, kept, strict=True):
            variable.assign(value)
