"""The loops of decoders and cells beside their plain steps, scanned over time."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import build_randomized, close, compiled, gradients, to_numpy
from tests.marks import once
from zoo.layers import (
    AdditiveAttention,
    AttentionCell,
    AttentionDecoder,
    ContextCell,
    ContextDecoder,
    FixedContextDecoder,
    GRUCell,
    HardAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LSTMCell,
    MultiplicativeAttention,
    SimpleRNNCell,
    logistic_1,
    logistic_2,
)
from zoo.layers.cells import as_list
from zoo.layers.fast_loops.decoder_loop import make_loop_step, run_cell
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import scan

RNG = np.random.default_rng(13)
INPUTS = ops.convert_to_tensor(RNG.normal(size=(3, 4, 5)).astype("float32"))
MEMORY = ops.convert_to_tensor(RNG.normal(size=(3, 9, 8)).astype("float32"))
MASK = np.arange(9)[None] < np.array([9, 4, 0])[:, None]
WEIGHTS = ops.convert_to_tensor(RNG.normal(size=29).astype("float32"))

ATTENTION_CELLS = {
    "lstm, general": lambda: (
        [LSTMCell(6, use_bias=False), LSTMCell(6)],
        MultiplicativeAttention("general"),
    ),
    "lstm, local-p": lambda: ([LSTMCell(6)], LocalPredictiveAttention("general", 1)),
    "gru and rnn, additive": lambda: (
        [GRUCell(7, reset_after=True), SimpleRNNCell(6)],
        AdditiveAttention(5),
    ),
    "Keras's gru, zoo's lstm, local-m": lambda: (
        [keras.layers.GRUCell(6), LSTMCell(5)],
        LocalMonotonicAttention("general", 1),
    ),
    "Keras's lstm": lambda: (keras.layers.LSTMCell(6), AdditiveAttention(5)),
    "Keras's simple cell": lambda: (
        keras.layers.SimpleRNNCell(6),
        MultiplicativeAttention("general"),
    ),
    "somebody's": lambda: (Minimal(), AdditiveAttention(5)),
}
# Under each backend one with input feeding and one without; the others under PyTorch.
EVERYWHERE = {("lstm, general", True), ("gru and rnn, additive", False)}
CONTEXT_CELLS = {
    "gru": lambda: ContextCell(GRUCell(6), AdditiveAttention(5)),
    "lstm, gate": lambda: ContextCell(
        LSTMCell(6), LocalMonotonicAttention("concat", 1), gate=True
    ),
    "gru, reset after": lambda: ContextCell(
        GRUCell(6, reset_after=True), MultiplicativeAttention("general")
    ),
}


def same(variables, fast, plain):
    """Values and gradients of two ways to compute a list of `(B, …)`."""

    def loss(run):
        return sum(ops.sum(x * WEIGHTS[: x.shape[-1]]) for x in run()[:-1])

    for got, right in zip(compiled(fast)(), compiled(plain)(), strict=True):
        close(got, right)
    same_gradients(variables, lambda: loss(fast), lambda: loss(plain))


def same_gradients(variables, fast, plain):
    value, found = gradients(variables, fast)
    expected, wanted = gradients(variables, plain)
    assert value == pytest.approx(expected, rel=1e-5)
    for variable, got, right in zip(variables, found, wanted, strict=True):
        close(got, right, atol=1e-5 * max(1.0, np.abs(right).max()))
        assert np.abs(right).max() > 0, variable.path


def check_decoder(decoder, cell):
    """Compares a decoder with the steps of its cell; returns its final state's last."""
    build_randomized(decoder, INPUTS.shape, MEMORY.shape)

    def fast():
        options = {"mask": MASK, "training": True}
        *parts, states, weights = decoder(INPUTS, MEMORY, **options)
        return ops.concatenate([*parts, weights], axis=-1), *states

    def plain():
        def step(x, states):
            *parts, states = cell(x, states, MEMORY, mask=MASK)
            return ops.concatenate(parts, axis=-1), states

        outputs, states = scan(step, INPUTS, cell.get_initial_state(3))
        return outputs, *states

    same(decoder.trainable_variables, fast, plain)
    return fast()[-1]


