import numpy as np
import pytest

from tests.harness import build_randomized, close, randomize, same_config, to_numpy
from tests.layers import reference
from zoo.layers import AdditiveAttention, ConcatAttention
from zoo.layers.scores import SCORES, make_score

RNG = np.random.default_rng(7)
QUERY = RNG.normal(size=(2, 3, 4)).astype("float32")


@pytest.mark.parametrize("kind", list(SCORES))
def test_scores_of_memory_and_of_gathered_windows(kind):
    size = 4 if "dot" in kind else 5
    memory = RNG.normal(size=(2, 6, size)).astype("float32")
    score = build_randomized(make_score(kind), QUERY.shape, memory.shape)
    weights = reference.named(score)
    wanted = np.array(
        [
            [[reference.score(kind, h, hs, weights) for hs in row] for h in queries]
            for queries, row in zip(
                QUERY.astype("float64"), memory.astype("float64"), strict=True
            )
        ]
    )
    keys = score.project(memory)
    close(score(QUERY, keys), wanted)
    close(score(QUERY[:, :1], keys), wanted[:, :1])
    # Each query with a window of its own.
    windows = np.stack([np.asarray(memory)] * 3, axis=1)[:, :, 1:4]
    gathered = score.project(windows.reshape(2, 9, size))
    from keras import ops

    gathered = ops.reshape(gathered, (2, 3, 3, -1))
    close(score(QUERY, gathered), wanted[..., 1:4])


@pytest.mark.parametrize("attention", [AdditiveAttention, ConcatAttention])
def test_a_bias_stands_inside_the_tanh(attention):
    memory = RNG.normal(size=(2, 6, 5)).astype("float32")
    layer = attention(9, use_bias=True)
    layer.build(QUERY.shape, memory.shape)
    assert not np.any(to_numpy(layer.score_layer.b_a.value))
    randomize(layer)
    weights = reference.named(layer)
    assert weights["b_a"].shape == (9,)
    # A one behind each query, for which the bias is a row of W_a, says the same.
    rows = len(QUERY[0, 0])
    weights["W_a"] = np.insert(weights["W_a"], rows, weights["b_a"], axis=0)
    kind = "additive" if attention is AdditiveAttention else "concat"
    wanted = [
        [
            [reference.score(kind, np.append(h, 1.0), hs, weights) for hs in row]
            for h in queries
        ]
        for queries, row in zip(QUERY, memory, strict=True)
    ]
    score = layer.score_layer
    close(score(QUERY, score.project(memory)), np.array(wanted))
    same_config(layer)
    assert not any("b_a" in v.path for v in _built(attention(9)).variables)


def _built(layer):
    layer.build(QUERY.shape, (2, 6, 5))
    return layer
