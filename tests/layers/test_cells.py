import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, compiled, gradients, randomize, same_config, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import (
    GRUCell,
    LSTMCell,
    RecurrentStack,
    SimpleRNNCell,
    logistic_1,
    logistic_2,
)
from zoo.layers.cells import lstm_states
from zoo.layers.fast_loops.decoder_loop import run_cell

RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
H = RNG.normal(size=(3, 4)).astype("float32")
X = ops.convert_to_tensor(INPUTS[:, 0])
MASK = np.arange(6)[None] < np.array([6, 2, 0])[:, None]


def built(**options):
    cell = GRUCell(4, **options)
    cell.build((None, 5))
    return randomize(cell)


KERAS = {
    "lstm": (LSTMCell, keras.layers.LSTMCell, {}),
    "gru": (GRUCell, keras.layers.GRUCell, {"reset_after": False}),
    "gru, reset after": (GRUCell, keras.layers.GRUCell, {"reset_after": True}),
    "rnn": (SimpleRNNCell, keras.layers.SimpleRNNCell, {}),
}


@pytest.mark.parametrize("use_bias", [True, once(False)])
@pytest.mark.parametrize("kind", KERAS)
def test_it_is_the_keras_cell(kind, use_bias):
    cls, peer, options = KERAS[kind]
    cell, plain = (make(4, use_bias=use_bias, **options) for make in (cls, peer))
    for each in (cell, plain):
        each.build((None, 5))
    plain.set_weights(randomize(cell).get_weights())
    states = [ops.convert_to_tensor(H)] * (2 if kind == "lstm" else 1)
    got, wanted = (compiled(each)(X, states) for each in (cell, plain))
    for one, other in zip(*map(keras.tree.flatten, (got, wanted)), strict=True):
        close(one, other)
    # As a layer of a model, by Keras's own loop.
    layer, whole = (keras.layers.RNN(c, return_sequences=True) for c in (cell, plain))
    for each in (layer, whole):
        each.build(INPUTS.shape)
    close(compiled(layer)(INPUTS), compiled(whole)(INPUTS))


@pytest.mark.parametrize("update", ["keep", "replace"])
def test_gru_is_the_papers(update):
    cell = built(update=update)
    got, _ = compiled(cell)(X, [ops.convert_to_tensor(H)])
    weights = reference.named(cell)
    kernels = weights["kernel"], weights["recurrent_kernel"], weights["bias"]
    for b in range(3):
        wanted = reference.gru_step(INPUTS[b, 0], H[b], *kernels, keep=update == "keep")
        close(to_numpy(got)[b], wanted)


def of_1997(use_bias=True, size=5):
    cell = LSTMCell(
        4,
        logistic_2,
        output_activation=logistic_1,
        forget_gate=False,
        use_bias=use_bias,
    )
    cell.build((None, size))
    return randomize(cell)


@pytest.mark.parametrize("use_bias", [True, once(False)])
@pytest.mark.parametrize("training", [True, False])
def test_the_cell_of_1997(use_bias, training):
    """Over sequences, with pads, and by Keras's own loop."""
    cell = of_1997(use_bias)
    weights = reference.named(cell)
    kernels = weights["kernel"], weights["recurrent_kernel"], weights.get("bias", 0.0)
    states = [ops.convert_to_tensor(H), ops.convert_to_tensor(H[::-1].copy())]
    outputs, final = run_cell(cell, INPUTS, states, MASK, training=training)
    for b, length in enumerate(MASK.sum(1)):
        h, c = H[b].astype("float64"), H[::-1][b].astype("float64")
        for t in range(length):
            h, c = reference.lstm_1997_step(INPUTS[b, t], h, c, *kernels)
            close(to_numpy(outputs)[b, t], h)
        close(to_numpy(final[0])[b], h)
        close(to_numpy(final[1])[b], c)
    layer = keras.layers.RNN(cell, return_sequences=True)
    close(layer(INPUTS), to_numpy(run_cell(cell, INPUTS)[0]))


def test_stacks_of_the_other_cells():
    own = {"activation": logistic_2, "output_activation": logistic_1}
    for cell, options, count in (
        ("rnn", None, 1),
        ("lstm", {"forget_gate": False, **own}, 2),
        ("gru", {"activation": "relu"}, 1),
    ):
        stack = RecurrentStack(4, 2, cell=cell, cell_options=options)
        stack.build(INPUTS.shape)
        outputs, states = compiled(stack)(INPUTS, mask=MASK)
        assert [len(state) for state in states] == [count] * 2
        assert stack.compute_output_shape(INPUTS.shape) == (
            tuple(outputs.shape),
            [[tuple(s.shape) for s in state] for state in states],
        )
        copy = same_config(stack)
        copy.build(INPUTS.shape)
        copy.set_weights(stack.get_weights())
        close(compiled(copy)(INPUTS, mask=MASK)[0], to_numpy(outputs))
    same_config(of_1997())
    options = {"kernel_regularizer": "l2", "bias_constraint": "non_neg"}
    cell = LSTMCell(4, forget_gate=False, **options)
    cell.build(INPUTS.shape)
    assert cell.losses and cell.bias.constraint


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
