"""Exercises of Vaswani et al. 2017, the Transformer."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import softmax


def _norm(x, axis=-1, ddof=0):
    centred = x - x.mean(axis, keepdims=True)
    return centred / np.sqrt(x.var(axis, ddof=ddof, keepdims=True) + 1e-6)


def _causal(scores, past):
    """Weights of the places where `past` is true."""
    return softmax(np.where(past, scores, -1e9))


def _lower(scores, k=0):
    return np.tri(len(scores), k=k, dtype=bool)


def _sinusoids(p, d, base=10000.0, step=2, swap=False):
    """PE of one position, pair by pair."""
    result = np.zeros(2 * d)
    for i in range(d):
        angle = p / base ** (step * i / (2 * d))
        pair = [np.sin(angle), np.cos(angle)]
        result[2 * i : 2 * i + 2] = pair[::-1] if swap else pair
    return result


def _positions(P, d, **options):
    return np.stack([_sinusoids(p, d, **options) for p in range(P)])


EXERCISES = [
    Exercise(
        "transformer.attention",
        "softmax(Q K^T / sqrt(d_k)) V (1)",
        "Write the attention of one head.",
        {"Q": "T k", "K": "S k", "V": "S m"},
        "T m",
        lambda Q, K, V: softmax(Q @ K.T / np.sqrt(Q.shape[-1])) @ V,
        {
            "the scores aren't scaled: divide them by sqrt(d_k).": (
                lambda Q, K, V: softmax(Q @ K.T) @ V
            ),
            "divide by sqrt(d_k), not by d_k.": (
                lambda Q, K, V: softmax(Q @ K.T / Q.shape[-1]) @ V
            ),
            "d_k is the size of a key, not the number of keys.": (
                lambda Q, K, V: softmax(Q @ K.T / np.sqrt(len(K))) @ V
            ),
            "d_k is the size of a key, not that of a value.": (
                lambda Q, K, V: softmax(Q @ K.T / np.sqrt(V.shape[-1])) @ V
            ),
            "the softmax goes over the keys, not over the queries.": (
                lambda Q, K, V: softmax(Q @ K.T / np.sqrt(Q.shape[-1]), axis=0) @ V
            ),
            "the scale is inside the softmax.": (
                lambda Q, K, V: softmax(Q @ K.T) @ V / np.sqrt(Q.shape[-1])
            ),
        },
    ),
    Exercise(
        "transformer.heads",
        "[head_1; …; head_h] W^O",
        "Write the output; heads are the H heads of T queries.",
        {"heads": "H T k", "W_O": "H*k d"},
        "T d",
        lambda heads, W: sum(
            head @ part
            for head, part in zip(heads, np.split(W, len(heads)), strict=True)
        ),
        {
            "a reshape alone mixes the queries: move the axis of the heads behind that "
            "of the queries first.": (
                lambda heads, W: heads.reshape(heads.shape[1], -1) @ W
            ),
            "whole heads stand beside each other; here their values alternate.": (
                lambda heads, W: (
                    heads.transpose(1, 2, 0).reshape(heads.shape[1], -1) @ W
                )
            ),
            "the heads stand in the reverse order.": (
                lambda heads, W: np.concatenate(list(heads[::-1]), -1) @ W
            ),
        },
    ),
    Exercise(
        "transformer.feed_forward",
        "max(0, x W_1 + b_1) W_2 + b_2 (2)",
        "Write the feed-forward network.",
        {"x": "T d", "W_1": "d f", "b_1": "f", "W_2": "f d", "b_2": "d"},
        "T d",
        lambda x, W, b, V, c: np.where(x @ W + b > 0, x @ W + b, 0) @ V + c,
        {
            "max(0, …) is missing: two linear layers are one.": (
                lambda x, W, b, V, c: (x @ W + b) @ V + c
            ),
            "max(0, …) is around the first layer, not around the whole.": (
                lambda x, W, b, V, c: np.maximum(0, (x @ W + b) @ V + c)
            ),
            "b_1 is inside max(0, …).": (
                lambda x, W, b, V, c: (np.maximum(0, x @ W) + b) @ V + c
            ),
            "b_2 is missing.": lambda x, W, b, V, c: np.maximum(0, x @ W + b) @ V,
            "the residual connection is not part of FFN(x).": (
                lambda x, W, b, V, c: x + np.maximum(0, x @ W + b) @ V + c
            ),
        },
    ),
    Exercise(
        "transformer.residual",
        "LayerNorm(x + Dropout(Sublayer(x)))",
        "Write the output of a sub-layer that is a product with W, without dropout and "
        "without the norm's gain and bias; ε is 1e-6.",
        {"x": "T d", "W": "d d"},
        "T d",
        lambda x, W: np.stack(
            [
                (r - r.mean()) / np.sqrt(((r - r.mean()) ** 2).mean() + 1e-6)
                for r in x + x @ W
            ]
        ),
        {
            "this is pre-norm, x + Sublayer(LayerNorm(x)); the paper's is outside.": (
                lambda x, W: x + _norm(x) @ W
            ),
            "the residual connection, x + …, is missing.": lambda x, W: _norm(x @ W),
            "x is inside LayerNorm as well.": lambda x, W: x + _norm(x @ W),
            "the norm goes over the features of each position, not over positions.": (
                lambda x, W: _norm(x + x @ W, axis=0)
            ),
            "the variance divides by d, not by d - 1.": (
                lambda x, W: _norm(x + x @ W, ddof=1)
            ),
            "the mean is not subtracted.": (
                lambda x, W: (
                    (x + x @ W) / np.sqrt((x + x @ W).var(-1, keepdims=True) + 1e-6)
                )
            ),
            "LayerNorm is missing.": lambda x, W: x + x @ W,
        },
    ),
    Exercise(
        "transformer.past",
        "no attention to the future",
        "Write the weights of self-attention of which no position sees a later one.",
        {"scores": "T T"},
        "T T",
        lambda s: np.stack(
            [
                np.concatenate([softmax(row[: t + 1]), np.zeros(len(s) - t - 1)])
                for t, row in enumerate(s)
            ]
        ),
        {
            "the future is not masked.": lambda s: softmax(s),
            "it is the past that is masked here.": (
                lambda s: _causal(s, ~_lower(s, -1))
            ),
            "a position sees itself: s <= t, not s < t.": (
                lambda s: _causal(s, _lower(s, -1))
            ),
            "a score of 0 is no mask: exp(0) = 1. It must be very negative.": (
                lambda s: softmax(s * _lower(s))
            ),
            "the rows no longer sum to 1: mask the scores, before the softmax.": (
                lambda s: softmax(s) * _lower(s)
            ),
        },
    ),
    Exercise(
        "transformer.sinusoids",
        "PE(p, 2i) = sin(p / 10000^(2i/d)), cos at 2i + 1",
        "Write PE of the positions 0 … P - 1; its size d is 2 k.",
        {"P": "size: P", "k": "size: k"},
        "P 2*k",
        lambda P, k: _positions(P, k),
        {
            "sines and cosines alternate; here the cosines follow all sines.": (
                lambda P, k: np.concatenate(
                    [_positions(P, k)[:, 0::2], _positions(P, k)[:, 1::2]], -1
                )
            ),
            "the sine comes first, at 2i.": lambda P, k: _positions(P, k, swap=True),
            "the exponent is 2i / d, not i / d.": lambda P, k: _positions(P, k, step=1),
            "the base is 10000.": lambda P, k: _positions(P, k, base=1000.0),
            "the positions count from 0.": lambda P, k: _positions(P + 1, k)[1:],
        },
    ),
    Exercise(
        "transformer.embedding",
        "sqrt(d) E x + PE",
        "Write the first layer's input; PE has as many rows as there are words.",
        {"ids": "ids<V: T", "E": "V d", "PE": "T d"},
        "T d",
        lambda ids, E, PE: np.sqrt(E.shape[-1]) * E[ids] + PE,
        {
            "the word vectors are multiplied by sqrt(d).": (
                lambda ids, E, PE: E[ids] + PE
            ),
            "sqrt(d) belongs to the words alone, not to PE.": (
                lambda ids, E, PE: np.sqrt(E.shape[-1]) * (E[ids] + PE)
            ),
            "sqrt(d) multiplies; here it divides.": (
                lambda ids, E, PE: E[ids] / np.sqrt(E.shape[-1]) + PE
            ),
            "d is the size of a word vector, not the size of the vocabulary.": (
                lambda ids, E, PE: np.sqrt(len(E)) * E[ids] + PE
            ),
            "PE is missing: without it the order of the words makes no difference.": (
                lambda ids, E, PE: np.sqrt(E.shape[-1]) * E[ids]
            ),
        },
    ),
    Exercise(
        "transformer.tied",
        "one matrix for source, target and softmax",
        "Write the logits of the states h, by the matrix of the word vectors.",
        {"h": "T d", "E": "V d"},
        "T V",
        lambda h, E: np.einsum("td,vd->tv", h, E),
        {
            "the output has no sqrt(d): it belongs to the inputs alone.": (
                lambda h, E: np.sqrt(h.shape[-1]) * (h @ E.T)
            ),
            "logits come before the softmax.": lambda h, E: softmax(h @ E.T),
            "a logit is a plain product, not divided by sqrt(d).": (
                lambda h, E: h @ E.T / np.sqrt(h.shape[-1])
            ),
        },
    ),
]
