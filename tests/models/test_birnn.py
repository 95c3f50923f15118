import numpy as np
import pytest

from tests.harness import close, compiled, randomize, same_config, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.models import BiRNN

SIZES = {"input_dim": 3, "output_dim": 2, "hidden_dim": 4}
FRAMES = np.random.default_rng(1).normal(size=(4, 7, 3)).astype("float32")
LENGTHS = np.array([7, 4, 1, 0])
MASK = np.arange(7)[None] < LENGTHS[:, None]


def step(kind, x, states, weights):
    """One step of a chain: the new states, the output first."""
    kernel, recurrent, bias = (
        weights[name] for name in ("kernel", "recurrent_kernel", "bias")
    )
    if kind == "lstm":
        return list(reference.lstm_step(x, *states, kernel, recurrent, bias))
    if kind == "gru":
        return [reference.gru_step(x, states[0], kernel, recurrent, bias)]
    return [np.tanh(x @ kernel + states[0] @ recurrent + bias)]


def expected(model, frames, kind, first, direction, delay):
    """The paper's equations for one sequence without pads."""
    length, states = len(frames), []
    for cell in model.chains:
        weights, h = reference.named(cell), [np.full(4, first)] * (1 + (kind == "lstm"))
        found = np.zeros((length, 4))
        order = range(length) if cell.name == "forward" else range(length)[::-1]
        for t in order:
            h = step(kind, frames[t].astype("float64"), h, weights)
            found[t] = h[0]
        shift = delay if cell.name == "forward" else -delay
        states.append(found[np.clip(np.arange(length) + shift, 0, length - 1)])
    output = reference.named(model.output_layer)
    return np.concatenate(states, axis=-1) @ output["kernel"] + output["bias"]


@pytest.mark.parametrize(
    ("cell", "direction", "delay", "first"),
    [
        ("rnn", "both", 0, 0.5),
        ("rnn", "forward", 2, 0.5),
        once("rnn", "backward", 3, 0.5),
        once("lstm", "both", 0, 0.0),
        ("lstm", "both", 0, 0.5),
        once("gru", "both", 0, 0.5),
    ],
)
def test_the_equations_are_the_papers(cell, direction, delay, first):
    """Sequence by sequence in NumPy, without the pads that the model gets."""
    options = {"cell": cell, "direction": direction, "delay": delay}
    model = randomize(BiRNN(**SIZES, **options, initial_state=first))
    same_config(model)
    frames = np.where(MASK[..., None], FRAMES, 99.0).astype("float32")
    run = compiled(lambda x, mask: model(x, mask=mask))
    outputs = to_numpy(run(frames, MASK))
    for row, length in enumerate(LENGTHS):
        real = FRAMES[row, :length]
        wanted = expected(model, real, cell, first, direction, delay)
        close(outputs[row, :length], wanted)
        if row == 1:
            close(compiled(model)(real[None])[0], wanted)  # alone, without a mask
    wider = np.pad(frames, ((0, 0), (0, 5), (0, 0)), constant_values=-7.0)
    padded = run(wider, np.pad(MASK, ((0, 0), (0, 5))))
    close(to_numpy(padded)[:, :7][MASK], outputs[MASK])


def test_the_papers_sizes_and_weights():
    model = BiRNN()
    assert model.count_params() == 13087  # "about 13,000"
    assert model.cell == "rnn" and model.initial_state == 0.5 and model.dropout == 0
    for variable in model.trainable_variables:
        values = np.abs(to_numpy(variable.value))
        assert values.max() <= 0.05 and (values > 0.04).any(), variable.path
