import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import gradients, same_config
from zoo.training import Perplexity, SmoothedCrossEntropy

SHAPE = (3, 5)  # sentences, tokens; the vocabulary is 7
WEIGHTS = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], "float32")


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(*SHAPE, 7)) * 3).astype("float32")
    return rng.integers(0, 7, SHAPE).astype("int32"), logits


def reference(labels, logits, weights, smoothing, normalize):
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
def test_it_is_the_definition(batch, smoothing, normalize):
    labels, logits = batch
    loss = SmoothedCrossEntropy(smoothing, normalize)
    value = float(loss(labels, logits, sample_weight=WEIGHTS))
    expected = reference(labels, logits, WEIGHTS, smoothing, normalize)
    assert value == pytest.approx(expected, rel=1e-5)


def test_logits_may_have_no_time_axis(batch):
    labels, logits = batch[0][:, 0], batch[1][:, 0]
    expected = reference(labels, logits, np.ones(3), 0.0, "tokens")
    assert float(SmoothedCrossEntropy()(labels, logits)) == pytest.approx(
        expected, rel=1e-5
    )
    metric = Perplexity()
    metric.update_state(labels, logits)
    assert float(metric.result()) == pytest.approx(np.exp(expected), rel=1e-5)


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_padding_changes_nothing(batch, normalize):
    labels, logits = batch
    loss = SmoothedCrossEntropy(0.1, normalize)
    value = float(loss(labels, logits, sample_weight=WEIGHTS))
    more = ((0, 2), (0, 3))
    padded = loss(
        np.pad(labels, more),
        np.pad(logits, (*more, (0, 0)), constant_values=9.0),
        sample_weight=np.pad(WEIGHTS, more),
    )
    assert float(padded) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_sums_over_parts_of_a_batch_add_up(batch, normalize):
    labels, logits = batch
    loss = SmoothedCrossEntropy(0.1, normalize)
    parts = [
        loss.sums(labels[part], logits[part], WEIGHTS[part])
        for part in (slice(0, 1), slice(1, 3))
    ]
    total, count = (
        sum(float(value) for value in pair) for pair in zip(*parts, strict=True)
    )
    expected = reference(labels, logits, WEIGHTS, 0.1, normalize)
    assert total / count == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_summed_in_float32(dtype):
    """1000 tokens of loss about 10 are more than float16 can add up or tell apart."""
    rng = np.random.default_rng(1)
    logits = ops.cast(rng.normal(size=(10, 100, 20)) * 10, dtype)
    labels = rng.integers(0, 20, (10, 100))
    rounded = ops.convert_to_numpy(ops.cast(logits, "float32"))
    value = SmoothedCrossEntropy(0.1)(labels, logits)
    assert keras.backend.standardize_dtype(value.dtype) == "float32"
    expected = reference(labels, rounded, np.ones((10, 100)), 0.1, "tokens")
    assert float(value) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_a_batch_without_a_real_token_costs_nothing(batch, normalize):
    labels, logits = batch
    value, gradient = value_and_gradient(
        SmoothedCrossEntropy(0.1, normalize), labels, logits, WEIGHTS * 0
    )
    assert value == 0.0 and not gradient.any()  # neither NaN


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_the_softmax_less_the_target(batch, smoothing):
    labels, logits = batch
    loss = SmoothedCrossEntropy(smoothing)
    _, gradient = value_and_gradient(loss, labels, logits, WEIGHTS)
    logits = logits.astype("float64")
    softmax = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    target = np.eye(7)[labels] * (1 - smoothing) + smoothing / 7
    expected = (softmax - target) * WEIGHTS[..., None] / WEIGHTS.sum()
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def value_and_gradient(loss, labels, logits, weights):
    variable = keras.Variable(logits)
    value, [gradient] = gradients(
        [variable], lambda: loss(labels, 1.0 * variable, sample_weight=weights)
    )
    return float(value), gradient


def test_compiled_into_a_model_it_is_what_evaluate_gives(batch):
    labels, logits = batch
    inputs = keras.Input((5, 7))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=SmoothedCrossEntropy(0.1), weighted_metrics=[])
    value = model.evaluate(logits, labels, sample_weight=WEIGHTS, verbose=0)
    assert value == pytest.approx(
        reference(labels, logits, WEIGHTS, 0.1, "tokens"), rel=1e-5
    )


def test_it_survives_serialization():
    same_config(SmoothedCrossEntropy(0.2, normalize="sentences"))


def test_perplexity_weighs_tokens_alike_in_batches_of_any_width():
    rng, metric, total, count = np.random.default_rng(2), Perplexity(), 0.0, 0
    for width in (2, 9, 5):
        logits = (rng.normal(size=(4, width, 7)) * 3).astype("float32")
        labels = rng.integers(0, 7, (4, width))
        weights = (rng.random((4, width)) < 0.6).astype("float32")
        metric.update_state(labels, logits, sample_weight=weights)
        mean = reference(labels, logits, weights, 0.0, "tokens")
        total, count = total + mean * weights.sum(), count + weights.sum()
    expected = np.exp(total / count)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-5)
    metric.reset_state()
    metric.update_state(labels, logits, sample_weight=weights)
    assert float(metric.result()) == pytest.approx(np.exp(mean), rel=1e-5)
