"""Given attention: the model's own changes nothing, another what NumPy says."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, compiled, randomize, to_numpy
from tests.marks import once
from zoo.explorer import what_if
from zoo.models import Bahdanau, LSTMNEncoderDecoder, Luong, Seq2Seq, Transformer

SOURCE = np.array([[4, 5, 6, 7, 8, 9, 10], [5, 6, 7, 0, 0, 0, 0]], "int32")
TOKENS = np.array([5, 4, 9, 7, 6, 8], "int32")  # three hypotheses a sentence
SIZES = {"hidden_dim": 8, "embedding_dim": 6}
LOCAL = {**SIZES, "num_layers": 2, "window": 1, "score": "general"}
MODELS = {
    "local_p": lambda: Luong(13, attention="local_p", **LOCAL),
    "local_m": lambda: Luong(13, attention="local_m", **LOCAL),
    "location": lambda: Luong(13, attention="location", **LOCAL),
    "concat": lambda: Luong(13, attention="global", **{**LOCAL, "score": "concat"}),
    "bahdanau": lambda: Bahdanau(13, attention_dim=5, maxout_dim=4, **SIZES),
    "lstmn": lambda: LSTMNEncoderDecoder(13, num_layers=2, **SIZES),
    "shallow": lambda: LSTMNEncoderDecoder(13, num_layers=1, fusion="shallow", **SIZES),
    "transformer": lambda: Transformer(
        13, num_layers=2, hidden_dim=8, ff_dim=12, num_heads=2
    ),
}
CASES = [name if name == "local_p" else once(name) for name in MODELS]


def none_given(model, shape=SOURCE.shape):
    """Attention that is the model's own."""
    return np.zeros((shape[0], *what_if.heads_of(model), shape[1]), "float32")


def step(model, attention, window=None, memory=None):
    memory = compiled(model.encode)(SOURCE) if memory is None else memory
    state = model.start_for(memory, 4)
    state = keras.tree.map_structure(lambda x: ops.repeat(x, 3, axis=0), state)
    outputs = what_if.step(model, TOKENS, state, memory, attention, window)
    own = model.step(TOKENS, state, memory)
    return outputs, own


@pytest.mark.parametrize("name", CASES)
def test_zeros_are_the_model_s_own_attention_bit_by_bit(name):
    model = randomize(MODELS[name]())
    (logits, state, weights, _), own = step(model, none_given(model))
    for got, wanted in zip(
        keras.tree.flatten([logits, state, weights]),
        keras.tree.flatten([own[0], own[1], own[2]]),
        strict=True,
    ):
        np.testing.assert_array_equal(to_numpy(got), to_numpy(wanted))


# A layer's or a head's weights, given to all of them, are not those of the others.
@pytest.mark.parametrize(
    "name", [x for x in MODELS if x not in ("lstmn", "transformer")]
)
@pytest.mark.once
def test_the_model_s_own_weights_change_nothing(name):
    """One hypothesis a sentence, whose weights are given."""
    model = randomize(MODELS[name]())
    memory = model.encode(SOURCE)
    state = model.start_for(memory, 4)
    logits, _, weights = model.step(TOKENS[:2], state, memory)
    given = to_numpy(weights)
    got, _, again, _ = what_if.step(model, TOKENS[:2], state, memory, given)
    close(again, given)
    close(got, logits)
    other, *_ = what_if.step(model, TOKENS[:2], state, memory, given[:, ::-1].copy())
    assert np.abs(to_numpy(other) - to_numpy(logits)).max() > 1e-3


@pytest.mark.once
def test_the_weights_of_one_head_leave_the_others():
    """Those before it are as they were, and the layer's output is NumPy's."""
    model = randomize(MODELS["transformer"]())
    (*_, before), _ = step(model, none_given(model))
    given = none_given(model)
    given[0, 0, 1, 4], given[1, 1, 0, 2] = 1.0, 1.0
    (logits, _, _, details), own = step(model, given)
    heads, wanted = to_numpy(details["heads"]), to_numpy(before["heads"]).copy()
    wanted[:3, 0, 1] = given[0, 0, 1]
    close(heads[:, 0], wanted[:, 0])
    close(heads[3:, 1, 0], given[[1] * 3, 1, 0])
    close(heads[3:, 1, 1], wanted[3:, 1, 1])  # nothing before it has changed
    assert np.abs(heads[:3, 1] - wanted[:3, 1]).max() > 1e-4  # here something has
    assert np.abs(to_numpy(logits) - to_numpy(own[0])).max(axis=1).min() > 1e-4
    # The model's own weights, given to one head, change nothing.
    memory = model.encode(SOURCE)
    state = model.start_for(memory, 4)
    plain, _, _, details = what_if.step(
        model, TOKENS[:2], state, memory, none_given(model)
    )
    given = none_given(model)
    given[:, 1, 1] = to_numpy(details["heads"])[:, 1, 1]
    same, *_ = what_if.step(model, TOKENS[:2], state, memory, given)
    close(same, plain)


