"""Global attention: additive, multiplicative, concat and location.

All attention layers, the local ones included, are called alike:
`context, weights = layer(query, memory, mask=None)`. They keep nothing between calls:
keys that are projected once per sentence are a value, passed in by `keys=`.
"""

from typing import Any, Literal

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.configured import ConfiguredLayer, Initializer, Size
from zoo.layers.functional import (
    linear,
    masked_softmax,
    read_mask,
    real_positions,
    take_last,
)
from zoo.layers.scores import AdditiveScore, ConcatScore, make_score


def with_keys(
    layer: Any, memory: Tensor, mask: Tensor | None, keys: Any
) -> tuple[Tensor, Any]:
    """The memory and its keys by a layer's `project`, unless they are at hand."""
    if keys is not None:
        return memory, keys
    if mask is not None:  # NaN times 0 would be NaN
        memory = ops.where(read_mask(mask, memory)[..., None], memory, 0.0)
    return memory, layer.project(memory)


class MemoryLayer(ConfiguredLayer):
    """Base class of the layers called as `layer(inputs, memory, …, mask=None)`.

    `mask` is the memory's; Keras would take it for that of the first argument, so it
    reaches `call` as `memory_mask`, which Keras fills with the memory's own mask.
    """

    def __call__(self, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Any:
        if mask is not None:
            kwargs["memory_mask"] = mask
        return super().__call__(*args, **kwargs)


class Attention(MemoryLayer):
    """Base class of the attention layers.

    A subclass gives `attend(query, memory, mask, keys, position)`, the context and the
    weights for a query `(B, T, d)`; this class adds the single-step form, projected
    keys and masks.

    Call arguments:
        query: `(B, d)`, one decoder state a sentence, or `(B, T, d)`.
        memory: `(B, S, d_m)`, the source annotations.
        mask: bool `(B, S)`, true where a source position is real. Defaults to memory's
            Keras mask where it has one, else every position is real. Padding may stand
            anywhere: scores that depend on positions count the real ones.
        keys: `project(memory)`, if already computed. Masked positions of the memory
            must then be finite; otherwise they may be NaN.
        position: target positions, used by `LocalMonotonicAttention` only.
        noise: for `HardAttention` only.

    Returns:
        `context` `(B[, T], d_m)` and `weights` `(B[, T], S)`. Weights are exactly 0
        on masked positions; a row with nothing to attend to gives zeros. The context
        carries the query's Keras mask, if it has one.

    Raises:
        ValueError: for a query, memory or mask of another shape; for noise, if this is
            no `HardAttention`.
    """

    needs_position = False
    takes_noise = False

    def project(self, memory: Tensor) -> Tensor:
        """Keys `(B, S, k)` of `memory`, to be computed once and passed as `keys=`."""
        return self.score_layer.project(memory)

    def call(
        self,
        query: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        keys: Tensor | None = None,
        position: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        single = len(query.shape) == 2
        if noise is not None and not self.takes_noise:
            raise ValueError(
                "Only HardAttention takes `noise`. Received: noise for "
                f"{type(self).__name__}"
            )
        if single and position is None and self.needs_position:
            raise ValueError(
                f"{type(self).__name__} needs `position=` (the target position) with a "
                f"query (B, d). Received: query {tuple(query.shape)}, position=None"
            )
        if single:
            query = ops.expand_dims(query, 1)
            noise = None if noise is None else ops.expand_dims(noise, 1)
        options = {"noise": noise} if self.takes_noise else {}
        mask = read_mask(memory_mask, memory)
        memory, keys = with_keys(self, memory, mask, keys)
        context, weights = self.attend(query, memory, mask, keys, position, **options)
        context = ops.cast(context, self.compute_dtype)
        weights = ops.cast(weights, self.compute_dtype)
        if single:
            return ops.squeeze(context, 1), ops.squeeze(weights, 1)
        return context, weights

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        if len(query_shape) not in (2, 3) or len(memory_shape) != 3:
            raise ValueError(
                f"{type(self).__name__} takes a query (B, d) or (B, T, d) and a memory "
                f"(B, S, d_m). Received: query {tuple(query_shape)}, memory "
                f"{tuple(memory_shape)}"
            )
        if not self.score_layer.built:
            self.score_layer.build(query_shape, memory_shape)
        self.built = True

    def compute_output_shape(self, query_shape: Shape, memory_shape: Shape) -> Any:
        lead = tuple(query_shape[:-1])
        return (*lead, memory_shape[-1]), (*lead, memory_shape[1])


def weighted_sum(weights: Tensor, values: Tensor) -> Tensor:
    """The weighted sum of values: `(B, T, S)` and `(B, S, d)` give `(B, T, d)`."""
    if weights.shape[1] == 1:
        column = ops.expand_dims(ops.squeeze(weights, 1), -1)  # (B, S, 1)
        return ops.sum(column * values, axis=1, keepdims=True)
    return ops.matmul(weights, values)


class _GlobalAttention(Attention):
    """softmax of the score over all real positions."""

    def attend(self, query, memory, mask, keys, position):
        scores = self.score_layer(query, keys)  # (B, T, S)
        mask = None if mask is None else mask[:, None]
        weights = masked_softmax(scores, mask)
        return weighted_sum(weights, memory), weights


@keras.saving.register_keras_serializable(package="zoo")
class AdditiveAttention(_GlobalAttention):
    """Bahdanau, Cho & Bengio 2015, appendix A.1.2: v_a · tanh(s W_a + h_j U_a).

    The query is the previous decoder state s_{i-1} in the paper; which state is
    passed is the caller's choice. The paper has no bias.

    Args:
        units: n', the size of the hidden layer of the score.
        kernel_initializer: of W_a and U_a; the paper's is N(0, 0.001²).
        vector_initializer: of v_a; the paper's is zeros.
        use_bias: whether b_a, from zeros, is added inside the tanh. Default False.

    Variables: `W_a` (d, units), `U_a` (d_m, units), `v_a` (units,); `b_a` (units,)
        with `use_bias`.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> layer = AdditiveAttention(16)
        >>> context, weights = layer(np.ones((2, 8)), np.ones((2, 5, 12)))
        >>> context.shape, weights.shape
        ((2, 12), (2, 5))
    """

    _score_class = AdditiveScore

    units: Size
    kernel_initializer: Initializer = "glorot_uniform"
    vector_initializer: Initializer = "glorot_uniform"
    use_bias: bool = False

    def setup(self) -> None:
        options = self.kernel_initializer, self.vector_initializer, self.use_bias
        self.score_layer = self._score_class(
            self.units, *options, dtype=self.dtype_policy
        )


@keras.saving.register_keras_serializable(package="zoo")
class ConcatAttention(AdditiveAttention):
    """Luong, Pham & Manning 2015, section 3.1, "concat": v_a · tanh([h_t; h_s] W_a).

    Args:
        units: the size of the hidden layer of the score.
        kernel_initializer: of W_a; the paper's is U(-0.1, 0.1).
        vector_initializer: of v_a; the paper's is U(-0.1, 0.1).
        use_bias: whether b_a, from zeros, is added inside the tanh. Default False.

    Variables: `W_a` (d + d_m, units), the query's rows first; `v_a` (units,); `b_a`
        (units,) with `use_bias`.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> layer = ConcatAttention(16)
        >>> context, weights = layer(np.ones((2, 3, 8)), np.ones((2, 5, 12)))
        >>> context.shape, weights.shape
        ((2, 3, 12), (2, 3, 5))
    """

    _score_class = ConcatScore


@keras.saving.register_keras_serializable(package="zoo")
class MultiplicativeAttention(_GlobalAttention):
    """Luong et al. 2015, equation 7 with the scores "dot" and "general".

    Args:
        score: "dot" (h_t · h_s), "general" (h_t · (h_s W_a)) or "scaled_dot"
            (h_t · h_s / sqrt(d), Vaswani et al. 2017).
        kernel_initializer: of W_a; the paper's is U(-0.1, 0.1).

    Variables: `W_a` (d_m, d) with "general", none otherwise.

    Raises:
        ValueError: for an unknown score; when built, if "dot" or "scaled_dot" is
            given a query and a memory of unequal size.

    Example:
        >>> import numpy as np
        >>> layer = MultiplicativeAttention("general")
        >>> mask = np.array([[True] * 5, [True, True, False, False, False]])
        >>> context, weights = layer(np.ones((2, 8)), np.ones((2, 5, 12)), mask=mask)
        >>> weights.shape
        (2, 5)
    """

    score: Literal["dot", "general", "scaled_dot"] = "general"
    kernel_initializer: Initializer = "glorot_uniform"

    def setup(self) -> None:
        self.score_layer = make_score(
            self.score, self.kernel_initializer, dtype=self.dtype_policy
        )


@keras.saving.register_keras_serializable(package="zoo")
class LocationAttention(Attention):
    """Luong et al. 2015, equation 8: a_t = softmax(h_t W_a).

    The weights depend on the decoder state alone. Entry s belongs to the real position
    s, from 0; positions from `max_length` on are ignored (weight 0).

    Args:
        max_length: number of source positions that can be attended to.
        kernel_initializer: of W_a; the paper's is U(-0.1, 0.1).

    Variables: `W_a` (d, max_length).

    Raises:
        ValueError: if `max_length` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> layer = LocationAttention(50)
        >>> context, weights = layer(np.ones((2, 8)), np.ones((2, 5, 12)))
        >>> weights.shape
        (2, 5)
    """

    max_length: Size
    kernel_initializer: Initializer = "glorot_uniform"

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        shape = (query_shape[-1], self.max_length)
        self.make_weight("W_a", shape, self.kernel_initializer)
        self.built = True

    def project(self, memory: Tensor) -> Tensor:
        return memory  # this score does not look at the source

    def attend(self, query: Tensor, memory: Tensor, mask: Any, *_: Any) -> Any:
        scores = linear(query, self.W_a)  # (B, T, max_length)
        if mask is None:
            mask = ops.ones((1, ops.shape(memory)[1]), "bool")
        mask = mask[:, None]
        # Entry s of the vector belongs to the real position s, whatever S is.
        places = real_positions(mask)
        scores = take_last(scores, ops.clip(places, 0, self.max_length - 1))
        real = ops.logical_and(places < self.max_length, mask)
        weights = masked_softmax(scores, real)
        return weighted_sum(weights, memory), weights
