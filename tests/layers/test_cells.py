import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import (
    check_layer,
    close,
    compiled,
    randomize,
    same_config,
    to_numpy,
)
from tests.layers import reference
from tests.marks import once
from zoo.layers import (
    AttentionCell,
    AttentionDecoder,
    GRUCell,
    LSTMCell,
    MultiplicativeAttention,
    RecurrentStack,
    SimpleRNNCell,
)
from zoo.layers.fast_loops.cell_loop import run_cell

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


@pytest.mark.parametrize("bidirectional", [once(True), False])
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
    outputs, states = compiled(layer)(INPUTS, mask=MASK)
    assert [len(state) for state in states] == [1, 1]
    if not bidirectional:  # the last state of a row is its last real output
        close(states[-1][0][0], outputs[0, 5])
        close(states[-1][0][1], outputs[1, 1])
    assert not to_numpy(outputs)[~MASK].any()


def test_config():
    copy = same_config(GRUCell(4, update="replace", reset_after=True))
    assert (copy.update, copy.reset_after) == ("replace", True)


def of_1997(use_bias=True, size=5):
    cell = LSTMCell(
        4,
        "logistic_2",
        output_activation="logistic_1",
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


def test_without_a_forget_gate_it_is_the_cell_whose_gate_stays_open():
    cell, plain = LSTMCell(4, forget_gate=False), LSTMCell(4)
    for each in (cell, plain):
        each.build((None, 5))
    weights = [w.copy() for w in randomize(cell).get_weights()]
    parts = [np.split(w, 3, axis=-1) for w in weights]
    full = [np.concatenate([i, 0 * i, g, o], -1) for i, g, o in parts]
    full[2][4:8] = 100.0
    plain.set_weights(full)
    got, wanted = (
        compiled(lambda each=each: run_cell(each, INPUTS, None, MASK)[0])()
        for each in (cell, plain)
    )
    close(got, wanted)
    assert cell.count_params() == 3 * plain.count_params() / 4


def test_the_lstm_is_its_equations():
    cell = LSTMCell(4)
    cell.build((None, 5))
    weights = reference.named(randomize(cell))
    kernels = weights["kernel"], weights["recurrent_kernel"], weights["bias"]
    c = H[::-1].copy()
    got, states = cell(X, [ops.convert_to_tensor(H), ops.convert_to_tensor(c)])
    for b in range(3):
        wanted = reference.lstm_step(INPUTS[b, 0], H[b], c[b], *kernels)
        close(got[b], wanted[0])
        close(states[1][b], wanted[1])


def test_initial_biases_of_the_papers():
    """1997: input gates -2, -4; Gers et al. 2000: forget gates positive, the other two
    negative, block by block."""
    cell = LSTMCell(
        2,
        forget_gate=False,
        bias_initializer=keras.initializers.Constant([-2, -4, 0, 0, 0, 0]),
    )
    cell.build((None, 3))
    close(cell.bias.value, [-2, -4, 0, 0, 0, 0])
    later = [-0.5, -1, 0.5, 1, 0, 0, -0.5, -1]
    cell = LSTMCell(
        2,
        unit_forget_bias=False,
        bias_initializer=keras.initializers.Constant(later),
    )
    cell.build((None, 3))
    close(cell.bias.value, later)
    same_config(cell)


def test_stacks_of_the_other_cells():
    options = {"activation": "logistic_2", "output_activation": "logistic_1"}
    for more, count in (
        ({"cell": "rnn"}, 1),
        ({"forget_gate": False, **options}, 2),
        ({"cell": "gru", "activation": "relu"}, 1),
    ):
        stack = RecurrentStack(4, 2, **more)
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


def test_attention_runs_around_the_cell_of_1997():
    cell = AttentionCell([of_1997(size=9)], MultiplicativeAttention("dot"), units=4)
    memory = RNG.normal(size=(3, 6, 4)).astype("float32")
    cell.build(X.shape, memory.shape)
    decoder = AttentionDecoder(randomize(cell))
    decoder.build(INPUTS.shape, memory.shape)
    outputs = compiled(decoder)(INPUTS, memory, mask=MASK)[0]
    states, step = cell.get_initial_state(batch_size=3), compiled(cell)
    for t in range(2):
        wanted, _, states = step(INPUTS[:, t], states, memory, mask=MASK)
        close(to_numpy(outputs)[:, t], to_numpy(wanted))
