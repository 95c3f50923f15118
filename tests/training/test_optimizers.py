import keras
import pytest

from zoo.training import HalvingSchedule, Optimizer, WarmupLinearDecay
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


def schedule(*arguments, plan=(10, 4), **options):
    # A Keras optimizer keeps its schedule to itself, but for its configuration.
    made = Optimizer(*arguments, **options)(*plan)
    return keras.saving.deserialize_keras_object(made.get_config()["learning_rate"])


def test_linear_rises_and_falls():
    found = schedule("adam", 2e-3, "linear", warmup=7)
    assert type(found) is WarmupLinearDecay
    assert found.get_config() == {"peak": 2e-3, "warmup": 7, "total": 40}


def test_the_warmup_is_at_most_a_quarter_of_the_training():
    found = schedule("adam", 2e-3, "linear", warmup=400)
    assert found.get_config()["warmup"] == 10


def test_halving_is_the_papers_schedule():
    found = schedule("sgd", 1.0, "halving", constant_epochs=8, plan=(100, 12))
    assert type(found) is HalvingSchedule
    wanted = {"rate": 1.0, "start": 8, "steps_per_epoch": 100, "every": 1.0}
    assert found.get_config() == wanted


def test_sutskevers_schedule():
    found = schedule(
        "sgd", 0.7, "halving", constant_epochs=5, halving_epochs=0.5, plan=(100, 8)
    )
    rates = [float(found(step)) for step in (499, 500, 549, 550, 749)]
    assert rates == pytest.approx([0.7, 0.35, 0.35, 0.175, 0.021875])


def test_noam_and_the_inverse_square_root():
    found = schedule("adam", 2.0, "noam", warmup=4000, hidden_dim=64)
    assert found.get_config() == {"hidden_dim": 64, "warmup": 4000, "factor": 2.0}
    found = schedule("adam", 1e-3, "inverse_sqrt", warmup=50)
    assert found.get_config() == {"peak": 1e-3, "warmup": 50}
