"""The papers' sizes and initial weights are the defaults; parameters add up, by
formulas that hold at small sizes."""

import inspect
import re
from functools import partial

import numpy as np
import pytest

from tests.harness import close, to_numpy
from tests.models import test_bahdanau, test_cho, test_lstmn, test_transformer, test_xu
from tests.translators import VOCABULARY
from zoo import models


def bahdanau(v, hidden_dim, embedding_dim, attention_dim, maxout_dim):
    n, m, k, pairs = hidden_dim, embedding_dim, attention_dim, maxout_dim
    encoder = 2 * 3 * (m * n + n * n)
    decoder = 3 * (m * n + n * n + 2 * n * n)
    score = n * k + 2 * n * k + k
    readout = (n + m + 2 * n) * 2 * pairs
    return 2 * v * m + encoder + decoder + n * n + score + readout + pairs * v


def cho(v, hidden_dim, embedding_dim, maxout_dim, output_rank):
    n, m, pairs, rank = hidden_dim, embedding_dim, maxout_dim, output_rank
    encoder, decoder = 3 * (m * n + n * n), 3 * (m * n + n * n + n * n)
    readout = (n + m + n) * 2 * pairs + pairs * rank + rank * v
    return 2 * v * m + encoder + 2 * n * n + decoder + readout


def lstmn(v, hidden_dim, embedding_dim):
    n, m = hidden_dim, embedding_dim
    cell = 4 * n * (m + n + 1) + n * (2 * n + m + 1)
    deep = n * (2 * n + m + 1) + n * (n + m + 1)
    return 2 * v * m + 2 * cell + deep + n * v + v


def luong(v, num_layers, hidden_dim, embedding_dim):
    n, m = hidden_dim, embedding_dim
    upper = (num_layers - 1) * 4 * n * 2 * n
    encoder, decoder = 4 * n * (m + n), 4 * n * (m + n + n)
    attention = n * n + n * n + n  # W_a, W_p, v_p
    return 2 * v * m + encoder + decoder + 2 * upper + attention + 2 * n * n + n * v


def sutskever(v, num_layers, hidden_dim, embedding_dim, target_vocabulary_size):
    n, m, target = hidden_dim, embedding_dim, target_vocabulary_size
    recurrent = 2 * (4 * n * (m + n) + (num_layers - 1) * 4 * n * 2 * n)
    return (v + target) * m + target * n + recurrent


def transformer(v, num_layers, hidden_dim, ff_dim):
    d, ff = hidden_dim, ff_dim
    feed_forward, norm = 2 * d * ff + ff + d, 2 * d
    encoder = 4 * d * d + feed_forward + 2 * norm
    decoder = 8 * d * d + feed_forward + 3 * norm
    return v * d + num_layers * (encoder + decoder)


def xu(v, hidden_dim, embedding_dim, annotation_dim, attention_dim):
    n, m, d, k = hidden_dim, embedding_dim, annotation_dim, attention_dim
    encoder = 2 * 4 * (d // 2) * (m + d // 2 + 1)
    decoder = 4 * n * (m + d + n + 1) + (n * k + d * k + k) + n + 1
    readout = (n + 1) * m + d * m + (m + 1) * v
    return 2 * v * m + encoder + 2 * (d + 1) * n + decoder + readout


DEEP = {"num_layers": 3, "hidden_dim": 8, "embedding_dim": 6}
# Small sizes, further options, the papers' sizes and what they add up to.
CASES = {
    bahdanau: (
        models.Bahdanau,
        test_bahdanau.SMALL,
        {"use_bias": False},
        (30_000, 1000, 620, 1000, 500),
        80_401_000,
    ),
    cho: (  # "about 18M"
        models.RNNEncoderDecoder,
        test_cho.SMALL,
        {"use_bias": False},
        (15_000, 1000, 100, 500, 100),
        18_250_000,
    ),
    lstmn: (  # the paper's own counts, 3.4M without word vectors, are of another model
        models.LSTMNEncoderDecoder,
        test_lstmn.SMALL,
        {},
        (10_000, 450, 300),
        15_172_900,
    ),
    luong: (models.Luong, DEEP, {}, (50_000, 4, 1000, 1000), 222_001_000),
    sutskever: (
        models.Seq2Seq,
        {**DEEP, "target_vocabulary_size": 9},
        {},
        (160_000, 4, 1000, 1000, None),
        384_000_000,
    ),
    transformer: (  # the paper's table 3 says 65M
        models.Transformer,
        {"num_layers": 2, "hidden_dim": 8, "ff_dim": 12},
        test_transformer.SMALL,
        (37_000, 6, 512, 2048),
        63_045_632,
    ),
    xu: (
        models.ShowAttendTell,
        {k: v for k, v in test_xu.SMALL.items() if k.endswith("_dim")},
        {},
        (10_000, 1800, 512, 512, 512),
        None,
    ),
}


@pytest.mark.parametrize("count", CASES, ids=lambda count: count.__name__)
def test_the_papers_sizes(count):
    cls, small, options, papers, total = CASES[count]
    assert cls(VOCABULARY, **{**options, **small}).count_params() == count(
        VOCABULARY, **small
    )
    known = inspect.signature(cls).parameters
    names = ("vocabulary_size", *small)
    assert tuple(known[name].default for name in names) == papers
    if count is sutskever:
        papers = (*papers[:-1], 80_000)
    assert total is None or count(*papers) == total


def test_the_big_transformer():
    assert transformer(37_000, 6, 1024, 4096) == 214_171_648  # table 3 says 213M


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
