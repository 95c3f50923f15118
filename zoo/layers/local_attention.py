"""Local attention: Luong, Pham & Manning 2015, section 3.2.

Positions count the real places of each sentence from 0, and S is their number: masked
places, wherever they stand, are as if absent.
"""

import numbers
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import integer
from zoo.layers.attention import Attention, weighted_sum
from zoo.layers.configured import Initializer, Size
from zoo.layers.functional import (
    gather_rows,
    linear,
    masked_softmax,
    real_first,
    real_positions,
    take_last,
)
from zoo.layers.scores import make_score


class _LocalAttention(Attention):
    """Attention restricted to the window [centre - D, centre + D].

    A subclass gives `place(query, lengths, position)`: the window's centre, int
    `(B, T)`, and p_t, float, or None.
    """

    score: Any = "general"
    window: Size = 10

    def setup(self) -> None:
        self.score_layer = make_score(
            self.score, self.kernel_initializer, dtype=self.dtype_policy
        )

    def attention_window(self, query, mask, position=None):
        """p_t `(B, T)`, and the first and last position of its window, `(B, T, 2)`.

        They count the real places of a mask `(B, S)` alone.
        """
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)[:, None]
        centre, focus = self.place(query, lengths, position)
        first = ops.maximum(centre - self.window, 0)
        last = ops.minimum(centre + self.window, ops.maximum(lengths - 1, 0))
        focus = ops.cast(centre, "float32") if focus is None else focus
        return focus, ops.stack([first, last], axis=-1)

    def attend(self, query, memory, mask, keys, position):
        if mask is None:
            mask = ops.ones(ops.shape(memory)[:2], "bool")
        mask = mask[:, None]
        lengths = ops.sum(ops.cast(mask, "int32"), axis=2)  # (B, 1)
        centre, focus = self.place(query, lengths, position)
        places = real_positions(mask)  # (B, 1, S)
        if self._gathers(memory.shape[1]):
            return self._gathered(query, memory, mask, places, keys, centre, focus)
        near = ops.abs(places - centre[..., None]) <= self.window
        near = ops.logical_and(near, mask)
        weights = masked_softmax(self.score_layer(query, keys), near)
        weights = self._gaussian(weights, places, focus)
        return weighted_sum(weights, memory), weights

    def _gathers(self, length):
        # Measured on CPU: copying the windows out of the memory pays only once the
        # source is about twice as long as a window. An unknown length may be long.
        known = isinstance(length, int)  # None or a symbol while a graph is traced
        return not known or length > 2 * (2 * self.window + 1)

    def _gathered(self, query, memory, mask, positions, keys, centre, focus):
        """The same result at a cost per target word of O(D) instead of O(S)."""
        length = ops.shape(memory)[1]
        width = 2 * self.window + 1
        start = (centre - self.window)[..., None]  # (B, T, 1), may lie outside
        places = start + ops.arange(width, dtype="int32")  # (B, T, W)
        index = ops.clip(places, 0, length - 1)
        index = gather_rows(real_first(mask[:, 0])[..., None], index)[..., 0]
        real = ops.logical_and(places >= 0, places <= positions[..., -1:])
        keys, values = gather_rows(keys, index), gather_rows(memory, index)
        scores = self.score_layer(query, keys)
        weights = masked_softmax(scores, real)  # (B, T, W)
        weights = self._gaussian(weights, places, focus)
        context = ops.sum(ops.expand_dims(weights, -1) * values, axis=2)
        # Spread the window's weights over the sentence: (B, T, S).
        offset = positions - start
        spread = take_last(weights, ops.clip(offset, 0, width - 1))
        covered = ops.logical_and(offset >= 0, offset < width)
        covered = ops.logical_and(covered, mask)
        return context, spread * ops.cast(covered, spread.dtype)

    def _gaussian(self, weights, places, focus):
        """Equation 10: times exp(-(s - p_t)² / 2σ²), σ = D / 2, not renormalised."""
        if focus is None:
            return weights
        distance = ops.cast(places, "float32") - focus[..., None]
        window = ops.cast(self.window, "float32")  # the explorer gives a tensor
        bell = ops.exp(-2.0 * ops.square(distance / window))
        return weights * ops.cast(bell, weights.dtype)


