import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import (
    AdditiveAttention,
    ContextCell,
    ContextDecoder,
    GRUCell,
)

RNG = np.random.default_rng(4)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
MEMORY = RNG.normal(size=(3, 7, 6)).astype("float32")
MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]


def built(gate=False):
    cell = ContextCell(GRUCell(4), AdditiveAttention(8), gate=gate)
    decoder = ContextDecoder(cell)
    decoder.build(INPUTS.shape, MEMORY.shape)
    return randomize(decoder)


@pytest.mark.parametrize("gate", [False, once(True)])
def test_it_is_the_papers(gate):
    """Bahdanau et al. 2015, A.2.2, and Xu et al. 2015's scalar β."""
    decoder = built(gate=gate)
    run = compiled(lambda *given: decoder(*given, return_alignments=True))
    outputs, contexts, states, alignments = to_numpy(run(INPUTS, MEMORY, MASK))
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


def test_a_mask_of_either_form_gives_the_same_penalty():
    cell = ContextCell(GRUCell(4), AdditiveAttention(3))
    decoder = ContextDecoder(cell, doubly_stochastic=1.0)
    inputs, memory = (np.random.normal(size=(2, n, 3)) for n in (6, 5))
    mask = np.array([[True, True, False, False, False], [True] * 5])
    decoder.build(inputs.shape, memory.shape)

    def penalty(mask):
        decoder(inputs, memory, mask=mask, training=True)
        return sum(decoder.losses)

    penalties = [
        float(to_numpy(compiled(penalty)(own))) for own in (mask, mask[:, None])
    ]
    assert penalties[0] == pytest.approx(penalties[1]) and penalties[0] > 0
    with pytest.raises(ValueError, match=r"\(B, 1, S\).*mask \(2, 6, 5\)"):
        decoder(inputs, memory, mask=np.repeat(mask[:, None], 6, axis=1))