@pytest.mark.once
def test_the_context_is_what_numpy_says():
    """Luong's step with given weights, in NumPy from h_t on: equations 5 and 6."""
    model = randomize(MODELS["local_p"]())
    memory = model.encode(SOURCE)
    draw = np.random.default_rng(2)
    given = draw.dirichlet(np.ones(7), 2).astype("float32")
    state = model.start_for(memory, 4)
    logits, new_state, *_ = what_if.step(model, TOKENS[:2], state, memory, given)
    hidden = to_numpy(new_state.cells[sum(model.decoder.cell.counts[:-1])])
    context = np.einsum("bs,bsd->bd", given, to_numpy(memory.annotations))
    joined = np.concatenate([context, hidden], axis=-1)
    vector = np.tanh(joined @ to_numpy(model.decoder.cell.W_c))
    close(logits, vector @ to_numpy(model.output_layer.kernel), atol=1e-5)


@pytest.mark.once
def test_another_window_is_that_of_a_model_with_it():
    model = randomize(MODELS["local_p"]())
    wide = Luong(13, attention="local_p", **{**LOCAL, "window": 3})
    wide.set_weights(model.get_weights())
    none = np.zeros(SOURCE.shape, "float32")
    (logits, _, weights, details), own = step(model, none, window=3)
    (wanted, _, wide_weights, wide_details), _ = step(wide, none)
    close(logits, wanted)
    close(weights, wide_weights)
    close(details["windows"], wide_details["windows"])
    assert np.abs(to_numpy(logits) - to_numpy(own[0])).max() > 1e-4
    assert model.decoder.cell.attention.window == 1  # as before


@pytest.mark.once
@pytest.mark.parametrize("name", ["local_p", "local_m"])
def test_details_are_those_of_an_alignment(name):
    model = randomize(MODELS[name]())
    memory, none = model.encode(SOURCE), np.zeros(SOURCE.shape, "float32")
    target = np.array([[2, 5, 6, 7], [2, 8, 9, 4]], "int32")
    _, focus, windows = model.align_details(SOURCE, target)
    state = model.start_for(memory, 4)
    for t in range(4):
        *outputs, details = what_if.step(model, target[:, t], state, memory, none)
        state = outputs[1]
        close(details["focus"], to_numpy(focus)[:, t])
        np.testing.assert_array_equal(
            to_numpy(details["windows"]), to_numpy(windows)[:, t]
        )
        norm = np.linalg.norm(
            to_numpy(state.cells[sum(model.decoder.cell.counts[:-1])]), axis=-1
        )
        close(details["norm_h_t"], norm)


@pytest.mark.once
@pytest.mark.parametrize("name", ["lstmn", "shallow"])
def test_what_is_recalled_is_the_past(name):
    model = randomize(MODELS[name]())
    memory, none = model.encode(SOURCE), np.zeros(SOURCE.shape, "float32")
    state = model.start_for(memory, 4)
    for t in range(3):
        _, state, _, details = what_if.step(
            model, TOKENS[t : t + 2], state, memory, none
        )
        recalled = to_numpy(details["recalled"])
        assert recalled.shape == (2, 5)  # room for four steps, and the start
        assert (recalled[:, : t + 1] > 0).all() and (recalled[:, t + 1 :] == 0).all()
        close(recalled.sum(axis=-1), np.ones(2))


@pytest.mark.once
def test_a_model_without_attention_has_nothing_to_show():
    model = randomize(Seq2Seq(13, num_layers=1, **SIZES))
    (*_, details), _ = step(model, np.zeros(SOURCE.shape, "float32"))
    assert details == {}
    assert not what_if.has_window(model)
