"""Changes of the input ids in training: word dropout and scheduled sampling.

A translator takes them as `noise=`, and applies them in training only.
"""

import math

import keras
from keras import ops

from zoo.text.tokenizer import END_ID, PAD_ID, UNKNOWN_ID


@keras.saving.register_keras_serializable(package="zoo")
class WordDropout(keras.layers.Layer):
    """Replaces input tokens by the unknown token, each with a probability.

    Whole tokens are dropped, at each place by itself (Iyyer et al. 2015, section 3.3,
    which leaves them out of an average; Bowman et al. 2016, section 3.1, with the
    unknown token as here). Padding and the start token stay, and so do the labels.

    Args:
        source: probability of a source token, in [0, 1).
        target: probability of a target token that the decoder reads, in [0, 1).
        seed: seed of the choice.

    Call arguments:
        inputs: dict of `source_ids` (B, S) and `target_ids` (B, T).
        model: not used.

    Returns:
        The dict with other ids.

    Raises:
        ValueError: for a probability outside [0, 1).

    Example:
        >>> import numpy as np
        >>> ids = np.array([[2, 7, 8, 0]])
        >>> noisy = WordDropout(target=0.5)({"source_ids": ids, "target_ids": ids})
        >>> bool((keras.ops.convert_to_numpy(noisy["source_ids"]) == ids).all())
        True
    """

    def __init__(self, source=0.0, target=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        for name, value in (("source", source), ("target", target)):
            if not 0 <= value < 1:
                raise ValueError(f"`{name}` must be in [0, 1). Received: {value!r}")
        self.source, self.target, self.seed = source, target, seed
        self.generator = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, inputs, model=None):
        changed = dict(inputs)
        for name, rate in (("source_ids", self.source), ("target_ids", self.target)):
            if rate:
                ids = ops.cast(inputs[name], "int32")
                draw = keras.random.uniform(ops.shape(ids), seed=self.generator)
                drop = ops.logical_and(draw < rate, ids > END_ID)
                changed[name] = ops.where(drop, UNKNOWN_ID, ids)
        return changed

    def get_config(self):
        config = {"source": self.source, "target": self.target, "seed": self.seed}
        return {**super().get_config(), **config}


DECAYS = ("linear", "exponential", "inverse_sigmoid")


@keras.saving.register_keras_serializable(package="zoo")
class ScheduledSampling(keras.layers.Layer):
    """The decoder reads its own samples, the more often the longer it was trained.

    Bengio et al. 2015, section 2.4: before each target token a coin decides. With
    probability ε_i the decoder reads the true previous token, otherwise one sampled
    from its own distribution, which follows from all that it has read, earlier samples
    included. ε_i falls with the number i of batches:

    - "linear": max(ε, k - c i);
    - "exponential": k^i, k < 1;
    - "inverse_sigmoid": k / (k + exp(i / k)), k ≥ 1.

    No gradient flows through the choice, as in the paper. So the tokens are chosen
    first, by `encode`, `start` and `step` of the model without dropout, and the usual
    training pass over whole sentences then reads them: it works for every model of the
    contract, at the price of one greedy decoding more for each batch.

    Args:
        decay: "linear", "exponential" or "inverse_sigmoid".
        k: k of the formula.
        c: slope of "linear".
        least: ε of "linear", the least probability of the true token.
        seed: seed of coins and samples.

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

    def __init__(self, decay, k, c=0.0, least=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        if decay not in DECAYS:
            raise ValueError(
                f"`decay` must be one of {list(DECAYS)}. Received: decay={decay!r}"
            )
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

    def rate(self, step):
        """ε_i: the probability of the true token in batch `step`, counted from 0."""
        step = ops.cast(step, "float32")
        if self.decay == "linear":
            return ops.maximum(self.least, self.k - self.c * step)
        if self.decay == "exponential":
            return ops.exp(step * math.log(self.k))
        return self.k / (self.k + ops.exp(step / self.k))

    def call(self, inputs, model):
        ids = ops.cast(inputs["target_ids"], "int32")
        shape = ops.shape(ids)
        # Drawn outside of the loop: inside, a generator's state would be lost.
        coins = keras.random.uniform(shape, seed=self.generator)
        draws = keras.random.uniform(shape, seed=self.generator)
        own = ops.logical_and(coins >= self.rate(self.step.value), ids > PAD_ID)
        self.step.assign_add(1)
        # The model of now, as constants: the loop then needs no gradient.
        frozen = [(v, ops.stop_gradient(v.value)) for v in model.variables]
        with keras.StatelessScope(state_mapping=frozen):
            mixed = self._mix(model, inputs["source_ids"], ids, own, draws)
        return {**inputs, "target_ids": ops.stop_gradient(mixed)}

    def _mix(self, model, source_ids, ids, own, draws):
        memory = model.encode(source_ids)
        time = ops.shape(ids)[1]
        places = ops.arange(time, dtype="int32")[None]  # (1, T)

        def going(step, mixed, state):
            return step < time - 1

        def body(step, mixed, state):
            token = ops.take(mixed, step, axis=1)
            logits, state, _ = model.step(token, state, memory)
            sample = self._sample(logits, ops.take(draws, step, axis=1))
            here = ops.logical_and(places == step + 1, own)
            return step + 1, ops.where(here, sample[:, None], mixed), state

        first, state = ops.zeros((), dtype="int32"), model.start_for(memory, time)
        return ops.while_loop(going, body, (first, ids, state))[1]

    def _sample(self, logits, draws):
        """Draws from the distribution by its cumulated probabilities: `(B,)`."""
        logits = ops.cast(logits, "float32")
        heights = ops.cumsum(ops.softmax(logits), axis=-1)
        below = heights <= draws[:, None] * heights[:, -1:]
        ids = ops.sum(ops.cast(below, "int32"), axis=-1)
        return ops.minimum(ids, logits.shape[-1] - 1)

    def get_config(self):
        return {
            **super().get_config(),
            "decay": self.decay,
            "k": self.k,
            "c": self.c,
            "least": self.least,
            "seed": self.seed,
        }
