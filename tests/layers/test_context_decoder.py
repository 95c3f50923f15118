import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import build_randomized, close, compiled, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import (
    AdditiveAttention,
    ContextCell,
    ContextDecoder,
    FixedContextDecoder,
    GRUCell,
    MaxoutReadout,
)

RNG = np.random.default_rng(4)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
MEMORY = RNG.normal(size=(3, 7, 6)).astype("float32")
MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]


def built(gate=False):
    cell = ContextCell(GRUCell(4), AdditiveAttention(8), gate=gate)
    return build_randomized(ContextDecoder(cell), INPUTS.shape, MEMORY.shape)


@pytest.mark.parametrize("gate", [False, once(True)])
def test_it_is_the_papers(gate):
    """Bahdanau et al. 2015, A.2.2, and Xu et al. 2015's scalar β."""
    decoder = built(gate=gate)
    run = compiled(decoder)
    outputs, contexts, states, alignments = to_numpy(run(INPUTS, MEMORY, mask=MASK))
    gru, score = (
        reference.named(x) for x in (decoder.cell.cell, decoder.cell.attention)
    )
    own = reference.named(decoder.cell) if gate else {}
    for b, length in enumerate([7, 3, 0]):
        s, memory = np.zeros(4), MEMORY[b, :length].astype("float64")
        for t in range(6):
            context = np.zeros(6)
            if length:
                context, a = reference.attend("additive", s, memory, score)
                close(alignments[b, t, :length], a)
            if gate:
                beta = reference.sigmoid(s @ own["w_beta"] + own["b_beta"])
                assert beta.shape == (1,)
                context = beta * context
            close(contexts[b, t], context)
            x = np.concatenate([INPUTS[b, t], context])
            kernels = gru["kernel"], gru["recurrent_kernel"], gru["bias"]
            s = reference.gru_step(x, s, *kernels)
            close(outputs[b, t], s)
        close(states[0][b], s)
    assert (to_numpy(states[1]) == 6).all()


FIXED = RNG.normal(size=(3, 6)).astype("float32")
START = RNG.normal(size=(3, 4)).astype("float32")


def test_fixed_context():
    """s_i = cell([x_i; c], s_{i-1}), as a call of Keras's loop on the joined inputs."""
    decoder = FixedContextDecoder(GRUCell(4))
    build_randomized(decoder, INPUTS.shape, FIXED.shape)
    outputs, contexts = decoder(INPUTS, FIXED, START)
    repeated = np.repeat(FIXED[:, None], 6, axis=1)
    close(contexts, repeated)
    whole = keras.layers.RNN(decoder.cell, return_sequences=True)
    joined = np.concatenate([INPUTS, repeated], axis=-1)
    wanted = whole(joined, initial_state=[ops.convert_to_tensor(START)])
    close(outputs, wanted)


def test_the_reset_gate_scales_the_context():
    """Cho et al. 2014, appendix: r * (U s + C c) in the candidate."""
    cell = GRUCell(4, reset_after=True)
    decoder = build_randomized(FixedContextDecoder(cell), INPUTS.shape, FIXED.shape)
    outputs, _ = decoder(INPUTS, FIXED, START)
    weights = reference.named(cell)
    size = FIXED.shape[1]
    C = weights["kernel"][-size:]
    C, after = np.pad(C[:, :8], ((0, 0), (0, 4))), C[:, 8:]
    kernel = np.concatenate([weights["kernel"][:-size], C])
    for b in range(3):
        s = START[b]
        for t in range(6):
            x = np.concatenate([INPUTS[b, t], FIXED[b]])
            s = reference.gru_step(
                x,
                s,
                kernel,
                weights["recurrent_kernel"],
                weights["bias"],
                after=FIXED[b] @ after,
            )
            close(outputs[b, t], s)


STATE, WORD, CONTEXT = (RNG.normal(size=(2, 3, n)).astype("float32") for n in (4, 5, 6))


@pytest.mark.parametrize("use_bias", [True, False])
def test_maxout_is_the_papers(use_bias):
    layer = MaxoutReadout(7, use_bias=use_bias)
    build_randomized(layer, STATE.shape, WORD.shape, CONTEXT.shape)
    weights = reference.named(layer)
    got = layer(STATE, WORD, CONTEXT)
    for b, t in np.ndindex(2, 3):
        wanted = reference.maxout(STATE[b, t], WORD[b, t], CONTEXT[b, t], weights)
        close(got[b, t], wanted)
    close(layer(STATE[:, 1], WORD[:, 1], CONTEXT[:, 1]), got[:, 1])
