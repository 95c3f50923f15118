import json

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import same_config
from zoo.training import (
    HalvingSchedule,
    InverseSquareRoot,
    NoamSchedule,
    Plateau,
    WarmupLinearDecay,
)


def test_warmup_rises_to_the_peak_and_falls_to_zero():
    schedule = WarmupLinearDecay(2e-3, warmup=10, total=110)
    rates = [float(schedule(step)) for step in range(112)]
    np.testing.assert_allclose(
        rates[:10], [2e-3 * (step + 1) / 10 for step in range(10)], rtol=1e-6
    )
    np.testing.assert_allclose(
        rates[10:110], [2e-3 * (110 - step) / 100 for step in range(10, 110)], rtol=1e-5
    )
    assert max(rates) == pytest.approx(2e-3)
    assert rates[0] > 0 and rates[110] == rates[111] == 0
    at_once = WarmupLinearDecay(1.0, warmup=0, total=4)
    assert [float(at_once(step)) for step in range(5)] == [1, 0.75, 0.5, 0.25, 0]


def test_the_paper_halves_every_epoch_after_the_eighth_compiled_too():
    """A compiler may turn the division into a product, which rounds otherwise."""
    for steps in (3, 7, 49, 93, 1133):
        schedule = HalvingSchedule(1.0, start=8, steps_per_epoch=steps)
        epochs = np.arange(8, 38)
        expected = 0.5 ** (epochs - 7.0)
        for steps_back, wanted in ((0, expected), (1, 2 * expected)):
            found = compiled(schedule)(
                ops.convert_to_tensor(epochs * steps - steps_back)
            )
            found = ops.convert_to_numpy(found)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert float(schedule(0)) == 1.0


def test_sutskever_halves_every_half_epoch_after_the_fifth():
    for steps in (100, 49):  # half of 49 steps: halved within the 25th
        schedule = HalvingSchedule(0.7, start=5, steps_per_epoch=steps, every=0.5)
        rates = compiled(schedule)(ops.arange(int(7.5 * steps)))
        halvings = [max(0, 2 * step // steps - 9) for step in range(int(7.5 * steps))]
        expected = 0.7 * 0.5 ** np.array(halvings, "float64")
        np.testing.assert_allclose(ops.convert_to_numpy(rates), expected, rtol=1e-6)
    assert halvings[-1] == 5  # 0.021875 in the last half epoch


def test_noam_is_the_papers_equation():
    step = np.arange(1, 20001)
    paper = 512**-0.5 * np.minimum(step**-0.5, step * 4000**-1.5)
    found = NoamSchedule(512)(ops.convert_to_tensor(step - 1))
    np.testing.assert_allclose(ops.convert_to_numpy(found), paper, rtol=1e-5)
    double = NoamSchedule(512, factor=2.0)(ops.convert_to_tensor(step - 1))
    np.testing.assert_allclose(ops.convert_to_numpy(double), 2 * paper, rtol=1e-5)


def test_the_inverse_square_root_has_its_peak_after_the_warmup():
    schedule = InverseSquareRoot(2e-3, warmup=10)
    rates = [float(schedule(step)) for step in range(250)]
    np.testing.assert_allclose(rates[:10], 2e-4 * np.arange(1, 11), rtol=1e-6)
    assert max(rates) == rates[9]
    np.testing.assert_allclose(
        rates[9:], 2e-3 * np.sqrt(10 / np.arange(10, 251)), rtol=1e-6
    )


def compiled(function):
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(function, jit_compile=True)
    return function


@pytest.mark.parametrize(
    "schedule",
    [
        WarmupLinearDecay(1e-3, 10, 110),
        HalvingSchedule(0.7, 5, 10, every=0.5),
        InverseSquareRoot(1e-3, 10),
        NoamSchedule(512, warmup=100, factor=2.0),
    ],
    ids=lambda schedule: type(schedule).__name__,
)
def test_an_optimizer_that_uses_it_survives_serialization(schedule):
    optimizer = keras.optimizers.SGD(schedule, global_clipnorm=5.0)
    copy = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert copy.global_clipnorm == 5.0
    assert float(same_config(schedule)(57)) == float(schedule(57))


def plateau_rates(scores, first=0, state=None, **options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile(keras.optimizers.SGD(8.0), "mse")
    plateau = Plateau(factor=0.5, patience=2, **options)
    plateau.set_model(model)
    if state:
        plateau.resume(state)
    plateau.on_train_begin()
    rates = []
    for epoch, score in enumerate(scores, start=first):
        plateau.on_epoch_end(epoch, {"val_bleu": score, "val_perplexity": score})
        rates.append(float(model.optimizer.learning_rate))
    return rates, plateau.state()


SCORES = [1.0, 5.0, 4.0, 4.5, 6.0, 3.0, 2.0, 2.0, 2.0]
RATES = [8.0, 8.0, 8.0, 4.0, 4.0, 4.0, 2.0, 2.0, 1.0]


def test_a_plateau_lowers_the_rate():
    assert plateau_rates(SCORES)[0] == RATES
    worse = [-score for score in SCORES]
    assert plateau_rates(worse, monitor="val_perplexity", mode="min")[0] == RATES


@pytest.mark.parametrize("epochs", [1, 3, 6])
def test_the_count_of_a_plateau_goes_on(epochs):
    first, state = plateau_rates(SCORES[:epochs])
    second, _ = plateau_rates(SCORES[epochs:], epochs, json.loads(json.dumps(state)))
    lowered = 8.0 / first[-1]  # the rate itself is in the checkpoint
    assert first + [rate / lowered for rate in second] == RATES


def test_a_schedule_has_no_plateau():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    rate = keras.optimizers.schedules.CosineDecay(1.0, 10)
    model.compile(keras.optimizers.SGD(rate), "mse")
    plateau = Plateau()
    plateau.set_model(model)
    with pytest.raises(ValueError, match="constant learning rate.*CosineDecay"):
        plateau.on_train_begin()
