import keras
import numpy as np
from keras import ops

from tests.harness import close, randomize, same_config
from tests.layers import reference
from zoo.layers import FixedContextDecoder, GRUCell

RNG = np.random.default_rng(4)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
CONTEXT = RNG.normal(size=(3, 6)).astype("float32")
START = RNG.normal(size=(3, 4)).astype("float32")


def test_fixed_context():
    """s_i = cell([x_i; c], s_{i-1}), as a call of Keras's loop on the joined inputs."""
    decoder = FixedContextDecoder(GRUCell(4))
    decoder.build(INPUTS.shape, CONTEXT.shape)
    randomize(decoder)
    outputs, contexts = decoder(INPUTS, CONTEXT, START)
    repeated = np.repeat(CONTEXT[:, None], 6, axis=1)
    close(contexts, repeated)
    whole = keras.layers.RNN(decoder.cell, return_sequences=True)
    joined = np.concatenate([INPUTS, repeated], axis=-1)
    wanted = whole(joined, initial_state=[ops.convert_to_tensor(START)])
    close(outputs, wanted)
    assert same_config(decoder).cell.units == 4


def test_reset_context():
    """Cho et al. 2014, appendix: r * (U s + C c) in the candidate."""
    cell = GRUCell(4, reset_after=True)
    decoder = FixedContextDecoder(cell, reset_context=True)
    decoder.build(INPUTS.shape, CONTEXT.shape)
    randomize(decoder)
    outputs, _ = decoder(INPUTS, CONTEXT, START)
    weights = reference.named(cell)
    size = CONTEXT.shape[1]
    C = weights["kernel"][-size:]
    C, after = np.pad(C[:, :8], ((0, 0), (0, 4))), C[:, 8:]
    kernel = np.concatenate([weights["kernel"][:-size], C])
    for b in range(3):
        s = START[b]
        for t in range(6):
            x = np.concatenate([INPUTS[b, t], CONTEXT[b]])
            s = reference.gru_step(
                x,
                s,
                kernel,
                weights["recurrent_kernel"],
                weights["bias"],
                after=CONTEXT[b] @ after,
            )
            close(outputs[b, t], s)
    assert same_config(decoder).reset_context