@pytest.mark.parametrize(
    "kind, feeding",
    [
        (k, f) if (k, f) in EVERYWHERE else once(k, f)
        for k in ATTENTION_CELLS
        for f in (True, False)
    ],
)
def test_attention_decoder(kind, feeding):
    cells, attention = ATTENTION_CELLS[kind]()
    cell = AttentionCell(cells, attention, units=10, input_feeding=feeding)
    places = check_decoder(AttentionDecoder(cell), cell)
    assert to_numpy(places).tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    "kind", [k if k == "lstm, gate" else once(k) for k in CONTEXT_CELLS]
)
def test_context_decoder(kind):
    cell = CONTEXT_CELLS[kind]()
    check_decoder(ContextDecoder(cell), cell)


@pytest.mark.parametrize("after", [True, once(False)])
def test_fixed_context_decoder(after):
    decoder = FixedContextDecoder(GRUCell(6, reset_after=after))
    context, start = MEMORY[:, 0], MEMORY[:, 1, :6]
    build_randomized(decoder, INPUTS.shape, context.shape)

    def fast():
        return decoder(INPUTS, context, start, training=True)

    def plain():
        projected = decoder.project(context)

        def step(x, states):
            h = decoder.step(x, states[0], *projected)
            return h, [h]

        outputs, _ = scan(step, INPUTS, [start])
        return outputs, ops.repeat(context[:, None], 4, axis=1)

    same(decoder.trainable_variables, fast, plain)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="an axis without a length is TensorFlow's",
)
def test_noise_whose_width_is_not_known():
    import tensorflow as tf

    attention = HardAttention(AdditiveAttention(5), soft_share=0.0)
    decoder = ContextDecoder(ContextCell(GRUCell(6), attention))
    decoder.build(INPUTS.shape, MEMORY.shape)
    noise = ops.convert_to_tensor(RNG.normal(size=(3, 4, 10)).astype("float32"))

    def run(memory, noise):
        return decoder(INPUTS, memory, noise=noise, training=True)[0]

    shapes = [tf.TensorSpec([3, None, 8]), tf.TensorSpec([3, 4, None])]
    found = tf.function(run, input_signature=shapes)(MEMORY, noise)
    close(found, run(MEMORY, noise))


@pytest.mark.parametrize("feeding", [True, once(False)])
def test_dropout_drops_each_cells_inputs_anew_at_each_step(feeding):
    """Over many units the means of what the cells read stay as they are."""
    cell = AttentionCell(
        [LSTMCell(6), LSTMCell(6)],
        MultiplicativeAttention("general"),
        input_feeding=feeding,
        dropout=0.5,
        seed=1,
    )
    decoder = AttentionDecoder(cell)
    inputs = ops.ones((300, 2, 5))
    memory = ops.ones((300, 3, 6))
    build_randomized(decoder, inputs.shape, memory.shape, scale=0.1)
    plain = decoder(inputs, memory)[0]
    dropped = decoder(inputs, memory, training=True)[0]
    close(ops.mean(dropped, axis=0), ops.mean(plain, axis=0), atol=0.02)
    spread = ops.std(dropped, axis=0)
    assert float(ops.min(spread)) > 0.0


# === Cells, beside their plain steps ===

SEQUENCE = np.random.default_rng(11).normal(size=(3, 6, 5)).astype("float32")
REAL = np.arange(6)[None] < np.array([6, 2, 0])[:, None]


class Minimal(keras.layers.Layer):
    """A cell as Keras's documentation has one: its state is the first of a list."""

    state_size = output_size = 4

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 4), name="kernel")
        self.recurrent = self.add_weight(shape=(4, 4), name="recurrent")
        self.built = True

    def get_initial_state(self, *, batch_size=None):
        return [ops.zeros((batch_size, 4))]

    def call(self, inputs, states):
        h = ops.matmul(inputs, self.kernel) + ops.matmul(states[0], self.recurrent)
        h = ops.tanh(h)
        return h, [h]


