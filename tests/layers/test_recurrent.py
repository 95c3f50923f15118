import keras
import numpy as np
from keras import ops

from tests.harness import build_randomized, close, compiled, to_numpy
from zoo.layers import RecurrentStack

RNG = np.random.default_rng(11)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")


def test_bidirectional_stack_equals_keras_bidirectional():
    stack = build_randomized(RecurrentStack(4, 1, bidirectional=True), INPUTS.shape)
    both = keras.layers.Bidirectional(keras.layers.LSTM(2, return_sequences=True))
    both.build(INPUTS.shape)
    both.set_weights([w for cell in stack.cells[0] for w in cell.get_weights()])
    mask = np.arange(6)[None] < np.array([6, 2, 3])[:, None]
    wanted = to_numpy(compiled(both)(INPUTS, mask=ops.convert_to_tensor(mask)))
    got = to_numpy(compiled(stack)(INPUTS, mask=mask)[0])
    close(got[mask], wanted[mask])
    assert (got[~mask] == 0).all()


def test_dropout_is_drawn_anew_at_each_step_and_only_in_training():
    stack = RecurrentStack(4, 1, dropout=0.5, seed=1)
    ones = np.ones((1, 50, 5), "float32")
    plain = to_numpy(stack(ones)[0])
    close(stack(ones)[0], plain)
    dropped = to_numpy(stack.drop(ones, training=True))
    assert 0.3 < (dropped == 0).mean() < 0.7
    assert (dropped[0, 0] != dropped[0]).any()
    assert np.abs(to_numpy(stack(ones, training=True)[0]) - plain).max() > 0
