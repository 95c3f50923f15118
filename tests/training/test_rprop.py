import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import Optimizer, Rprop
from zoo.training.fast.updates import prepare_optimizer

TARGET = np.array([1.0, -2.0, 0.3])
CURVES = np.array([100.0, 1.0, 0.01])  # one rate would not do for all


def gradient(weights):
    return CURVES * (weights - TARGET)


def expected(updates, rate=0.1):
    """The rule, weight by weight in Python."""
    weights = [0.0] * 3
    steps, signs = [1.0] * 3, [0.0] * 3
    for _ in range(updates):
        for i in range(3):
            sign = np.sign(CURVES[i] * (weights[i] - TARGET[i]))
            if sign * signs[i] > 0:
                steps[i] = min(steps[i] * 1.2, 3.0)
            elif sign * signs[i] < 0:
                steps[i], sign = max(steps[i] * 0.5, 0.2), 0.0
            weights[i] -= rate * steps[i] * sign
            signs[i] = sign
    return weights


@pytest.mark.parametrize("prepared", [False, True])
def test_the_rule_is_riedmillers(prepared):
    optimizer = Rprop(0.1, least=0.2, most=3.0)
    if prepared:  # as a recipe trains
        optimizer = prepare_optimizer(optimizer)
    weights = keras.Variable(np.zeros(3))
    for _ in range(40):
        found = gradient(ops.convert_to_numpy(weights.value))
        optimizer.apply([ops.convert_to_tensor(found.astype("float32"))], [weights])
    got = ops.convert_to_numpy(weights.value)
    np.testing.assert_allclose(got, expected(40), atol=1e-5)


def test_recipes_can_name_it():
    made = Optimizer("rprop", 0.02, options={"increase": 1.1})(10, 2)
    assert type(made) is Rprop and float(made.learning_rate) == pytest.approx(0.02)
    copy = Rprop.from_config(made.get_config())
    assert copy.get_config() == made.get_config()
    assert (copy.increase, copy.decrease) == (1.1, 0.5)
