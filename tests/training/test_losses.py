"""The loss, with and without its logits, against NumPy in float64."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import gradients, penalty_gradients, same_config
from zoo.training import SmoothedCrossEntropy, losses

B, T, D, V = 3, 5, 4, 7
WEIGHTS = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], "float32")


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(B, T, V)) * 3).astype("float32")
    return rng.integers(0, V, (B, T)).astype("int32"), logits


def reference(labels, logits, weights, smoothing, normalize="tokens"):
    """Cross-entropy with the distribution (1 - ε) one-hot + ε / V, in float64."""
    logits = logits.astype("float64")
    size = logits.shape[-1]
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    target = np.eye(size)[labels] * (1 - smoothing) + smoothing / size
    total = (-(target * log_probs).sum(-1) * weights).sum()
    if normalize == "sentences":
        return total / (weights.sum(-1) > 0).sum()
    return total / weights.sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_it_is_the_definition_whatever_the_padding(batch, smoothing, normalize):
    labels, logits = batch
    loss = SmoothedCrossEntropy(smoothing, normalize)
    value = float(loss(labels, logits, sample_weight=WEIGHTS))
    expected = reference(labels, logits, WEIGHTS, smoothing, normalize)
    assert value == pytest.approx(expected, rel=1e-5)
    more = ((0, 2), (0, 3))
    padded = loss(
        np.pad(labels, more),
        np.pad(logits, (*more, (0, 0)), constant_values=9.0),
        sample_weight=np.pad(WEIGHTS, more),
    )
    assert float(padded) == pytest.approx(value, rel=1e-6)
    loss.mean = lambda *sums: sums  # those of the parts add up
    halves = slice(0, 1), slice(1, 3)
    parts = [loss(labels[half], logits[half], WEIGHTS[half]) for half in halves]
    total, count = (sum(map(float, pair)) for pair in zip(*parts, strict=True))
    assert total / count == pytest.approx(expected, rel=1e-5)


def test_logits_may_have_no_time_axis(batch):
    labels, logits = batch[0][:, 0], batch[1][:, 0]
    expected = reference(labels, logits, np.ones(3), 0.0)
    assert float(SmoothedCrossEntropy()(labels, logits)) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_summed_in_float32(dtype):
    """1000 tokens of loss about 10 are more than float16 can add up or tell apart."""
    rng = np.random.default_rng(1)
    logits = ops.cast(rng.normal(size=(10, 100, 20)) * 10, dtype)
    labels = rng.integers(0, 20, (10, 100))
    rounded = ops.convert_to_numpy(ops.cast(logits, "float32"))
    value = SmoothedCrossEntropy(0.1)(labels, logits)
    assert keras.backend.standardize_dtype(value.dtype) == "float32"
    expected = reference(labels, rounded, np.ones((10, 100)), 0.1)
    assert float(value) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_the_softmax_less_the_target(batch, smoothing):
    """And 0, not NaN, in a batch without a real token."""
    labels, logits = batch
    loss, variable = SmoothedCrossEntropy(smoothing), keras.Variable(logits)

    def of(weights):
        return gradients(
            [variable], lambda: loss(labels, 1.0 * variable, sample_weight=weights)
        )

    _, [gradient] = of(WEIGHTS)
    logits = logits.astype("float64")
    softmax = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    target = np.eye(V)[labels] * (1 - smoothing) + smoothing / V
    expected = (softmax - target) * WEIGHTS[..., None] / WEIGHTS.sum()
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
    value, [gradient] = of(0 * WEIGHTS)
    assert float(value) == 0.0 and not gradient.any()


def test_compiled_into_a_model_it_is_what_evaluate_gives(batch):
    labels, logits = batch
    inputs = keras.Input((T, V))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=SmoothedCrossEntropy(0.1), weighted_metrics=[])
    value = model.evaluate(logits, labels, sample_weight=WEIGHTS, verbose=0)
    assert value == pytest.approx(reference(labels, logits, WEIGHTS, 0.1), rel=1e-5)
    same_config(SmoothedCrossEntropy(0.2, normalize="sentences"))


# === Without logits ===


def inputs():
    """Features, kernel and bias; labels and weights."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((B, T, D), (D, V), (V,))]
    weights = WEIGHTS * rng.uniform(0.5, 2, (B, T)).astype("float32")
    return arrays, rng.integers(0, V, (B, T)), weights


def projected_reference(features, kernel, bias, labels, weights, smoothing):
    """Sum of the losses, and its gradients for features, kernel and bias."""
    logits = features @ kernel + bias
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    target = (1 - smoothing) * np.eye(V)[labels] + smoothing / V
    d_logits = weights[..., None] * (p - target)
    return (
        -(weights[..., None] * target * np.log(p)).sum(),
        d_logits @ kernel.T,
        np.einsum("btd,btv->dv", features, d_logits),
        d_logits.sum((0, 1)),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("slice_size", [2**24, B * V * 2, 1])
def test_without_logits_loss_and_gradients(monkeypatch, slice_size, smoothing):
    """In one slice, in slices that don't divide the time, and step by step."""
    monkeypatch.setattr(losses, "SLICE_SIZE", slice_size)
    sizes, part = set(), losses._part

    def noting(features, *rest):
        sizes.add(features.shape[0])
        return part(features, *rest)

    monkeypatch.setattr(losses, "_part", noting)
    arrays, labels, weights = inputs()
    expected = projected_reference(*arrays, labels, weights, smoothing)
    variables = [keras.Variable(array, dtype="float32") for array in arrays]

    def loss():
        values = [1.0 * variable for variable in variables]
        return 2.0 * losses.projected_cross_entropy(*values, labels, weights, smoothing)

    value, found = gradients(variables, loss)
    assert sizes == {B}  # of several devices, each has its rows of a slice
    np.testing.assert_allclose(value, 2 * expected[0], rtol=1e-5)
    for gradient, wanted in zip(found, expected[1:], strict=True):
        np.testing.assert_allclose(gradient, 2 * wanted, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_the_gradient_is_that_of_the_loss_with_logits():
    (features, kernel, bias), labels, weights = inputs()
    variables = [keras.Variable(x, dtype="float32") for x in (kernel, bias)]
    loss = SmoothedCrossEntropy(0.1)

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
