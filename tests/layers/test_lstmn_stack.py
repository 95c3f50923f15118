import numpy as np
import pytest
from keras import ops

from tests.harness import build_randomized, close, compiled, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import LSTMN

RNG = np.random.default_rng(8)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
MASK = np.arange(6)[None] < np.array([6, 2, 0])[:, None]


def test_a_stack_is_the_papers():
    layer = build_randomized(LSTMN(4, num_layers=2), INPUTS.shape)
    outputs, states = compiled(layer)(INPUTS, mask=MASK)
    lower, upper = (reference.named(cell) for cell in layer.cells)
    zeros = np.zeros((2, 4))
    for b, steps in enumerate(MASK.sum(1)):
        xs = INPUTS[b, :steps].astype("float64")
        hs, _, _ = reference.lstmn_run(xs, lower, zeros)
        hs = [np.concatenate(pair) for pair in zip(hs, xs, strict=True)]
        hs, cs, _ = reference.lstmn_run(hs, upper, zeros, skip=5)
        for t in range(steps):
            close(to_numpy(outputs)[b, t], hs[t])
        if steps:
            close(to_numpy(states[1][0])[b], hs[-1])
            close(to_numpy(states[1][1])[b], cs[-1])
    assert not to_numpy(outputs)[~MASK].any()


@pytest.mark.parametrize("num_layers", [once(1), 2])
def test_tapes_that_start_anew(num_layers):
    """Each part is as if it were called by itself, from the states before it."""
    layer = build_randomized(LSTMN(4, num_layers), INPUTS.shape)
    length = INPUTS.shape[1]
    places, starts = [2, 3, 5], np.zeros((3, length), "bool")
    for b, place in enumerate(places):
        starts[b, place] = True
    # A pad starts nothing.
    mask = np.ones((3, length), "bool")
    mask[1, 1], starts[1, 1] = False, True
    run, advance = compiled(layer), compiled(layer.step)
    found, last = run(INPUTS, mask=mask, starts=starts)
    states = layer.make_states(3, length)
    whole, _ = run(INPUTS)
    for b, place in enumerate(places):
        row = slice(b, b + 1)
        before, middle = run(INPUTS[row, :place], mask=mask[row, :place])
        behind, wanted = run(INPUTS[row, place:], initial_states=middle)
        close(to_numpy(found)[b, :place], to_numpy(before)[0])
        close(to_numpy(found)[b, place:], to_numpy(behind)[0])
        assert np.abs(to_numpy(whole)[b, place:] - to_numpy(behind)[0]).max() > 1e-3
        for one, two in zip(last[-1], wanted[-1], strict=True):
            close(to_numpy(one)[b], to_numpy(two)[0])
    found, _ = run(INPUTS, starts=starts)
    for t in range(length):
        begins = ops.convert_to_tensor(starts[:, t : t + 1])
        h, _, states = advance(INPUTS[:, t], states, starts=begins)
        close(h, to_numpy(found)[:, t])


def test_steps_and_the_end_of_their_room():
    layer = build_randomized(LSTMN(4, num_layers=2), INPUTS.shape)
    outputs, _ = compiled(layer)(INPUTS[:, :2])
    states, step = layer.make_states(3, 2), compiled(layer.step)
    for t in range(3):
        h, _, states = step(INPUTS[:, t], states)
        if t < 2:
            close(h, outputs[:, t])
    assert np.isnan(to_numpy(h)).all()


@pytest.mark.parametrize("layers", [1, once(2)])
def test_intra_attention_gives_the_weights_on_the_tape(layers):
    """Against NumPy, word by word; slot 0 is the start."""
    layer = build_randomized(LSTMN(4, num_layers=layers), INPUTS.shape)
    found = to_numpy(compiled(layer.intra_attention)(INPUTS, MASK))
    assert found.shape == (3, 6, 7)
    zeros, w = np.zeros((2, 4)), reference.named(layer.cells[-1])
    for b, length in enumerate(MASK.sum(1)):
        xs = asked = INPUTS[b, :length].astype("float64")
        if layers == 2:  # which asks with h_t of the layer below alone
            lower = reference.named(layer.cells[0])
            asked, *_ = reference.lstmn_run(xs, lower, zeros)
            xs = [np.concatenate(pair) for pair in zip(asked, xs, strict=True)]
        top, *_ = reference.lstmn_run(xs, w, zeros, skip=5 if layers == 2 else 0)
        hs, htilde = [np.zeros(4), *top], np.zeros(4)
        for t in range(length):
            query = asked[t] @ w["W_x"] + htilde @ w["W_htilde"]
            scores = [w["v"] @ np.tanh(h @ w["W_h"] + query) for h in hs[: t + 1]]
            s = reference.softmax(np.array(scores))
            close(found[b, t], np.pad(s, (0, 6 - t)))
            htilde = s @ np.array(hs[: t + 1])