OLD = {"activation": logistic_2, "output_activation": logistic_1}
CELLS = {
    "lstm": lambda: LSTMCell(4),
    "lstm without bias": lambda: LSTMCell(4, use_bias=False),
    "lstm of 1997": lambda: LSTMCell(4, forget_gate=False, **OLD),
    "gru": lambda: GRUCell(4),
    "gru, replacing, without bias": lambda: GRUCell(
        4, update="replace", use_bias=False
    ),
    "gru, reset after": lambda: GRUCell(4, reset_after=True),
    "gru, reset after, without bias": lambda: GRUCell(
        4, reset_after=True, use_bias=False
    ),
    "rnn": lambda: SimpleRNNCell(4),
    "Keras's gru": lambda: keras.layers.GRUCell(4),
    "somebody's": lambda: Minimal(),
}
# The loops that compiled backends prepare in another way each.
DEFAULT = ("lstm", "gru", "gru, reset after", "rnn")
KINDS = [name if name in DEFAULT else once(name) for name in CELLS]


def built(name):
    return build_randomized(CELLS[name](), (None, 5))


def plain_run(cell, inputs, states, mask, reverse):
    """The cell's `call` at each step; a masked one keeps the state and gives zeros."""

    def step(x, states):
        keep = x[:, -1:] > 0
        output, new = cell(x[:, :-1], states)
        new = [ops.where(keep, a, b) for a, b in zip(as_list(new), states, strict=True)]
        return ops.where(keep, output, 0.0), new

    real = np.ones(inputs.shape[:2]) if mask is None else mask
    inputs = np.concatenate([inputs, real[..., None].astype("float32")], axis=-1)
    return scan(step, ops.convert_to_tensor(inputs), states, reverse)


def total(outputs, states):
    return sum(ops.sum(x**2) + ops.sum(x[..., 0]) for x in [outputs, *states])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "reverse, masked", [(False, True), once(True, True), once(0, 0)]
)
def test_a_cell_over_a_sequence(name, reverse, masked):
    cell, mask = built(name), REAL if masked else None
    count = len(as_list(cell.get_initial_state(batch_size=3)))
    states = [0.1 * keras.random.normal((3, 4), seed=n) for n in range(count)]
    variables = cell.trainable_variables

    def plain():
        return total(*plain_run(cell, SEQUENCE, states, mask, reverse))

    for training in (True, False):

        def fast(training=training):
            inputs = ops.convert_to_tensor(SEQUENCE)
            return total(*run_cell(cell, inputs, states, mask, reverse, training))

        same_gradients(variables, fast, plain)
    found, wanted = (
        compiled(lambda run=run: run(cell, SEQUENCE, states, mask, reverse))()
        for run in (run_cell, plain_run)
    )
    for got, right in zip(*map(keras.tree.flatten, (found, wanted)), strict=True):
        close(got, right)


@pytest.mark.parametrize(
    "name, known",
    [(name, 3) for name in DEFAULT]
    + [("lstm", 0)]
    + [once(name, n) for name in CELLS for n in (0, 3) if (name, n) != ("lstm", 0)],
)
def test_an_input_that_is_known_in_the_loop_only(name, known):
    """As decoders feed a context: the last parts of the input, or all of it."""
    cell = built(name)
    first = as_list(cell.get_initial_state(batch_size=3))
    x = ops.convert_to_tensor(np.swapaxes(SEQUENCE, 0, 1))

    def fast():
        loop = TimeLoop((6, 3), "float32", training=True)
        fed = loop.add_input(x[..., known:])
        inputs = x[..., :known] if known else None
        step = make_loop_step(cell, loop, inputs, fed_back=5 - known)
        outputs, states = loop.run(
            lambda slices, states: step(slices, states, slices[fed]), first
        )
        return total(outputs, states)

    def plain():
        return total(*plain_run(cell, SEQUENCE, first, None, False))

    same_gradients(cell.trainable_variables, fast, plain)
