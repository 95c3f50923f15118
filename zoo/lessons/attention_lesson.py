"""Exercises of Bahdanau, Cho & Bengio 2015."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import sigmoid, softmax

EXERCISES = [
    Exercise(
        "bahdanau.start",
        "s_0 = tanh(←h_1 W_s)",
        "Write s_0; forward and backward hold the encoder's states of x_1 … x_S.",
        {"forward": "S n", "backward": "S n", "W_s": "n k"},
        "k",
        lambda forward, backward, W: np.tanh(backward[0] @ W),
        {
            "←h_1 is the backward state at the first word: it has read them all. The "
            "one at the last word has read one.": (
                lambda forward, backward, W: np.tanh(backward[-1] @ W)
            ),
            "s_0 reads the backward states, not the forward ones.": (
                lambda forward, backward, W: np.tanh(forward[-1] @ W)
            ),
            "→h_1 has read one word only; it is ←h_1 that has read all.": (
                lambda forward, backward, W: np.tanh(forward[0] @ W)
            ),
            "tanh is missing.": lambda forward, backward, W: backward[0] @ W,
        },
    ),
    Exercise(
        "bahdanau.score",
        "e_ij = v_a · tanh(s_{i-1} W_a + h_j U_a)",
        "Write the scores of all source positions for one decoder state s.",
        {"s": "n", "h": "S m", "W_a": "n k", "U_a": "m k", "v_a": "k"},
        "S",
        lambda s, h, W, U, v: np.tanh(s @ W + h @ U) @ v,
        {
            "tanh is missing. Without it s W_a adds the same to every score, and the "
            "softmax doesn't see it.": lambda s, h, W, U, v: (s @ W + h @ U) @ v,
            "tanh comes after the sum: one tanh of s W_a + h_j U_a, not two.": (
                lambda s, h, W, U, v: (np.tanh(s @ W) + np.tanh(h @ U)) @ v
            ),
            "v_a is outside tanh.": (
                lambda s, h, W, U, v: np.tanh((s @ W + h @ U) @ v)
            ),
            "v_a is missing: the hidden units are weighted, not just added up.": (
                lambda s, h, W, U, v: np.tanh(s @ W + h @ U).sum(-1)
            ),
            "s_{i-1} W_a is missing: such scores don't depend on the target.": (
                lambda s, h, W, U, v: np.tanh(h @ U) @ v
            ),
            "the hidden layer is tanh, not σ.": (
                lambda s, h, W, U, v: sigmoid(s @ W + h @ U) @ v
            ),
            "s W_a + h_j U_a is a sum, not a product.": (
                lambda s, h, W, U, v: np.tanh((s @ W) * (h @ U)) @ v
            ),
        },
    ),
    Exercise(
        "bahdanau.context",
        "α_i = softmax(e_i), c_i = Σ_j α_ij h_j",
        "Write the contexts c_i of the scores e of several steps.",
        {"e": "T S", "h": "S m"},
        "T m",
        lambda e, h: softmax(e) @ h,
        {
            "the softmax goes over the source positions j, not over the steps i.": (
                lambda e, h: softmax(e, axis=0) @ h
            ),
            "exp(e) is not divided by its sum: weights must sum to 1.": (
                lambda e, h: np.exp(e) @ h
            ),
            "the scores go through exp before they are divided by their sum.": (
                lambda e, h: e / e.sum(-1, keepdims=True) @ h
            ),
            "the softmax is missing.": lambda e, h: e @ h,
            "this is hard attention, the one best position; c_i is a mean of all.": (
                lambda e, h: h[e.argmax(-1)]
            ),
            "the weights share one distribution: softmax, not σ.": (
                lambda e, h: sigmoid(e) @ h
            ),
        },
    ),
    Exercise(
        "bahdanau.query",
        "asked with s_{i-1}",
        "Write the states that the attention is asked with at the steps 1 … T; s_0 is "
        "the first state, s holds s_1 … s_T.",
        {"s_0": "n", "s": "T n"},
        "T n",
        lambda s_0, s: np.concatenate([s_0[None], s[:-1]]),
        {
            "s_i is Luong's query. Bahdanau asks with the state before, s_{i-1}.": (
                lambda s_0, s: s
            ),
            "this is s_{i+1}, which doesn't exist yet at step i.": (
                lambda s_0, s: np.concatenate([s[1:], s_0[None]])
            ),
            "s_0 is the query of the first step alone.": (
                lambda s_0, s: np.repeat(s_0[None], len(s), 0)
            ),
        },
    ),
    Exercise(
        "bahdanau.candidate",
        "s_i = GRU([y_{i-1} E; c_i], s_{i-1})",
        "Write the candidate s~; W reads the word e and the context c, in this order, "
        "and r is the reset gate.",
        {
            "e": "m",
            "c": "k",
            "s": "n",
            "r": "gates: n",
            "W": "m+k n",
            "U": "n n",
        },
        "n",
        lambda e, c, s, r, W, U: np.tanh(
            e @ W[: len(e)] + c @ W[len(e) :] + (r * s) @ U
        ),
        {
            "the word comes first, then the context: [y E; c].": (
                lambda e, c, s, r, W, U: np.tanh(
                    np.concatenate([c, e]) @ W + (r * s) @ U
                )
            ),
            "the context is missing.": (
                lambda e, c, s, r, W, U: np.tanh(e @ W[: len(e)] + (r * s) @ U)
            ),
            "r comes before U: (r * s) U, not r * (s U).": (
                lambda e, c, s, r, W, U: np.tanh(
                    np.concatenate([e, c]) @ W + r * (s @ U)
                )
            ),
            "the reset gate is missing.": (
                lambda e, c, s, r, W, U: np.tanh(np.concatenate([e, c]) @ W + s @ U)
            ),
        },
    ),
    Exercise(
        "bahdanau.update",
        "s_i = (1 - z) * s_{i-1} + z * s~",
        "Write the new state s_i.",
        {"z": "gates: n", "s": "n", "s_tilde": "n"},
        "n",
        lambda z, s, new: (1 - z) * s + z * new,
        {
            "z takes the new state in this paper; z * s_{i-1} is Cho et al.'s.": (
                lambda z, s, new: z * s + (1 - z) * new
            ),
            "the old state has the weight 1 - z.": lambda z, s, new: s + z * new,
        },
    ),
    Exercise(
        "bahdanau.readout",
        "t~ = s_{i-1} U_o + y_{i-1} E V_o + c_i C_o",
        "Write t~ of the step i; s_before is s_{i-1}, s_after is s_i.",
        {
            "s_before": "n",
            "s_after": "n",
            "e": "m",
            "c": "k",
            "U_o": "n 2*j",
            "V_o": "m 2*j",
            "C_o": "k 2*j",
        },
        "2*j",
        lambda s, s_after, e, c, U, V, C: s @ U + e @ V + c @ C,
        {
            "the readout sees s_{i-1}, the state before the step, not s_i.": (
                lambda s, s_after, e, c, U, V, C: s_after @ U + e @ V + c @ C
            ),
            "C_o c_i is missing.": lambda s, s_after, e, c, U, V, C: s @ U + e @ V,
            "y_{i-1} E V_o is missing.": (
                lambda s, s_after, e, c, U, V, C: s @ U + c @ C
            ),
            "there is no tanh: maxout follows.": (
                lambda s, s_after, e, c, U, V, C: np.tanh(s @ U + e @ V + c @ C)
            ),
        },
    ),
    Exercise(
        "bahdanau.maxout",
        "t_j = max(t~_{2j-1}, t~_{2j})",
        "Write t_1, t_2, …",
        {"t_tilde": "2*j"},
        "j",
        lambda t: np.maximum(t[0::2], t[1::2]),
        {
            "the pairs are neighbours, not the two halves.": (
                lambda t: np.maximum(t[: len(t) // 2], t[len(t) // 2 :])
            ),
            "the larger one is wanted, not the smaller.": (
                lambda t: np.minimum(t[0::2], t[1::2])
            ),
            "maxout takes one of the two, not their sum.": lambda t: t[0::2] + t[1::2],
            "it is the larger one with its sign, not the larger magnitude.": (
                lambda t: np.where(
                    abs(t[0::2]) > abs(t[1::2]), abs(t[0::2]), abs(t[1::2])
                )
            ),
        },
    ),
]