@keras.saving.register_keras_serializable(package="zoo")
class LocalMonotonicAttention(_LocalAttention):
    """Luong et al. 2015, section 3.2, "local-m": p_t = t.

    The window is centred on min(t, S - 1), as in the authors' code; the weights are
    the softmax of the score inside it.

    Args:
        score: "dot", "general", "scaled_dot", "concat", "additive" or a Score layer.
        window: D; the window is [centre - D, centre + D]. Defaults to the paper's 10.
        reverse: whether the memory stands in reversed source order, so that target
            position t faces memory position S - 1 - t.
        kernel_initializer: of the score's variables; the paper's is U(-0.1, 0.1).

    Call arguments (beside those of every attention layer):
        position: target positions: an int (or a tensor of no axis, or of `(B,)`)
            with a `(B, d)` query; a tensor `(T,)` or `(B, T)` with a `(B, T, d)`
            query, where it defaults to 0, 1, ... T - 1.

    Variables: those of the score.

    Raises:
        ValueError: for an unknown score or a window that is not a positive integer;
            when called with a `(B, d)` query and no position.

    Example:
        >>> import numpy as np
        >>> layer = LocalMonotonicAttention("general", window=2)
        >>> query, memory = np.ones((1, 8)), np.ones((1, 9, 12))
        >>> context, weights = layer(query, memory, position=4)
        >>> int((keras.ops.convert_to_numpy(weights) > 0).sum())
        5
    """

    needs_position = True

    reverse: bool = False
    kernel_initializer: Initializer = "glorot_uniform"

    def place(self, query: Tensor, lengths: Any, position: Tensor) -> Any:
        if position is None:
            position = ops.arange(ops.shape(query)[1], dtype="int32")
        elif isinstance(position, numbers.Number):
            position = integer("position", position, 0)
        position = ops.cast(position, "int32")
        # (), (B,) and (T,), (B, T) all broadcast to (B, T).
        if len(position.shape) == 1:
            axis = 1 if query.shape[1] == 1 else 0
            position = ops.expand_dims(position, axis)
        last = ops.maximum(lengths - 1, 0)
        centre = ops.minimum(position, last)  # (B, T)
        if self.reverse:
            centre = last - centre
        return ops.broadcast_to(centre, ops.shape(query)[:2]), None


@keras.saving.register_keras_serializable(package="zoo")
class LocalPredictiveAttention(_LocalAttention):
    """Luong et al. 2015, section 3.2, "local-p": equations 9 and 10.

    p_t = S · sigmoid(v_p · tanh(h_t W_p)); the window is centred on floor(p_t), kept
    inside the sentence; the weights are the softmax of the score inside the window
    times exp(-(s - p_t)² / 2σ²) with σ = D / 2 and the real-valued p_t. The product
    is not renormalised (the authors' code tried that and found it worse).

    Args:
        score: "dot", "general", "scaled_dot", "concat", "additive" or a Score layer.
        window: D; the window is [centre - D, centre + D]. Defaults to the paper's 10.
        units: columns of W_p; None, the default, for the query's size as in the paper.
        kernel_initializer: of every variable; the paper's is U(-0.1, 0.1).

    Variables: `W_p` (d, units), `v_p` (units,) and those of the score.

    Raises:
        ValueError: for an unknown score, or a window or units that are not positive
            integers.

    Example:
        >>> import numpy as np
        >>> layer = LocalPredictiveAttention("general", window=2)
        >>> context, weights = layer(np.ones((1, 3, 8)), np.ones((1, 9, 12)))
        >>> weights.shape
        (1, 3, 9)
    """

    units: Size | None = None
    kernel_initializer: Initializer = "glorot_uniform"

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        units = self.units or query_shape[-1]
        self.make_weight("W_p", (query_shape[-1], units), self.kernel_initializer)
        self.make_weight("v_p", (units,), self.kernel_initializer)
        super().build(query_shape, memory_shape)

    def place(self, query: Tensor, lengths: Any, position: Tensor) -> Any:
        hidden = ops.tanh(linear(query, self.W_p))
        # float32: half precisions can't tell neighbouring positions apart.
        logit = ops.sum(ops.cast(hidden * self.v_p, "float32"), axis=-1)
        share = ops.sigmoid(logit)
        focus = ops.cast(lengths, "float32") * share  # (B, T), equation 9
        last = ops.maximum(lengths - 1, 0)
        centre = ops.cast(ops.floor(ops.stop_gradient(focus)), "int32")
        return ops.clip(centre, 0, last), focus
