"""The papers' sizes and initial weights are the defaults."""

import inspect
import re
from functools import partial

import numpy as np
import pytest

from tests.harness import close, to_numpy
from tests.translators import VOCABULARY
from zoo import models

DEEP = ("num_layers", "hidden_dim", "embedding_dim")
DEFAULTS = {
    models.Bahdanau: {
        "vocabulary_size": 30_000,
        "hidden_dim": 1000,
        "embedding_dim": 620,
        "attention_dim": 1000,
        "maxout_dim": 500,
    },
    models.RNNEncoderDecoder: {
        "vocabulary_size": 15_000,
        "hidden_dim": 1000,
        "embedding_dim": 100,
        "output_rank": 100,
    },
    models.Luong: {
        "vocabulary_size": 50_000,
        **dict(zip(DEEP, (4, 1000, 1000), strict=True)),
        "window": 10,
        "input_feeding": True,
        "reverse_source": True,
    },
    models.Seq2Seq: {
        "vocabulary_size": 160_000,
        **dict(zip(DEEP, (4, 1000, 1000), strict=True)),
        "reverse_source": True,
    },
    models.LSTMNEncoderDecoder: {
        "vocabulary_size": 10_000,
        **dict(zip(DEEP, (1, 450, 300), strict=True)),
    },
    models.Transformer: {"num_layers": 6, "hidden_dim": 512, "ff_dim": 2048},
    models.ShowAttendTell: {"hidden_dim": 1800, "embedding_dim": 512},
}


@pytest.mark.parametrize("cls", DEFAULTS)
def test_the_papers_sizes_are_the_defaults(cls):
    known = inspect.signature(cls).parameters
    found = {name: known[name].default for name in DEFAULTS[cls]}
    assert found == DEFAULTS[cls]


ORTHOGONAL, ZEROS = "orthogonal", "zeros"
WIDE = {"hidden_dim": 32, "embedding_dim": 30}
# How weights start, by the ends of their paths: the limit of a uniform distribution,
# the standard deviation of a normal one (negative here), orthogonal gates, zeros.
INITIAL = [
    (
        partial(models.Bahdanau, **WIDE, attention_dim=50),
        {
            "recurrent_kernel": ORTHOGONAL,
            "bias|v_a|b_o": ZEROS,
            "W_a|U_a": -0.001,
            "": -0.01,
        },
    ),
    (
        partial(models.RNNEncoderDecoder, **WIDE),
        {"recurrent_kernel": ORTHOGONAL, "bias|b_o": ZEROS, "": -0.01},
    ),
    (partial(models.Luong, **WIDE, num_layers=2), {"": 0.1}),
    (partial(models.Seq2Seq, **WIDE, num_layers=2), {"": 0.08}),
    (
        partial(models.LSTMNEncoderDecoder, **WIDE, initializer_range=0.5),
        {r"/W_\w+|kernel": 0.5},
    ),
    (partial(models.Transformer, hidden_dim=64, num_heads=2), {"embeddings": -1 / 8}),
]


@pytest.mark.parametrize("make, kinds", INITIAL)
def test_weights_start_as_in_the_papers(make, kinds):
    model, drawn = make(VOCABULARY), []
    for variable in model.trainable_variables:
        values = to_numpy(variable.value)
        kind = next((k for n, k in kinds.items() if ends(variable, n)), None)
        if kind == ORTHOGONAL:
            for gate in np.split(values, 3, axis=1):
                close(gate @ gate.T, np.eye(len(gate)), atol=1e-5)
        elif kind == ZEROS:
            assert not values.any(), variable.path
        elif kind and kind < 0:
            assert 0.8 * -kind < values.std() < 1.2 * -kind, variable.path
        elif kind:
            assert 0.5 * kind < np.abs(values).max() <= kind, variable.path
        if kind not in (None, ZEROS):
            drawn.append(values.ravel()[0])
    assert len(set(drawn)) == len(drawn) > 0  # no two are drawn alike


def ends(variable, names):
    return re.search(f"({names})$", variable.path)
