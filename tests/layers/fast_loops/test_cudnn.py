"""On a CPU: what surrounds the kernel, with Keras's own loop in its place."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import build_randomized, close, compiled, gradients
from tests.marks import once
from zoo.layers import LSTMCell, RecurrentStack
from zoo.layers.fast_loops import decoder_loop as cells_module
from zoo.layers.fast_loops.cudnn import has_cudnn, run_lstm
from zoo.layers.fast_loops.decoder_loop import run_cell

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def loops(monkeypatch):
    """Outside `run_lstm` loops run, on a GPU too."""
    monkeypatch.setattr(cells_module, "has_cudnn", lambda *args: False)


INPUTS = RNG.normal(size=(5, 6, 3)).astype("float32")
MASKS = {
    "none": None,
    "pads behind": np.arange(6)[None] < np.array([6, 2, 0, 1, 5])[:, None],
    "pads before": np.arange(6)[None] >= np.array([6, 2, 0, 1, 5])[:, None],
    "gaps": RNG.integers(0, 2, (5, 6)).astype("bool"),
}


def built(use_bias=True):
    return build_randomized(LSTMCell(4, use_bias=use_bias), (None, 3))


@pytest.mark.parametrize(
    "mask", [once("none"), "pads behind", once("pads before"), "gaps"]
)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("use_bias", [once(False), True])
def test_it_is_the_loop(mask, reverse, use_bias):
    cell = built(use_bias)
    states = [RNG.normal(size=(5, 4)).astype("float32") for _ in range(2)]
    states = [ops.convert_to_tensor(state) for state in states]
    got, wanted = (
        compiled(lambda run=run: run(cell, INPUTS, states, MASKS[mask], reverse))()
        for run in (run_lstm, run_cell)
    )
    for a, b in zip(keras.tree.flatten(got), keras.tree.flatten(wanted), strict=True):
        close(a, b)


@pytest.mark.parametrize("mask", [once("none"), "gaps"])
def test_gradients_are_the_loops(mask, monkeypatch):
    layer = build_randomized(RecurrentStack(8, 2, bidirectional=True), INPUTS.shape)

    def loss():
        outputs, states = layer(INPUTS, mask=MASKS[mask])
        return sum(ops.sum(ops.square(x)) for x in [outputs, *sum(states, [])])

    wanted = gradients(layer.trainable_variables, loss)
    calls = []

    def counted(*args):
        calls.append(args)
        return run_lstm(*args)

    monkeypatch.setattr(cells_module, "has_cudnn", lambda *args: True)
    monkeypatch.setattr(cells_module, "run_lstm", counted)
    got = gradients(layer.trainable_variables, loss)
    assert calls  # four, or once more where a function is traced
    for a, b in zip(got[1], wanted[1], strict=True):
        close(a, b, 1e-4)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX's way to know")
def test_jax_asks_keras_for_its_devices(monkeypatch):
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: ["gpu:0"])
    assert has_cudnn(built(), INPUTS)
    # One step is no sequence.
    assert not has_cudnn(built(), INPUTS[:, :1])
    # The kernel can't be cut up for several devices.
    monkeypatch.setattr(keras.distribution, "distribution", lambda: "several")
    assert not has_cudnn(built(), INPUTS)
