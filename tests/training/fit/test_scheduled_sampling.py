import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import compiled, randomize, same_config
from zoo.models import Luong, LuongTranslator, Transformer
from zoo.training import ScheduledSampling
from zoo.training.fit.scheduled_sampling import _sample

RNG = np.random.default_rng(2)
SOURCE = RNG.integers(4, 20, (6, 5)).astype("int32")
TARGET = RNG.integers(4, 20, (6, 7)).astype("int32")
SOURCE[0, 3:], TARGET[:, 0], TARGET[1, 4:] = 0, 2, 0
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}


def ids(inputs, name="target_ids"):
    return np.array(ops.convert_to_numpy(inputs[name]))


@pytest.fixture
def backbone():
    """Opinionated: it has one favourite next token nearly everywhere."""
    model = Luong(20, num_layers=1, hidden_dim=6, embedding_dim=5, window=2)
    return randomize(model, 4.0)


def test_the_rate_is_a_schedule_of_the_batches(backbone):
    linear = keras.optimizers.schedules.PolynomialDecay(1.0, 1, 0.0)
    layer = ScheduledSampling(linear, seed=1)
    first, second = (ids(layer(INPUTS, model=backbone)) for _ in range(2))
    np.testing.assert_array_equal(first, TARGET)
    assert (second != TARGET).any()
    copy = ScheduledSampling.from_config(layer.get_config())
    assert copy.rate.get_config() == linear.get_config()


def test_a_true_token_always_changes_nothing(backbone):
    layer = ScheduledSampling(1.0)
    np.testing.assert_array_equal(ids(layer(INPUTS, model=backbone)), TARGET)
    assert int(layer.step.value) == 1


def test_a_sample_is_what_the_next_step_reads(backbone):
    """Never a true token: each follows from the samples before it."""
    layer = ScheduledSampling(0.0)
    backbone.output_layer.kernel.assign(backbone.output_layer.kernel * 1e5)  # certain
    found = ids(layer(INPUTS, model=backbone))
    memory, step = compiled(backbone.encode)(SOURCE), compiled(backbone.step)
    state, token = backbone.start(memory), TARGET[:, 0]
    for t in range(TARGET.shape[1]):
        np.testing.assert_array_equal(found[:, t], np.where(TARGET[:, t], token, 0))
        logits, state, _ = step(found[:, t], state, memory)
        token = ops.convert_to_numpy(logits).argmax(-1)
    assert (found != TARGET).any()


@pytest.mark.once
def test_a_model_whose_state_grows_has_room_for_all_steps():
    """A step without room would give NaN, whose sample is 0."""
    model = randomize(
        Transformer(20, num_layers=1, hidden_dim=8, ff_dim=8, num_heads=2, dropout=0.0)
    )
    layer = ScheduledSampling(0.0, seed=1)
    target = np.full((4, 70), 19, "int32")  # 1 source token has room for 52 by itself
    inputs = {"source_ids": np.array([[5]] * 4, "int32"), "target_ids": target}
    found = ids(layer(inputs, model=model))[:, 53:]
    assert len(np.unique(found)) > 5 and (found == 0).mean() < 0.5


def test_the_coin_is_tossed_for_every_token(backbone):
    """Where the two kinds can be told apart, as many are true as the rate says."""
    source, target = np.repeat(SOURCE, 30, 0), np.full((180, 9), 19, "int32")
    target[:, 0] = 2
    layer = ScheduledSampling(0.7, seed=4)
    kernel = backbone.output_layer.kernel
    kernel.assign(ops.zeros(kernel.shape))  # every token is as likely: 1 / 20
    inputs = {"source_ids": source, "target_ids": target}
    found = ids(layer(inputs, model=backbone))
    assert (found[:, 0] == 2).all()
    true = found[:, 1:] == 19
    assert true.mean() == pytest.approx(0.7 + 0.3 / 20, abs=0.03)
    mixed = true.mean(1)
    assert ((mixed > 0) & (mixed < 1)).mean() > 0.8  # within one sentence


def test_samples_follow_the_distribution():
    logits = np.log([0.5, 0.2, 0.05, 0.25]).astype("float32")
    draws = RNG.random(20000).astype("float32")
    found = _sample(np.tile(logits, (len(draws), 1)), ops.convert_to_tensor(draws))
    share = np.bincount(ops.convert_to_numpy(found), minlength=4) / len(draws)
    np.testing.assert_allclose(share, [0.5, 0.2, 0.05, 0.25], atol=0.01)


@pytest.mark.once
def test_a_translator_samples_in_training_only_and_keeps_its_layers():
    backbone = Luong(20, num_layers=1, hidden_dim=6, embedding_dim=5, window=2)
    layer = ScheduledSampling(0.5, seed=2)
    clean = ops.convert_to_numpy(compiled(LuongTranslator(backbone))(INPUTS))
    task = LuongTranslator(backbone, augmentation=[layer])
    found = ops.convert_to_numpy(compiled(task)(INPUTS))
    np.testing.assert_array_equal(found, clean)
    assert (ops.convert_to_numpy(task(INPUTS, training=True)) != clean).any()
    same_config(layer)
    (copy,) = LuongTranslator.from_config(task.get_config()).augmentation
    assert copy.get_config() == {**layer.get_config(), "name": copy.name}
