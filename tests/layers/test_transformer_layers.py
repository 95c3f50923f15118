import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import build_randomized, close, compiled, to_numpy
from tests.marks import once
from zoo.layers import (
    MultiHeadAttention,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    sinusoids,
)

RNG = np.random.default_rng(6)
INPUTS = RNG.normal(size=(3, 4, 6)).astype("float32")
MEMORY = RNG.normal(size=(3, 7, 6)).astype("float32")
MASK = np.arange(7)[None] < np.array([7, 3, 1])[:, None]
SIZES = {"num_heads": 2, "ff_dim": 10}


def copy_attention(layer, peer):
    """zoo's matrices into `torch.nn.MultiheadAttention`, its biases zero."""
    import torch

    parts = [to_numpy(w.kernel).T for w in (layer.W_Q, layer.W_K, layer.W_V)]
    peer.in_proj_weight.copy_(torch.tensor(np.concatenate(parts)))
    peer.out_proj.weight.copy_(torch.tensor(to_numpy(layer.W_O.kernel).T.copy()))
    peer.in_proj_bias.zero_()
    peer.out_proj.bias.zero_()


def copy_norm(layer, peer):
    import torch

    peer.weight.copy_(torch.tensor(to_numpy(layer.gamma)))
    peer.bias.copy_(torch.tensor(to_numpy(layer.beta)))


def copy_layer(layer, peer):
    """zoo's layer into `torch.nn.TransformerEncoderLayer` or `…DecoderLayer`."""
    import torch

    with torch.no_grad():
        copy_attention(layer.self_attention, peer.self_attn)
        if hasattr(layer, "memory_attention"):
            copy_attention(layer.memory_attention, peer.multihead_attn)
        for number, name in enumerate(layer.names, 1):
            copy_norm(getattr(layer, f"{name}_norm"), getattr(peer, f"norm{number}"))
        for own, other in ((layer.inner, peer.linear1), (layer.outer, peer.linear2)):
            other.weight.copy_(torch.tensor(to_numpy(own.kernel).T.copy()))
            other.bias.copy_(torch.tensor(to_numpy(own.bias)))


def peer_of(layer, kind):
    import torch

    peer = kind(
        6,
        2,
        10,
        dropout=0.0,
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=layer.norm == "pre",
        dtype=torch.float64,
    )
    copy_layer(layer, peer)
    return peer


@pytest.mark.parametrize("norm", ["post", once("pre")])
def test_encoder_layer_is_torchs(norm):
    import torch

    layer = TransformerEncoderLayer(**SIZES, norm=norm)
    build_randomized(layer, MEMORY.shape)
    peer = peer_of(layer, torch.nn.TransformerEncoderLayer)
    with torch.no_grad():
        wanted = peer(
            torch.tensor(MEMORY).double(), src_key_padding_mask=torch.tensor(~MASK)
        )
    found = to_numpy(compiled(layer)(MEMORY, mask=MASK))
    close(found[MASK], wanted.numpy()[MASK])


@pytest.mark.parametrize("norm", ["post", once("pre")])
def test_decoder_layer_is_torchs_and_its_own_steps(norm):
    import torch

    layer = TransformerDecoderLayer(**SIZES, norm=norm)
    build_randomized(layer, INPUTS.shape, MEMORY.shape)
    peer = peer_of(layer, torch.nn.TransformerDecoderLayer)
    with torch.no_grad():
        wanted = peer(
            torch.tensor(INPUTS).double(),
            torch.tensor(MEMORY).double(),
            tgt_mask=torch.triu(torch.ones(4, 4, dtype=torch.bool), diagonal=1),
            memory_key_padding_mask=torch.tensor(~MASK),
        )
    found, weights = compiled(layer)(INPUTS, MEMORY, mask=MASK)
    close(found, wanted.numpy())
    assert not to_numpy(weights)[~MASK[:, None].repeat(4, 1)].any()
    keys, cache = layer.project(MEMORY), layer.make_cache(3, 6)
    step = compiled(layer.step)
    for t in range(4):
        position = ops.full((3,), t, dtype="int32")
        output, own, cache = step(INPUTS[:, t], cache, position, keys, MASK)
        close(output, to_numpy(found)[:, t])
        close(own, to_numpy(weights)[:, t])


# === Multi-head attention ===
QUERY = RNG.normal(size=(3, 4, 6)).astype("float32")
SOURCE = RNG.normal(size=(3, 7, 5)).astype("float32")
REAL = np.arange(7)[None] < np.array([7, 3, 0])[:, None]


def built():
    return build_randomized(MultiHeadAttention(num_heads=2), QUERY.shape, SOURCE.shape)


def test_attention_is_torchs():
    import torch

    layer = built()
    peer = torch.nn.MultiheadAttention(
        6, 2, bias=False, kdim=5, vdim=5, batch_first=True, dtype=torch.float64
    )
    own = {"q": layer.W_Q, "k": layer.W_K, "v": layer.W_V}
    with torch.no_grad():
        for name, dense in own.items():
            kernel = to_numpy(dense.kernel).T.copy()
            getattr(peer, f"{name}_proj_weight").copy_(torch.tensor(kernel))
        peer.out_proj.weight.copy_(torch.tensor(to_numpy(layer.W_O.kernel).T.copy()))
        rows = slice(0, 2)  # torch gives NaN where nothing is real
        query, memory = (torch.tensor(x[rows]).double() for x in (QUERY, SOURCE))
        wanted, weights = peer(
            query,
            memory,
            memory,
            key_padding_mask=torch.tensor(~REAL[rows]),
            average_attn_weights=False,
        )
    output, found = compiled(layer)(QUERY, SOURCE, mask=REAL)
    close(to_numpy(output)[rows], wanted.numpy())
    close(to_numpy(found)[rows], weights.numpy())
    assert not to_numpy(found)[2].any()
    assert not to_numpy(output)[2].any()


def test_sinusoids_are_the_papers():
    found = to_numpy(sinusoids(np.arange(50, dtype="int32"), 6))
    for p in (0, 1, 49):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            close(found[p, 2 * i], np.sin(angle), atol=1e-5)
            close(found[p, 2 * i + 1], np.cos(angle), atol=1e-5)
    assert keras.ops.shape(sinusoids(np.zeros((2, 3), "int32"), 6)) == (2, 3, 6)
