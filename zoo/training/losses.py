"""The training loss, and the perplexity that goes with it."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.checks import one_of, rate
from zoo.training.fast.projection import projected_cross_entropy


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
        gold = ops.take_along_axis(y_pred, labels, axis=-1)[..., 0]
        losses = ops.logsumexp(y_pred, axis=-1) - (1.0 - self.smoothing) * gold
        if self.smoothing:
            losses = losses - self.smoothing * ops.mean(y_pred, axis=-1)
        return losses

    def __call__(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Any:
        return self.mean(*self.sums(y_true, y_pred, sample_weight))

    def sums(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The summed loss and what it is divided by: `(scalar, scalar)`.

        Over the parts of a batch both add up, which their quotient doesn't.
        """
        losses = self.call(y_true, y_pred)
        weights = _weights(sample_weight, y_pred)
        return ops.sum(losses * weights), self.count(weights)

    def projected(
        self,
        features: Tensor,
        kernel: Tensor,
        bias: Tensor,
        y_true: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of the logits `features @ kernel + bias`, without these logits.

        `zoo.training.LogitFreeTrainer` trains with it: see
        `zoo.training.fast.projection.projected_cross_entropy`.

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
        return {
            "name": self.name,
            "smoothing": self.smoothing,
            "normalize": self.normalize,
        }


def _weights(sample_weight, outputs):
    """The weights `(B, …)` of outputs `(B, …, d)`: 1 if none are given."""
    if sample_weight is None:
        return ops.ones(ops.shape(outputs)[:-1])
    return ops.cast(sample_weight, "float32")


@keras.saving.register_keras_serializable(package="zoo")
class Perplexity(keras.metrics.Metric):
    """exp of the mean negative log-likelihood of all tokens, without smoothing.

    Every token has the same weight, whatever its batch (Keras's own cross-entropy
    metric averages over each row first, so that batches of unlike width weigh
    unlike).

    Call arguments: labels `(B, T)`, logits `(B, T, V)`, `sample_weight` `(B, T)`.

    Example:
        >>> import numpy as np
        >>> metric = Perplexity()
        >>> metric.update_state(np.array([[1, 2]]), np.zeros((1, 2, 4)))
        >>> round(float(metric.result()), 4)
        4.0
    """

    def __init__(self, name: str = "perplexity", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")
        self.loss = SmoothedCrossEntropy()

    def update_state(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> None:
        total, count = self.loss.sums(y_true, y_pred, sample_weight)
        self.total.assign_add(total)
        self.count.assign_add(count)

    def result(self) -> Tensor:
        return ops.exp(mean(self.total, self.count))
