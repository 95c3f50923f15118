import keras
import numpy as np
import pytest

from tests.harness import close
from tests.layers.reference import sigmoid
from zoo.layers import logistic_1, logistic_2
from zoo.layers.activations import get_activation


def test_they_are_the_scaled_logistic_functions():
    x = np.linspace(-9, 9, 37)
    close(logistic_1(x.astype("float32")), 2 * sigmoid(x) - 1)
    close(logistic_2(x.astype("float32")), 4 * sigmoid(x) - 2)


def test_names_and_configs_are_understood():
    for known in (logistic_1, logistic_2, keras.activations.tanh):
        assert get_activation(known.__name__) is known
        assert get_activation(keras.activations.serialize(known)) is known
    with pytest.raises(ValueError, match="logistic_3"):
        get_activation("logistic_3")
