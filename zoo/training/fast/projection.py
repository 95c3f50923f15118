"""Cross-entropy of an output layer whose logits are never whole in memory."""

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers.functional import custom_gradient, is_recorded

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
    there is one slice.

    Args:
        features, kernel, bias: `(B, T, d)`, `(d, V)`, and `(V,)` or None.
        labels, weights: int and float32 `(B, T)`.
        smoothing: ε of label smoothing, see `zoo.training.SmoothedCrossEntropy`.

    Returns:
        float32 scalar, with gradients for features, kernel and bias.
    """
    labels, weights = ops.cast(labels, "int32"), ops.convert_to_tensor(weights)
    length = _slice_length(features.shape, kernel.shape[-1])

    @custom_gradient
    def loss(features, kernel, labels, weights, *bias):
        inputs = (features, labels, weights, kernel, bias, smoothing)
        total, d_features, *gradients = (
            _part(*inputs) if length is None else _sliced(length, *inputs)
        )

        def gradient(upstream):
            d_kernel, *d_bias = (ops.cast(upstream, g.dtype) * g for g in gradients)
            scale = ops.cast(upstream, d_features.dtype)
            return scale * d_features, d_kernel, None, None, *d_bias

        return total, gradient

    return loss(features, kernel, labels, weights, *([] if bias is None else [bias]))


def _slice_length(shape, vocabulary):
    """Time steps of a slice for features of this shape; None for one slice."""
    batch, time = shape[:2]
    if not isinstance(batch, int) or not isinstance(time, int):
        return None
    length = max(1, SLICE_SIZE // (batch * vocabulary))
    return None if length >= time else length


def _sliced(length, features, labels, weights, kernel, bias, smoothing):
    """`_part` of one slice of time after another, added up."""
    batch, time, size = features.shape
    count = -(-time // length)
    spare = ((0, 0), (0, count * length - time))  # of weight 0
    features = ops.pad(features, (*spare, (0, 0)))
    labels, weights = ops.pad(labels, spare), ops.pad(weights, spare)

    def add(total, part):
        part = ops.cast(part, total.dtype)
        if keras.backend.backend() == "torch":  # no third tensor of the kernel's size
            return total.add_(part)
        return ops.add(total, part)

    def step(index, sums):
        d_features, *gradients = sums
        start = index * length
        total, d_part, *parts = _part(
            ops.slice(features, (0, start, 0), (batch, length, size)),
            ops.slice(labels, (0, start), (batch, length)),
            ops.slice(weights, (0, start), (batch, length)),
            kernel,
            bias,
            smoothing,
        )
        added = map(add, gradients, (total, *parts))
        return ops.slice_update(d_features, (0, start, 0), d_part), *added

    zeros = [ops.zeros(x.shape, dtype="float32") for x in (kernel, *bias)]
    first = (ops.zeros_like(features), ops.zeros((), dtype="float32"), *zeros)
    d_features, total, *sums = ops.fori_loop(0, count, step, first)
    gradients = [
        ops.cast(d, x.dtype) for d, x in zip(sums, (kernel, *bias), strict=True)
    ]
    return total, d_features[:, :time], *gradients


def _part(features, labels, weights, kernel, bias, smoothing):
    """The loss, and the gradients of features, kernel and, if there is one, bias."""
    shape = ops.shape(features)
    rows = ops.reshape(features, (-1, shape[-1]))
    labels, weights = ops.reshape(labels, (-1, 1)), ops.reshape(weights, (-1, 1))
    logits = ops.cast(ops.matmul(rows, kernel), "float32")
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
        ops.reshape(ops.matmul(gradient, ops.transpose(kernel)), shape),
        ops.matmul(ops.transpose(rows), gradient),
        *d_bias,
    )


def _with_gradient(logits, labels, weights, smoothing):
    """Losses `(N, 1)`, and their weighted sum's gradient for the logits `(N, V)`."""
    vocabulary = logits.shape[-1]
    peak = ops.max(logits, axis=-1, keepdims=True)
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
    """Losses and gradient under torch, which overwrites the logits with the gradient.

    Torch would give each operation a tensor of its own.
    """
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
