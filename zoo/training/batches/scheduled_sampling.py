"""Scheduled sampling, which changes the ids that a decoder reads in training.

A translator takes such layers as `augmentation=`, and applies them in training only.
"""

import math
from typing import Any

import keras
from keras import ops

from zoo.checks import one_of
from zoo.ids import PAD_ID

DECAYS = ("linear", "exponential", "inverse_sigmoid")


@keras.saving.register_keras_serializable(package="zoo")
class ScheduledSampling(keras.layers.Layer):
    """Lets the decoder read its own samples, more of them the longer it is trained.

    Bengio et al. 2015, section 2.4: before each target token, a coin is flipped. With
    probability ε_i the decoder reads the true previous token, otherwise one sampled
    from its own distribution given all that it has read, earlier samples included. ε_i
    falls with the number i of batches:

    - "linear": max(ε, k - c i);
    - "exponential": k^i, k < 1;
    - "inverse_sigmoid": k / (k + exp(i / k)), k ≥ 1.

    No gradient flows through the choice, as in the paper. So the tokens are chosen
    first, by `encode`, `start` and `step` of the model without dropout; the usual
    training pass over whole sentences then reads them. This works for all of zoo's
    translators, and costs one more greedy decoding of each batch.

    Args:
        decay: "linear", "exponential" or "inverse_sigmoid".
        k: k of the formula.
        c: slope of "linear".
        least: ε of "linear", the least probability of the true token.
        seed: random seed.

    Call arguments:
        inputs: dict of `source_ids` (B, S) and `target_ids` (B, T).
        model: the backbone that samples.

    Returns:
        The dict with other `target_ids`.

    Variables: `step`, the batches so far (a checkpoint of the model has it).

    Raises:
        ValueError: for another decay, or numbers outside the formula's range.

    Example:
        >>> sampling = ScheduledSampling("inverse_sigmoid", k=100.0)
        >>> [round(float(sampling.rate(step)), 3) for step in (0, 461, 1000)]
        [0.99, 0.499, 0.005]
    """

    def __init__(
        self,
        decay: str,
        k: float,
        c: float = 0.0,
        least: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        one_of("decay", decay, DECAYS)
        allowed = {
            "linear": 0 < k <= 1 and c >= 0 and 0 <= least <= 1,
            "exponential": 0 < k < 1,
            "inverse_sigmoid": 1 <= k < math.inf,
        }
        if not allowed[decay]:
            raise ValueError(
                '`k` must be in (0, 1] for "linear", with c ≥ 0 and `least` in [0, 1], '
                'in (0, 1) for "exponential" and at least 1 for "inverse_sigmoid". '
                f"Received: decay={decay!r}, k={k}, c={c}, least={least}"
            )
        self.decay, self.k, self.c = decay, k, c
        self.least, self.seed = least, seed
        self.generator = keras.random.SeedGenerator(seed)
        self.step = self.add_weight(
            shape=(), dtype="int32", initializer="zeros", trainable=False, name="step"
        )
        self.built = True

    def rate(self, step: Any) -> Any:
        """Returns ε_i, the probability of the true token in batch `step` (from 0)."""
        step = ops.cast(step, "float32")
        if self.decay == "linear":
            return ops.maximum(self.least, self.k - self.c * step)
        if self.decay == "exponential":
            return ops.exp(step * math.log(self.k))
        return self.k / (self.k + ops.exp(step / self.k))

    def call(self, inputs: dict[str, Any], model: Any) -> dict[str, Any]:
        ids = ops.cast(inputs["target_ids"], "int32")
        shape = ops.shape(ids)
        # Drawn outside the loop, where a generator's state would be lost.
        coins = keras.random.uniform(shape, seed=self.generator)
        draws = keras.random.uniform(shape, seed=self.generator)
        sampled = ops.logical_and(coins >= self.rate(self.step.value), ids > PAD_ID)
        self.step.assign_add(1)
        # The current weights as constants: the loop then needs no gradient.
        frozen = [(v, ops.stop_gradient(v.value)) for v in model.variables]
        with keras.StatelessScope(state_mapping=frozen):
            mixed = self._mix(model, inputs["source_ids"], ids, sampled, draws)
        return {**inputs, "target_ids": ops.stop_gradient(mixed)}

    def _mix(self, model, source_ids, ids, sampled, draws):
        memory = model.encode(source_ids)
        time = ops.shape(ids)[1]
        places = ops.arange(time, dtype="int32")[None]  # (1, T)

        def unfinished(step, mixed, state):
            return step < time - 1

        def body(step, mixed, state):
            token = ops.take(mixed, step, axis=1)
            logits, state, _ = model.step(token, state, memory)
            sample = _sample(logits, ops.take(draws, step, axis=1))
            here = ops.logical_and(places == step + 1, sampled)
            return step + 1, ops.where(here, sample[:, None], mixed), state

        first, state = ops.zeros((), dtype="int32"), model.start_for(memory, time)
        return ops.while_loop(unfinished, body, (first, ids, state))[1]

    def get_config(self) -> dict[str, Any]:
        names = ("decay", "k", "c", "least", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _sample(logits, draws):
    """Draws tokens `(B,)` by the cumulative distribution."""
    logits = ops.cast(logits, "float32")
    heights = ops.cumsum(ops.softmax(logits), axis=-1)
    below = heights <= draws[:, None] * heights[:, -1:]
    ids = ops.sum(ops.cast(below, "int32"), axis=-1)
    return ops.minimum(ids, logits.shape[-1] - 1)
