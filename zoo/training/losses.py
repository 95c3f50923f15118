"""The training loss, with and without its logits."""

import functools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.checks import one_of, rate
from zoo.layers.functional import (
    custom_gradient,
    is_recorded,
    log_sum_exp,
    matmul,
    maxima,
    transpose_matmul,
)


def mean(total: Tensor, count: Tensor) -> Tensor:
    """The loss of a batch of which nothing is on another device."""
    return total / ops.maximum(count, 1.0)


@keras.saving.register_keras_serializable(package="zoo")
class SmoothedCrossEntropy(keras.losses.Loss):
    """Cross-entropy of integer labels and logits, with label smoothing.

    The target distribution is (1 - ε) one-hot + ε / V (Szegedy et al. 2016), computed
    without a one-hot tensor: logsumexp(z) - (1 - ε) z_gold - ε mean(z).

    Args:
        smoothing: ε in [0, 1).
        normalize: "tokens" divides the batch's loss by the sum of the weights (a mean
            over real tokens); "sentences" divides by the number of sentences that
            have one, as Sutskever et al. 2014 and Luong et al. 2015 do.

    Call arguments: labels `(B, T)`, logits `(B, T, V)`, `sample_weight` `(B, T)`.

    Raises:
        ValueError: for ε outside [0, 1) or another way to normalise.

    Example:
        >>> import numpy as np
        >>> loss = SmoothedCrossEntropy(0.1)
        >>> round(float(loss(np.array([[1, 2]]), np.zeros((1, 2, 4)))), 4)
        1.3863
    """

    def __init__(
        self,
        smoothing: float = 0.0,
        normalize: str = "tokens",
        name: str = "loss",
        **kwargs: Any,
    ) -> None:
        kwargs.pop("reduction", None)
        super().__init__(name=name, reduction="sum", **kwargs)
        self.smoothing = rate("smoothing", smoothing)
        self.normalize = one_of("normalize", normalize, ("tokens", "sentences"))
        # Of several devices, each has a share of the batch.
        self.mean: Callable[[Tensor, Tensor], Tensor] = mean

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        y_pred = ops.cast(y_pred, "float32")
        labels = ops.cast(y_true, "int32")[..., None]
        gold = ops.take_along_axis(y_pred, labels, axis=-1)
        losses = (log_sum_exp(y_pred) - (1.0 - self.smoothing) * gold)[..., 0]
        if self.smoothing:
            losses = losses - self.smoothing * ops.mean(y_pred, axis=-1)
        return losses

    def __call__(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Any:
        weights = _weights(sample_weight, y_pred)
        total = ops.sum(self.call(y_true, y_pred) * weights)
        return self.mean(total, self.count(weights))

    def projected(
        self,
        features: Tensor,
        kernel: Tensor,
        bias: Tensor,
        y_true: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of the logits `features @ kernel + bias`, without these logits.

        Training does without these logits, which would be the largest tensor of a
        step: see `projected_cross_entropy`.

        Args:
            features: `(B, T, d)`, what the output layer reads.
            kernel: its matrix `(d, V)`.
            bias: `(V,)`, or None.
            y_true, sample_weight: as in a call.
        """
        weights = _weights(sample_weight, features)
        total = projected_cross_entropy(
            features, kernel, bias, y_true, weights, self.smoothing
        )
        return self.mean(total, self.count(weights))

    def count(self, weights: Tensor) -> Tensor:
        """The divisor of a batch's summed loss, for weights `(B, T)`."""
        if self.normalize == "sentences":
            weights = ops.cast(ops.any(weights > 0, axis=-1), weights.dtype)
        return ops.sum(weights)

    def get_config(self) -> dict[str, Any]:
        names = ("name", "smoothing", "normalize")
        return {name: getattr(self, name) for name in names}


def _weights(sample_weight, outputs):
    """The weights `(B, …)` of outputs `(B, …, d)`: 1 if none are given."""
    if sample_weight is None:
        return ops.ones(ops.shape(outputs)[:-1])
    return ops.cast(sample_weight, "float32")


# === Without logits ===

# Logits of a slice: 64 MB in float32. Every smaller step is one slice.
SLICE_SIZE = 2**24


def projected_cross_entropy(
    features: Tensor,
    kernel: Tensor,
    bias: Tensor,
    labels: Tensor,
    weights: Tensor,
    smoothing: float = 0.0,
) -> Tensor:
    """Sum of the weighted cross-entropies of `features @ kernel + bias`.

    The gradient of this loss is known as soon as the loss is, so both are computed in
    the forward pass: a slice of time at a time, whose logits are dropped before those
    of the next slice are made. The `(B, T, V)` logits, their exponentials and their
    gradient have `SLICE_SIZE` elements each, or one time step's where that is more, and
    the exponentials are taken once. Where B or T is not known when the step is traced,
    there is one slice. (In slices of rows, each of several devices would compute all.)

    Takes `(B, T, d)`, `(d, V)`, `(V,)` or None, and `(B, T)` labels and weights; gives
    a float32 scalar, with gradients for features, kernel and bias.
    """

    @custom_gradient
    def loss(features, kernel, labels, weights, *bias):
        batch, time = features.shape[:2]
        part = _part
        if isinstance(batch, int) and isinstance(time, int):
            length = max(1, SLICE_SIZE // (batch * kernel.shape[-1]))
            if length < time:
                part = functools.partial(_sliced, length)
        total, d_features, *gradients = part(
            features, labels, weights, kernel, bias, smoothing
        )

        def gradient(upstream):
            d_kernel, *d_bias = (ops.cast(upstream, g.dtype) * g for g in gradients)
            scale = ops.cast(upstream, d_features.dtype)
            return scale * d_features, d_kernel, None, None, *d_bias

        return total, gradient

    labels, weights = ops.cast(labels, "int32"), ops.convert_to_tensor(weights)
    return loss(features, kernel, labels, weights, *([] if bias is None else [bias]))


def _sliced(length, features, labels, weights, kernel, bias, smoothing):
    """`_part` of one slice of `length` steps of time after another, added up."""
    batch, time = features.shape[:2]
    count = -(-time // length)
    spare = ((0, 0), (0, count * length - time), (0, 0))  # of weight 0
    padded = [ops.pad(x, spare[: len(x.shape)]) for x in (features, labels, weights)]

    def step(index, sums):
        d_features, *sums = sums
        start = (0, index * length, 0)
        part = [
            ops.slice(x, start[: len(x.shape)], (batch, length, *x.shape[2:]))
            for x in padded
        ]
        total, d_part, *gradients = _part(*part, kernel, bias, smoothing)
        added = map(ops.add, sums, (total, *gradients))
        return ops.slice_update(d_features, start, d_part), *added

    zeros = [ops.zeros(x.shape, dtype="float32") for x in (kernel, *bias)]
    first = (ops.zeros_like(padded[0]), ops.zeros((), dtype="float32"), *zeros)
    d_features, total, *sums = ops.fori_loop(0, count, step, first)
    gradients = map(ops.cast, sums, [x.dtype for x in (kernel, *bias)])
    return total, d_features[:, :time], *gradients


def _part(features, labels, weights, kernel, bias, smoothing):
    """The loss, and the gradients of features, kernel and, if there is one, bias."""
    shape = ops.shape(features)
    rows = ops.reshape(features, (-1, shape[-1]))
    labels, weights = ops.reshape(labels, (-1, 1)), ops.reshape(weights, (-1, 1))
    logits = ops.cast(matmul(rows, kernel), "float32")
    if bias:
        logits = logits + ops.cast(bias[0], "float32")
    with_gradient = _with_gradient
    if keras.backend.backend() == "torch" and not is_recorded(logits):
        with_gradient = _with_gradient_in_place
    losses, gradient = with_gradient(logits, labels, weights, smoothing)
    d_bias = [ops.cast(ops.sum(gradient, axis=0), b.dtype) for b in bias]
    gradient = ops.cast(gradient, rows.dtype)
    return (
        ops.sum(losses * weights),
        ops.reshape(matmul(gradient, kernel, transposed=True), shape),
        transpose_matmul(rows, gradient),
        *d_bias,
    )


def _with_gradient(logits, labels, weights, smoothing):
    """Losses `(N, 1)`, and their weighted sum's gradient for the logits `(N, V)`."""
    vocabulary = logits.shape[-1]
    peak = maxima(logits)
    exponentials = ops.exp(logits - peak)
    total = ops.sum(exponentials, axis=-1, keepdims=True)
    gold = ops.take_along_axis(logits, labels, axis=-1)
    losses = peak + ops.log(total) - (1.0 - smoothing) * gold
    if smoothing:
        losses = losses - smoothing * ops.mean(logits, axis=-1, keepdims=True)
    # softmax minus the target distribution, without a one-hot tensor of its own.
    places = ops.arange(vocabulary, dtype="int32")[None]
    target = ops.where(places == labels, (1.0 - smoothing) * weights, 0.0)
    gradient = exponentials * (weights / total) - target
    if smoothing:
        gradient = gradient - (smoothing / vocabulary) * weights
    return losses, gradient


def _with_gradient_in_place(logits, labels, weights, smoothing):
    """Overwrites the logits with their gradient under torch, in few passes."""
    peak = logits.amax(-1, keepdim=True)
    losses = peak - (1.0 - smoothing) * logits.gather(1, labels.long())
    if smoothing:
        losses = losses - smoothing * logits.mean(-1, keepdim=True)
    gradient = logits.sub_(peak).exp_()
    total = gradient.sum(-1, keepdim=True)
    gradient.mul_(weights / total)
    gradient.scatter_add_(1, labels.long(), (smoothing - 1.0) * weights)
    if smoothing:
        gradient.sub_(smoothing / logits.shape[-1] * weights)
    return losses + total.log(), gradient
