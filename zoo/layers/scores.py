"""Score functions: how well a decoder state fits a source position.

In the equations here and in all layers vectors are rows and matrices stand in Keras's
order, `(inputs, outputs)`: x W, where the papers write W x, is `x @ W`.

Every score splits into `project(memory)`, the part that depends on the source alone
and is computed once per sentence, and the call, which joins the projected keys with
one or more queries.
"""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import one_of
from zoo.layers.configured import ConfiguredLayer, Initializer, Size
from zoo.layers.functional import cast_weights, linear, to_float32


class Score(ConfiguredLayer):
    """Base class: `scores = score(query, score.project(memory))`.

    A part of the attention layers; used alone, it is built first by
    `build(query_shape, memory_shape)`.

    Shapes: query `(B, T, d)`; memory `(B, S, d_m)`; keys `(B, S, k)`, or
    `(B, T, W, k)` when a window of W positions was gathered for each query; scores
    `(B, T, S)` or `(B, T, W)`.
    """

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        self.built = True

    def kernels(self) -> tuple[Any, Any]:
        """The matrices that query and memory are multiplied with, or None."""
        return None, None

    def project(self, memory: Tensor) -> Tensor:
        """Keys `(B, S, k)` of `memory`, the memory itself if it has no matrix."""
        memory, kernel = ops.cast(memory, self.compute_dtype), self.kernels()[1]
        if kernel is None:
            return memory
        return linear(memory, cast_weights(kernel, self.compute_dtype))


def _join(query, keys):
    """Aligns a query `(B, T, d)` with keys; sums are `(B, T, S)`, `(B, S)` if T = 1."""
    if len(keys.shape) == 4:
        return ops.expand_dims(query, 2), keys
    if query.shape[1] == 1:
        # Keys as they are: TensorFlow keeps whatever a loop's step makes of them for
        # the gradient, once a step.
        return query, keys
    return ops.expand_dims(query, 2), ops.expand_dims(keys, 1)


def _with_queries(scores):
    """Scores of one query, `(B, S)` from `_join`, as `(B, 1, S)`."""
    return ops.expand_dims(scores, 1) if len(scores.shape) == 2 else scores


@keras.saving.register_keras_serializable(package="zoo")
class DotScore(Score):
    """h_t · h_s (Luong et al. 2015, section 3.1, "dot")."""

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        if query_shape[-1] != memory_shape[-1]:
            raise ValueError(
                "The dot score needs query and memory of equal size; use "
                f'score="general" otherwise. Received: query size {query_shape[-1]}, '
                f"memory size {memory_shape[-1]}"
            )
        self.built = True

    def call(self, query: Tensor, keys: Tensor) -> Tensor:
        if query.shape[1] == 1:
            # A matrix-vector product, which fuses better than a batched product.
            query, keys = _join(query, keys)
            # Infinite terms of both signs would sum to NaN.
            scores = ops.sum(to_float32(query) * to_float32(keys), axis=-1)
            return _with_queries(ops.cast(scores, query.dtype))
        if len(keys.shape) == 3:
            return ops.matmul(query, ops.transpose(keys, (0, 2, 1)))
        scores = ops.einsum("btd,btwd->btw", to_float32(query), to_float32(keys))
        return ops.cast(scores, query.dtype)


@keras.saving.register_keras_serializable(package="zoo")
class ScaledDotScore(DotScore):
    """h_t · h_s / sqrt(d) (Vaswani et al. 2017, equation 1)."""

    def call(self, query: Tensor, keys: Tensor) -> Tensor:
        # The query first: the product may be too large for float16.
        return super().call(query * (query.shape[-1] ** -0.5), keys)


@keras.saving.register_keras_serializable(package="zoo")
class GeneralScore(DotScore):
    """h_t · (h_s W_a) (Luong et al. 2015, section 3.1, "general").

    `W_a` has shape `(d_m, d)`: it maps the memory into the query's space, and is
    the paper's matrix transposed, whose vectors are columns.
    """

    kernel_initializer: Initializer = "glorot_uniform"

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        shape = (memory_shape[-1], query_shape[-1])
        self.make_weight("W_a", shape, self.kernel_initializer)
        self.built = True

    def kernels(self) -> tuple[Any, Any]:
        return None, self.W_a


class _TanhScore(Score):
    """v_a · tanh(query part + key part + b_a); `units` is the query's by default."""

    units: Size | None = None
    kernel_initializer: Initializer = "glorot_uniform"
    vector_initializer: Initializer = "glorot_uniform"
    use_bias: bool = False

    def _build(self, rows, units):
        """Makes the matrices of so many rows, then the vectors."""
        units = self.units or units
        for name, count in rows.items():
            self.make_weight(name, (count, units), self.kernel_initializer)
        self.make_weight("v_a", (units,), self.vector_initializer)
        if self.use_bias:
            self.make_weight("b_a", (units,), "zeros")
        self.built = True

    def call(self, query, keys):
        query = linear(query, cast_weights(self.kernels()[0], self.compute_dtype))
        if self.use_bias:
            query = query + self.b_a
        query, keys = _join(query, keys)
        hidden = ops.tanh(query + keys)
        scores = ops.squeeze(linear(hidden, ops.expand_dims(self.v_a, -1)), -1)
        return _with_queries(scores)


@keras.saving.register_keras_serializable(package="zoo")
class AdditiveScore(_TanhScore):
    """v_a · tanh(s W_a + h_j U_a) (Bahdanau et al. 2015, appendix A.1.2).

    `W_a` has shape `(d, units)`, `U_a` `(d_m, units)`.
    """

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        self._build({"W_a": query_shape[-1], "U_a": memory_shape[-1]}, query_shape[-1])

    def kernels(self) -> tuple[Any, Any]:
        return self.W_a, self.U_a


@keras.saving.register_keras_serializable(package="zoo")
class ConcatScore(_TanhScore):
    """v_a · tanh([h_t; h_s] W_a) (Luong et al. 2015, section 3.1, "concat").

    `W_a` has shape `(d + d_m, units)`, the query's rows first. The authors' code
    fixes the source half to the identity, which their footnote admits; here it is
    learned, as the equation says.
    """

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        self.query_size = query_shape[-1]
        self._build({"W_a": query_shape[-1] + memory_shape[-1]}, query_shape[-1])

    def kernels(self) -> tuple[Any, Any]:
        return self.W_a[: self.query_size], self.W_a[self.query_size :]


SCORES = {
    "dot": DotScore,
    "general": GeneralScore,
    "scaled_dot": ScaledDotScore,
    "concat": ConcatScore,
    "additive": AdditiveScore,
}


def make_score(
    score: Any, initializer: Any = "glorot_uniform", **options: Any
) -> Score:
    """Builds a score from a name in `SCORES`, or passes a `Score` through."""
    if isinstance(score, Score):
        return score
    cls = SCORES[one_of("score", score, SCORES)]
    if issubclass(cls, _TanhScore):
        options["vector_initializer"] = initializer
    if issubclass(cls, (GeneralScore, _TanhScore)):
        options["kernel_initializer"] = initializer
    return cls(**options)
