"""The loss without logits against a NumPy float64 reference and the loss with them."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import gradients, penalty_gradients
from zoo.training import SmoothedCrossEntropy
from zoo.training.fast import projection

B, T, D, V = 3, 7, 5, 11


def _inputs(seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, V, (B, T))
    weights = (np.arange(T)[None] < np.array([[7], [4], [0]])).astype("float32")
    return (
        rng.normal(size=(B, T, D)),
        rng.normal(size=(D, V)),
        rng.normal(size=(V,)),
        labels,
        weights * rng.uniform(0.5, 2, (B, T)),
    )


def _reference(features, kernel, bias, labels, weights, smoothing):
    """Sum of the losses, and its gradients for features, kernel and bias."""
    logits = features @ kernel + bias
    shifted = logits - logits.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    target = (1 - smoothing) * np.eye(V)[labels] + smoothing / V
    total = -(weights[..., None] * target * log_p).sum()
    d_logits = weights[..., None] * (np.exp(log_p) - target)
    return (
        total,
        d_logits @ kernel.T,
        np.einsum("btd,btv->dv", features, d_logits),
        d_logits.sum((0, 1)),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("slice_size", [2**24, B * V * 2, 1])
def test_loss_and_gradients(monkeypatch, slice_size, smoothing):
    """In one slice, in slices that don't divide the time, and step by step."""
    monkeypatch.setattr(projection, "SLICE_SIZE", slice_size)
    arrays = _inputs()
    expected = _reference(*arrays, smoothing)
    variables = [keras.Variable(array, dtype="float32") for array in arrays[:3]]
    labels, weights = arrays[3], arrays[4].astype("float32")

    def loss():
        values = [1.0 * variable for variable in variables]
        return 2.0 * projection.projected_cross_entropy(
            *values, labels, ops.convert_to_tensor(weights), smoothing
        )

    value, found = gradients(variables, loss)
    np.testing.assert_allclose(value, 2 * expected[0], rtol=1e-5)
    for gradient, wanted in zip(found, expected[1:], strict=True):
        np.testing.assert_allclose(gradient, 2 * wanted, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_the_gradient_is_that_of_the_loss_with_logits():
    features, kernel, bias, labels, weights = _inputs()
    variables = [keras.Variable(x, dtype="float32") for x in (kernel, bias)]
    weights, loss = weights.astype("float32"), SmoothedCrossEntropy(0.1)

    def projected(x):
        kernel, bias = (v.value for v in variables)
        return loss.projected(x, kernel, bias, labels, weights)

    def plain(x):
        logits = ops.matmul(x, variables[0]) + variables[1]
        return loss(labels, logits, sample_weight=weights)

    found, wanted = (
        penalty_gradients(variables, function, features.astype("float32"))
        for function in (projected, plain)
    )
    for got, own in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, own, atol=1e-6)
        assert np.abs(own).max() > 1e-4
