import keras
import pytest

from zoo.training import (
    HalvingSchedule,
    InverseSquareRoot,
    NoamSchedule,
    Optimizer,
    WarmupLinearDecay,
)
from zoo.training.optimizers import OPTIMIZERS

pytestmark = pytest.mark.once


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_name_is_a_keras_optimizer(name):
    made = Optimizer(name, 0.25, clip=3.0)(10, 2)
    assert isinstance(made, keras.optimizers.Optimizer)
    assert type(made).__name__ == OPTIMIZERS[name]
    assert float(made.learning_rate) == 0.25
    assert made.global_clipnorm == 3.0


def test_options_reach_the_keras_class():
    made = Optimizer("adam", 1e-3, options={"beta_2": 0.98, "amsgrad": True})(10, 2)
    assert made.beta_2 == 0.98 and made.amsgrad and made.global_clipnorm is None


@pytest.mark.parametrize(
    ("rate", "schedule", "options", "plan", "wanted"),
    [
        (2e-3, "linear", {"warmup": 7}, (10, 4), WarmupLinearDecay(2e-3, 7, 40)),
        # The warm-up is at most a quarter of the training.
        (2e-3, "linear", {"warmup": 400}, (10, 4), WarmupLinearDecay(2e-3, 10, 40)),
        (1, "halving", {"constant_epochs": 8}, (9, 12), HalvingSchedule(1.0, 8, 9)),
        (
            0.7,
            "halving",
            {"constant_epochs": 5, "halving_epochs": 0.5},
            (100, 8),
            HalvingSchedule(0.7, 5, 100, every=0.5),
        ),
        (
            2.0,
            "noam",
            {"warmup": 4000, "hidden_dim": 64},
            (10, 4),
            NoamSchedule(64, 4000, factor=2.0),
        ),
        (1e-3, "inverse_sqrt", {"warmup": 50}, (10, 4), InverseSquareRoot(1e-3, 50)),
    ],
)
def test_each_schedule_is_made_of_plain_values(rate, schedule, options, plan, wanted):
    made = Optimizer("sgd", rate, schedule, **options)(*plan)
    # A Keras optimizer keeps its schedule to itself, but for its configuration.
    found = keras.saving.deserialize_keras_object(made.get_config()["learning_rate"])
    assert type(found) is type(wanted) and found.get_config() == wanted.get_config()
