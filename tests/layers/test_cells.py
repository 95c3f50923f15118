import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import (
    check_layer,
    close,
    gradients,
    randomize,
    same_config,
    to_numpy,
)
from tests.layers import reference
from zoo.layers import GRUCell, RecurrentStack
from zoo.layers.recurrent import hoist, run_cell

RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
H = RNG.normal(size=(3, 4)).astype("float32")
X = ops.convert_to_tensor(INPUTS[:, 0])
MASK = np.arange(6)[None] < np.array([6, 2, 0])[:, None]


def built(**options):
    cell = GRUCell(4, **options)
    cell.build((None, 5))
    return randomize(cell)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("reset_after", [True, False])
def test_gru_is_the_keras_cell(use_bias, reset_after):
    options = {"use_bias": use_bias, "reset_after": reset_after}
    cell = built(**options)
    plain = keras.layers.GRUCell(4, **options)
    plain.build((None, 5))
    plain.set_weights(cell.get_weights())
    wanted, _ = plain(X, [ops.convert_to_tensor(H)])
    got, [state] = cell(X, [ops.convert_to_tensor(H)])
    close(got, wanted)
    close(state, wanted)
    # As a layer of a model, by Keras's own loop.
    layer, whole = (keras.layers.RNN(c, return_sequences=True) for c in (cell, plain))
    close(layer(INPUTS), whole(INPUTS))


@pytest.mark.parametrize("update", ["keep", "replace"])
def test_gru_is_the_papers(update):
    cell = built(update=update)
    got, _ = cell(X, [ops.convert_to_tensor(H)])
    weights = reference.named(cell)
    kernels = weights["kernel"], weights["recurrent_kernel"], weights["bias"]
    for b in range(3):
        wanted = reference.gru_step(INPUTS[b, 0], H[b], *kernels, keep=update == "keep")
        close(to_numpy(got)[b], wanted)


@pytest.mark.parametrize("reset_after", [True, False])
def test_a_fed_part_of_the_input_gives_the_same_step(reset_after):
    cell = built(reset_after=reset_after)
    h = [ops.convert_to_tensor(H)]
    wanted, _ = cell(X, h)
    x, step = hoist(cell, X[:, :3], training=True, fed=2)
    got, _ = step(x, h, X[:, 3:])
    close(got, wanted)


@pytest.mark.parametrize("reset_after", [True, False])
def test_gradients_prepared_for_the_loop_are_the_plain_ones(reset_after):
    cell = built(reset_after=reset_after)

    def loss(training):
        outputs, _ = run_cell(cell, INPUTS, None, MASK, training=training)
        return ops.sum(ops.square(outputs))

    value, found = gradients(cell.trainable_variables, lambda: loss(True))
    plain, wanted = gradients(cell.trainable_variables, lambda: loss(False))
    close(value, plain)
    for a, b in zip(found, wanted, strict=True):
        close(a, b, 1e-5)
        assert np.abs(b).max() > 0


@pytest.mark.parametrize("bidirectional", [True, False])
def test_stack_of_grus(bidirectional):
    names = {True: 2 * 2, False: 2}[bidirectional]
    layer = check_layer(
        RecurrentStack,
        {
            "units": 8,
            "num_layers": 2,
            "bidirectional": bidirectional,
            "cell": "gru",
            "update": "replace",
        },
        {"inputs": INPUTS},
        ["bias", "kernel", "recurrent_kernel"] * names,
    )
    randomize(layer)
    outputs, states = layer(INPUTS, mask=MASK)
    assert [len(state) for state in states] == [1, 1]
    if not bidirectional:  # the last state of a row is its last real output
        close(states[-1][0][0], outputs[0, 5])
        close(states[-1][0][1], outputs[1, 1])
    assert not to_numpy(outputs)[~MASK].any()


def test_config():
    copy = same_config(GRUCell(4, update="replace", reset_after=True))
    assert (copy.update, copy.reset_after) == ("replace", True)


def test_bad_arguments():
    with pytest.raises(ValueError, match='"keep" or "replace".*update=.forget'):
        GRUCell(4, update="forget")
    with pytest.raises(ValueError, match="GRUCell leaves dropout.*dropout=0.1"):
        GRUCell(4, dropout=0.1)
    with pytest.raises(ValueError, match='"lstm" or "gru".*cell=.rnn'):
        RecurrentStack(4, cell="rnn")
    with pytest.raises(ValueError, match="alone.*update=.keep., cell=.lstm"):
        RecurrentStack(4, update="keep")
