import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import HalvingSchedule, WarmupLinearDecay


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


def test_without_warmup_it_begins_at_the_peak():
    schedule = WarmupLinearDecay(1.0, warmup=0, total=4)
    assert [float(schedule(step)) for step in range(5)] == [1, 0.75, 0.5, 0.25, 0]


@pytest.mark.parametrize(("warmup", "total"), [(-1, 10), (10, 10), (11, 10), (0, 0)])
def test_a_warmup_that_does_not_fit_is_refused(warmup, total):
    with pytest.raises(ValueError, match=f"warmup={warmup}, total={total}"):
        WarmupLinearDecay(1.0, warmup, total)


def test_the_paper_halves_every_epoch_after_the_eighth():
    schedule = HalvingSchedule(1.0, start=8, steps_per_epoch=100)
    begins = [float(schedule(100 * epoch)) for epoch in range(12)]
    ends = [float(schedule(100 * epoch + 99)) for epoch in range(12)]
    assert begins == ends == [1.0] * 8 + [0.5, 0.25, 0.125, 0.0625]


def test_compiled_it_halves_exactly_at_the_first_step_of_an_epoch():
    """A compiler may turn the division into a product, which rounds otherwise."""
    for steps in (3, 7, 49, 93, 1133):
        schedule = HalvingSchedule(1.0, start=1, steps_per_epoch=steps)
        epochs = np.arange(1, 31)
        found = compiled(schedule)(ops.convert_to_tensor(epochs * steps))
        expected = 0.5 ** epochs.astype("float64")
        np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=1e-6)
        found = compiled(schedule)(ops.convert_to_tensor(epochs * steps - 1))
        np.testing.assert_allclose(ops.convert_to_numpy(found), 2 * expected, rtol=1e-6)


def compiled(function):
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(function, jit_compile=True)
    return function


@pytest.mark.parametrize("steps", [0, -1])
def test_an_epoch_without_steps_is_refused(steps):
    with pytest.raises(ValueError, match=f"steps_per_epoch={steps}"):
        HalvingSchedule(1.0, 8, steps)


@pytest.mark.parametrize(
    "schedule",
    [WarmupLinearDecay(1e-3, 10, 110), HalvingSchedule(0.7, 8, 100)],
    ids=lambda schedule: type(schedule).__name__,
)
def test_an_optimizer_that_uses_it_survives_serialization(schedule):
    optimizer = keras.optimizers.SGD(schedule, global_clipnorm=5.0)
    config = keras.optimizers.serialize(optimizer)
    copy = keras.optimizers.deserialize(config)
    assert copy.global_clipnorm == 5.0
    config = keras.optimizers.schedules.serialize(schedule)
    copy = keras.optimizers.schedules.deserialize(config)
    assert copy.get_config() == schedule.get_config()
    assert float(copy(57)) == float(schedule(57))
