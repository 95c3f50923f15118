import keras
import numpy as np
import pytest

from tests.harness import (
    both_close,
    close,
    compiled,
    randomize,
    to_numpy,
)
from tests.marks import once
from zoo.layers import MultiHeadAttention, sinusoids

RNG = np.random.default_rng(5)
QUERY = RNG.normal(size=(3, 4, 6)).astype("float32")
MEMORY = RNG.normal(size=(3, 7, 5)).astype("float32")
MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]


def built(use_bias=False, **options):
    layer = MultiHeadAttention(num_heads=2, use_bias=use_bias, **options)
    layer.build(QUERY.shape, MEMORY.shape)
    return randomize(layer)


@pytest.mark.parametrize("use_bias", [False, once(True)])
def test_it_is_torchs(use_bias):
    import torch

    layer = built(use_bias)
    peer = torch.nn.MultiheadAttention(
        6, 2, bias=use_bias, kdim=5, vdim=5, batch_first=True, dtype=torch.float64
    )
    own = {"q": layer.W_Q, "k": layer.W_K, "v": layer.W_V}
    with torch.no_grad():
        for name, dense in own.items():
            kernel = to_numpy(dense.kernel).T.copy()
            getattr(peer, f"{name}_proj_weight").copy_(torch.tensor(kernel))
        peer.out_proj.weight.copy_(torch.tensor(to_numpy(layer.W_O.kernel).T.copy()))
        if use_bias:
            biases = [to_numpy(dense.bias) for dense in own.values()]
            peer.in_proj_bias.copy_(torch.tensor(np.concatenate(biases)))
            peer.out_proj.bias.copy_(torch.tensor(to_numpy(layer.W_O.bias)))
        rows = slice(0, 2)  # torch gives NaN where nothing is real
        query, memory = (torch.tensor(x[rows]).double() for x in (QUERY, MEMORY))
        wanted, weights = peer(
            query,
            memory,
            memory,
            key_padding_mask=torch.tensor(~MASK[rows]),
            average_attn_weights=False,
        )
    output, found = compiled(layer)(QUERY, MEMORY, mask=MASK)
    close(to_numpy(output)[rows], wanted.numpy())
    close(to_numpy(found)[rows], weights.numpy())
    assert not to_numpy(found)[2].any()
    rest = to_numpy(layer.W_O.bias) if use_bias else np.zeros(6)
    close(to_numpy(output)[2], np.tile(rest, (4, 1)))  # the heads are zeros


def test_a_mask_for_each_query():
    layer, steps = built(), np.arange(4)
    past, call = (np.arange(7)[None] <= steps[:, None])[None], compiled(layer)
    whole, _ = call(QUERY, MEMORY, mask=past)
    for t in steps:
        one, weights = call(QUERY[:, t : t + 1], MEMORY[:, : t + 1])
        close(to_numpy(whole)[:, t], to_numpy(one)[:, 0])
        close(to_numpy(weights).sum(-1), np.ones((3, 2, 1)))


def test_sinusoids_are_the_papers():
    found = to_numpy(sinusoids(np.arange(50, dtype="int32"), 6))
    for p in (0, 1, 49):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            close(found[p, 2 * i], np.sin(angle), atol=1e-5)
            close(found[p, 2 * i + 1], np.cos(angle), atol=1e-5)
    assert keras.ops.shape(sinusoids(np.zeros((2, 3), "int32"), 6)) == (2, 3, 6)


def test_nothing_to_attend_to_and_nan_behind_the_mask():
    layer = MultiHeadAttention(2)
    query, memory = np.ones((2, 3, 4)), np.ones((2, 5, 4))
    mask = np.array([[True, True, False, False, False], [True] * 5])
    wanted = to_numpy(layer(query, memory, mask=mask))
    call = compiled(layer)
    spoiled = np.where(mask[..., None], memory, np.nan)
    both_close(call(query, spoiled, mask=mask), wanted)
    for sizes in ((0, 3, 5), (2, 0, 5), (2, 3, 0)):
        batch, time, length = sizes
        output, weights = to_numpy(
            call(np.ones((batch, time, 4)), np.ones((batch, length, 4)))
        )
        assert output.shape == (batch, time, 4)
        assert length or not output.any()
        assert weights.shape == (batch, 2, time, length)
    with pytest.raises(
        ValueError, match=r"the shape \(B, S\).*Received: mask \(2, 4\)"
    ):
        layer(query, memory, mask=mask[:, :4])
