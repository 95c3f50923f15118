import keras
import numpy as np
import pytest

from tests.harness import build_randomized, close, compiled, same_config, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import (
    AdditiveAttention,
    AttentionCell,
    AttentionDecoder,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LSTMCell,
    MultiplicativeAttention,
)

RNG = np.random.default_rng(13)
INPUTS = RNG.normal(size=(3, 4, 5)).astype("float32")
MEMORY = RNG.normal(size=(3, 9, 8)).astype("float32")
LENGTHS = [9, 4, 0]
MASK = np.arange(9)[None] < np.array(LENGTHS)[:, None]

STACKS = {
    "lstm": lambda: [LSTMCell(6, use_bias=False), LSTMCell(6)],
    "keras_lstm": lambda: [keras.layers.LSTMCell(6)],
    "gru": lambda: keras.layers.GRUCell(6),
    "mixed": lambda: [LSTMCell(7), keras.layers.GRUCell(6, reset_after=False)],
    "simple": lambda: [keras.layers.SimpleRNNCell(6)],
}
ATTENTIONS = {
    "additive": lambda: AdditiveAttention(5),
    "general": lambda: MultiplicativeAttention("general"),
    "local_m": lambda: LocalMonotonicAttention("general", 1),
    "local_p": lambda: LocalPredictiveAttention("general", 1),
}


def make(stack, attention, feeding, **options):
    cell = AttentionCell(
        STACKS[stack](),
        ATTENTIONS[attention](),
        input_feeding=feeding,
        **{"units": 10, **options},
    )
    return build_randomized(AttentionDecoder(cell), INPUTS.shape, MEMORY.shape)


def test_input_feeding_is_luongs_equations():
    decoder = make("lstm", "local_p", True)
    cell = decoder.cell
    run = compiled(decoder)
    outputs, _, alignments = to_numpy(run(INPUTS, MEMORY, mask=MASK))
    attention = reference.named(cell.attention)
    W_c = to_numpy(cell.W_c.value).astype("float64")
    layers = [reference.named(c) for c in cell.cells]
    for b, length in enumerate(LENGTHS[:2]):
        memory = MEMORY[b, :length].astype("float64")
        h, c, fed = [np.zeros(6)] * 2, [np.zeros(6)] * 2, np.zeros(10)
        for t in range(4):
            x = np.concatenate([INPUTS[b, t], fed])
            for k, weights in enumerate(layers):
                h[k], c[k] = reference.lstm_step(
                    x,
                    h[k],
                    c[k],
                    weights["kernel"],
                    weights["recurrent_kernel"],
                    weights.get("bias", 0.0),
                )
                x = h[k]
            focus = reference.predicted_focus(x, length, attention)
            centre = min(int(focus), length - 1)
            context, a = reference.local(
                "general", x, memory, attention, centre, 1, focus
            )
            fed = np.tanh(np.concatenate([context, x]) @ W_c)
            close(outputs[b, t], fed)
            close(alignments[b, t, :length], a)


@pytest.mark.parametrize("feeding", [True, once(False)])
@pytest.mark.parametrize("vector, units", [("linear", 10), once("context", None)])
def test_other_vectors_than_equation_5(vector, units, feeding):
    decoder = make("gru", "general", feeding, vector=vector, units=units)
    cell = decoder.cell
    run = compiled(lambda: decoder(INPUTS, MEMORY, mask=MASK))
    outputs, final, alignments = found = to_numpy(run())
    fresh = AttentionCell.from_config({**cell.get_config(), "units": units})
    shapes = AttentionDecoder(fresh).compute_output_shape(INPUTS.shape, MEMORY.shape)
    assert shapes == keras.tree.map_structure(np.shape, found)
    contexts = alignments @ (MEMORY * MASK[..., None])
    if vector == "context":
        assert cell.W_c is None and cell.units == cell.output_size == 8
        close(outputs, contexts)
    step = compiled(lambda x, states: cell(x, states, MEMORY, mask=MASK))
    states = cell.get_initial_state(batch_size=3)
    for t in range(INPUTS.shape[1]):
        output, _, states = step(INPUTS[:, t], states)
        if vector == "linear":  # of the context and h_t, the cell's state
            joined = np.concatenate([contexts[:, t], to_numpy(states[0])], axis=-1)
            close(output, joined @ to_numpy(cell.W_c.value))
        close(outputs[:, t], output)
    for got, wanted in zip(final, states, strict=True):
        close(got, wanted)
    same_config(decoder)
