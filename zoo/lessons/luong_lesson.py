"""Exercises of Luong, Pham & Manning 2015."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import sigmoid, softmax


def _masked(e, mask, a=None):
    """Weights of the real positions, from the scores e or from `a`."""
    a = softmax(np.where(mask, e, -np.inf)) if a is None else a
    return np.where(mask, a, 0)


DECODER = [
    Exercise(
        "luong.feeding",
        "input feeding: the first LSTM reads [y_{t-1} E; h~_{t-1}]",
        "Write the product of W with the first LSTM's input; e is y_{t-1} E, h_tilde "
        "h~_{t-1} and h the LSTM's own h_{t-1}.",
        {"e": "m", "h_tilde": "n", "h": "n", "W": "m+n k"},
        "k",
        lambda e, h_tilde, h, W: e @ W[: len(e)] + h_tilde @ W[len(e) :],
        {
            "the word comes first, then h~.": (
                lambda e, h_tilde, h, W: np.concatenate([h_tilde, e]) @ W
            ),
            "what is fed back is h~_{t-1}, which has seen the context, not h_{t-1}.": (
                lambda e, h_tilde, h, W: np.concatenate([e, h]) @ W
            ),
            "h~_{t-1} is missing: this is the model without input feeding.": (
                lambda e, h_tilde, h, W: e @ W[: len(e)]
            ),
        },
    ),
    Exercise(
        "luong.stack",
        "h_t = LSTM stack(…, h_{t-1})",
        "Write the second layer's new state; the layers are plain nets, "
        "tanh(x W + h U).",
        {
            "x": "m",
            "h_1": "n",
            "h_2": "n",
            "W_1": "m n",
            "U_1": "n n",
            "W_2": "n n",
            "U_2": "n n",
        },
        "n",
        lambda x, h, k, W, U, V, X: np.tanh(np.tanh(x @ W + h @ U) @ V + k @ X),
        {
            "the second layer reads the first one's new state, not its old one.": (
                lambda x, h, k, W, U, V, X: np.tanh(h @ V + k @ X)
            ),
            "each layer goes on from its own state: the two have changed places.": (
                lambda x, h, k, W, U, V, X: np.tanh(np.tanh(x @ W + k @ U) @ V + h @ X)
            ),
            "W_2 and U_2 have changed places.": (
                lambda x, h, k, W, U, V, X: np.tanh(np.tanh(x @ W + h @ U) @ X + k @ V)
            ),
        },
    ),
    Exercise(
        "luong.weights",
        "a_t = softmax of the score, c_t = Σ_s a_t(s) h_s (7)",
        "Write the context c_t; mask is true for the sentence and false for padding.",
        {"e": "S", "h_s": "S m", "mask": "mask: S"},
        "m",
        lambda e, h, mask: softmax(e[mask]) @ h[mask],
        {
            "padding has a weight, too: the mask is not used.": (
                lambda e, h, mask: softmax(e) @ h
            ),
            "the weights of the sentence no longer sum to 1: mask the scores, before "
            "the softmax.": lambda e, h, mask: _masked(e, mask, softmax(e)) @ h,
            "a score of 0 is no mask: exp(0) = 1. It must be very negative.": (
                lambda e, h, mask: softmax(e * mask) @ h
            ),
            "the mask is the wrong way round.": (
                lambda e, h, mask: softmax(e[~mask]) @ h[~mask]
            ),
        },
    ),
    Exercise(
        "luong.attentional",
        "h~_t = tanh([c_t; h_t] W_c) (5)",
        "Write h~_t.",
        {"c": "m", "h": "n", "W_c": "m+n k"},
        "k",
        lambda c, h, W: np.tanh(c @ W[: len(c)] + h @ W[len(c) :]),
        {
            "the context comes first: [c_t; h_t].": (
                lambda c, h, W: np.tanh(np.concatenate([h, c]) @ W)
            ),
            "tanh is missing.": lambda c, h, W: np.concatenate([c, h]) @ W,
            "h_t is missing.": lambda c, h, W: np.tanh(c @ W[: len(c)]),
            "c_t is missing.": lambda c, h, W: np.tanh(h @ W[len(c) :]),
        },
    ),
    Exercise(
        "luong.output",
        "p(y_t) = softmax(h~_t W_s) (6)",
        "Write the distribution over the V words.",
        {"h_tilde": "n", "h": "n", "W_s": "n V"},
        "V",
        lambda h_tilde, h, W: softmax(h_tilde @ W),
        {
            "the output reads h~_t, which has seen the context, not h_t.": (
                lambda h_tilde, h, W: softmax(h @ W)
            ),
            "the softmax is missing.": lambda h_tilde, h, W: h_tilde @ W,
            "the words share one distribution: softmax, not σ.": (
                lambda h_tilde, h, W: sigmoid(h_tilde @ W)
            ),
        },
    ),
]

SCORES = [
    Exercise(
        "luong.dot",
        "dot: h_t · h_s",
        "Write the scores of every decoder state for every source position.",
        {"h_t": "T n", "h_s": "S n"},
        "T S",
        lambda h_t, h_s: np.einsum("tn,sn->ts", h_t, h_s),
        {
            "dot is not scaled: dividing by sqrt(n) is the Transformer's.": (
                lambda h_t, h_s: h_t @ h_s.T / h_t.shape[-1] ** 0.5
            ),
            "dot keeps the lengths of the vectors; this is their cosine.": (
                lambda h_t, h_s: (
                    (h_t / np.linalg.norm(h_t, axis=-1, keepdims=True))
                    @ (h_s / np.linalg.norm(h_s, axis=-1, keepdims=True)).T
                )
            ),
            "these are the weights already: the score comes before the softmax.": (
                lambda h_t, h_s: softmax(h_t @ h_s.T)
            ),
        },
    ),
    Exercise(
        "luong.general",
        "general: h_t · (h_s W_a)",
        "Write the scores; vectors are rows, so that h_s W_a is h_s @ W_a.",
        {"h_t": "T n", "h_s": "S n", "W_a": "n n"},
        "T S",
        lambda h_t, h_s, W: np.einsum("tj,ij,si->ts", h_t, W, h_s),
        {
            "W_a is the wrong way round: it is h_s that it multiplies.": (
                lambda h_t, h_s, W: h_t @ W @ h_s.T
            ),
            "W_a is missing: this is dot.": lambda h_t, h_s, W: h_t @ h_s.T,
            "general has no tanh.": lambda h_t, h_s, W: h_t @ np.tanh(h_s @ W).T,
            "W_a multiplies h_s alone, not h_t as well.": (
                lambda h_t, h_s, W: (h_t @ W) @ (h_s @ W).T
            ),
        },
    ),
    Exercise(
        "luong.concat",
        "concat: v_a · tanh([h_t; h_s] W_a)",
        "Write the scores of one decoder state for every source position.",
        {"h_t": "n", "h_s": "S m", "W_a": "n+m k", "v_a": "k"},
        "S",
        lambda h_t, h_s, W, v: np.tanh(h_t @ W[: len(h_t)] + h_s @ W[len(h_t) :]) @ v,
        {
            "the order is [h_t; h_s]: W_a's first rows are h_t's.": (
                lambda h_t, h_s, W, v: (
                    np.tanh(h_t @ W[-len(h_t) :] + h_s @ W[: -len(h_t)]) @ v
                )
            ),
            "tanh is missing.": (
                lambda h_t, h_s, W, v: (h_t @ W[: len(h_t)] + h_s @ W[len(h_t) :]) @ v
            ),
            "h_t is missing.": lambda h_t, h_s, W, v: np.tanh(h_s @ W[len(h_t) :]) @ v,
            "v_a is missing: the hidden units are weighted, not just added up.": (
                lambda h_t, h_s, W, v: np.tanh(
                    h_t @ W[: len(h_t)] + h_s @ W[len(h_t) :]
                ).sum(-1)
            ),
        },
    ),
    Exercise(
        "luong.location",
        "location: a_t = softmax(h_t W_a) (8)",
        "Write the weights of a source of S positions; W_a has room for S + L.",
        {"h_t": "n", "W_a": "n S+L", "S": "size: S"},
        "S",
        lambda h, W, S: softmax(h @ W[:, :S]),
        {
            "positions beyond the source have a part: cut first, then the softmax.": (
                lambda h, W, S: softmax(h @ W)[:S]
            ),
            "a source of S positions uses the first S columns, not the last.": (
                lambda h, W, S: softmax(h @ W[:, -S:])
            ),
            "the softmax is missing.": lambda h, W, S: h @ W[:, :S],
        },
    ),
]

LOCAL = [
    Exercise(
        "luong.local_m",
        "local-m: p_t = t, inside the sentence",
        "Write p_0 … p_{T-1} of a source of S positions, which count from 0.",
        {"T": "size: T", "S": "size: S"},
        "T",
        lambda T, S: np.array([min(t, S - 1) for t in range(T)]),
        {
            "p_t leaves the sentence where the target is longer than the source.": (
                lambda T, S: np.arange(T)
            ),
            "positions count from 0: the last one is S - 1, not S.": (
                lambda T, S: np.minimum(np.arange(T), S)
            ),
            "positions count from 0: p_0 = 0.": (
                lambda T, S: np.minimum(np.arange(T) + 1, S)
            ),
            "p_t = t: it is not stretched to the source's length.": (
                lambda T, S: np.arange(T) * S / T
            ),
        },
    ),
    Exercise(
        "luong.local_p",
        "local-p: p_t = S σ(v_p · tanh(h_t W_p)) (9)",
        "Write p_t.",
        {"h_t": "n", "W_p": "n k", "v_p": "k", "S": "size: S"},
        "",
        lambda h, W, v, S: S * sigmoid(np.tanh(h @ W) @ v),
        {
            "σ is missing: p_t must lie between 0 and S.": (
                lambda h, W, v, S: S * (np.tanh(h @ W) @ v)
            ),
            "the inner tanh is missing.": lambda h, W, v, S: S * sigmoid(h @ W @ v),
            "the paper multiplies by S, not by S - 1.": (
                lambda h, W, v, S: (S - 1) * sigmoid(np.tanh(h @ W) @ v)
            ),
            "S is missing: this is a share of the sentence, not a position.": (
                lambda h, W, v, S: sigmoid(np.tanh(h @ W) @ v)
            ),
        },
    ),
    Exercise(
        "luong.gaussian",
        "… * exp(-(s - p_t)² / 2σ²), σ = D / 2 (10)",
        "Write the weights a after the Gaussian; D is a vector of one number.",
        {"a": "weights: S", "p_t": "1", "D": "gates: 1"},
        "S",
        lambda a, p, D: a * np.exp(-2 * ((np.arange(len(a)) - p) / D) ** 2),
        {
            "σ is D / 2, not D.": (
                lambda a, p, D: a * np.exp(-(((np.arange(len(a)) - p) / D) ** 2) / 2)
            ),
            "the distance is not squared.": (
                lambda a, p, D: a * np.exp(-2 * abs(np.arange(len(a)) - p) / D**2)
            ),
            "σ is squared: 2σ², not 2σ.": (
                lambda a, p, D: a * np.exp(-((np.arange(len(a)) - p) ** 2) / D)
            ),
            "the paper doesn't bring the weights back to a sum of 1.": (
                lambda a, p, D: (
                    a
                    * np.exp(-2 * ((np.arange(len(a)) - p) / D) ** 2)
                    / (a * np.exp(-2 * ((np.arange(len(a)) - p) / D) ** 2)).sum()
                )
            ),
            "the Gaussian multiplies the weights a.": (
                lambda a, p, D: np.exp(-2 * ((np.arange(len(a)) - p) / D) ** 2)
            ),
        },
    ),
]

EXERCISES = [*DECODER, *SCORES, *LOCAL]
