"""Scheduled sampling: in training, a decoder reads some of its own samples."""

from typing import Any

import keras
from keras import ops

from zoo.ids import PAD_ID


@keras.saving.register_keras_serializable(package="zoo")
class ScheduledSampling(keras.layers.Layer):
    """Lets a translator read its own samples in training; pass it as `augmentation=`.

    Bengio et al. 2015, section 2.4: with probability ε_i the decoder reads the true
    previous token, otherwise one sampled from its own distribution given all that it
    has read. The tokens are chosen first, by `encode`, `start` and `step` without
    dropout and without a gradient, then the usual pass reads them: one more greedy
    decoding of each batch.

    Args:
        rate: ε_i: a number, or a Keras schedule, called with the number of batches so
            far (the variable `step`): `ExponentialDecay(1.0, 1, k)` is the paper's
            k^i, `PolynomialDecay` its linear decay.
        seed: random seed.

    Call arguments: dict of `source_ids` (B, S) and `target_ids` (B, T), and `model`,
    the backbone that samples. Returns the dict with other `target_ids`.

    Raises:
        ValueError: for a number outside [0, 1].

    Example:
        >>> sampling = ScheduledSampling(
        ...     keras.optimizers.schedules.PolynomialDecay(1.0, 1000, 0.25))
    """

    def __init__(self, rate: Any, seed: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(rate, dict):  # of `get_config`
            rate = keras.saving.deserialize_keras_object(rate)
        if not (callable(rate) or 0 <= rate <= 1):
            raise ValueError(f"`rate` must be within [0, 1]. Received: {rate}")
        self.rate, self.seed = rate, seed
        self.generator = keras.random.SeedGenerator(seed)
        self.step = self.add_weight(
            shape=(), dtype="int32", initializer="zeros", trainable=False, name="step"
        )
        self.built = True

    def call(self, inputs: dict[str, Any], model: Any) -> dict[str, Any]:
        ids = ops.cast(inputs["target_ids"], "int32")
        rate = self.rate(self.step.value) if callable(self.rate) else self.rate
        # Drawn outside the loop, where a generator's state would be lost.
        coins, draws = (
            keras.random.uniform(ops.shape(ids), seed=self.generator) for _ in range(2)
        )
        sampled = ops.logical_and(coins >= rate, ids > PAD_ID)
        self.step.assign_add(1)
        # The current weights as constants: the loop then needs no gradient.
        frozen = [(v, ops.stop_gradient(v.value)) for v in model.variables]
        with keras.StatelessScope(state_mapping=frozen):
            mixed = _mix(model, inputs["source_ids"], ids, sampled, draws)
        return {**inputs, "target_ids": ops.stop_gradient(mixed)}

    def get_config(self) -> dict[str, Any]:
        rate = keras.saving.serialize_keras_object(self.rate)
        return {**super().get_config(), "rate": rate, "seed": self.seed}


def _mix(model, source_ids, ids, sampled, draws):
    """The ids, where `sampled` those that the model draws after what it has read."""
    memory, time = model.encode(source_ids), ops.shape(ids)[1]
    places = ops.arange(time, dtype="int32")[None]  # (1, T)

    def body(step, mixed, state):
        logits, state, _ = model.step(ops.take(mixed, step, axis=1), state, memory)
        sample = _sample(logits, ops.take(draws, step, axis=1))
        here = ops.logical_and(places == step + 1, sampled)
        return step + 1, ops.where(here, sample[:, None], mixed), state

    first = ops.zeros((), dtype="int32"), ids, model.start_for(memory, time)
    return ops.while_loop(lambda step, *_: step < time - 1, body, first)[1]


def _sample(logits, draws):
    """Draws tokens `(B,)` by the cumulative distribution."""
    heights = ops.cumsum(ops.softmax(ops.cast(logits, "float32")), axis=-1)
    below = heights <= draws[:, None] * heights[:, -1:]
    ids = ops.sum(ops.cast(below, "int32"), axis=-1)
    return ops.minimum(ids, logits.shape[-1] - 1)
