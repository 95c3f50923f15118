import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, gradients
from zoo.layers import LSTMCell
from zoo.layers.fast_loops.gates import lstm_states

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_loses_no_more_than_the_frameworks_gradient(dtype):
    net, c = RNG.normal(size=(64, 32)) * 3, RNG.normal(size=(64, 8))
    w = RNG.normal(size=(64, 16)).astype("float32")

    def gradients_of(states, dtype):
        given = [keras.Variable(x, dtype=dtype) for x in (net, c)]

        def loss():
            found = states(*(variable + 0 for variable in given))
            return ops.sum(ops.multiply(w, ops.cast(found, "float32")))

        return gradients(given, loss)[1]

    def plain(net, c):
        i, f, candidate, o = ops.split(net, 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(candidate)
        return ops.concatenate([ops.sigmoid(o) * ops.tanh(c), c], axis=-1)

    exact = gradients_of(plain, "float32")
    close(gradients_of(lstm_states, "float32")[0], exact[0])

    def error(states):
        pairs = zip(gradients_of(states, dtype), exact, strict=True)
        return sum(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs)

    assert error(lstm_states) < 1.05 * error(plain)


def test_the_cell_whose_gradient_is_written_out():
    assert LSTMCell(4).is_standard
    for other in (
        {"forget_gate": False},
        {"activation": "relu"},
        {"output_activation": "relu"},
        {"recurrent_activation": "hard_sigmoid"},
    ):
        assert not LSTMCell(4, **other).is_standard
