"""Exercises of Cheng, Dong & Lapata 2016, the LSTMN."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import sigmoid, softmax

EXERCISES = [
    Exercise(
        "lstmn.score",
        "a_i = v · tanh(h_i W_h + x_t W_x + h~_{t-1} W_h~)",
        "Write the scores of all earlier words; h holds their h_i.",
        {
            "h": "S n",
            "x": "m",
            "h_tilde": "n",
            "W_h": "n k",
            "W_x": "m k",
            "W_h_tilde": "n k",
            "v": "k",
        },
        "S",
        lambda h, x, t, W_h, W_x, W_t, v: np.tanh(h @ W_h + x @ W_x + t @ W_t) @ v,
        {
            "h~_{t-1} W_h~ is missing.": (
                lambda h, x, t, W_h, W_x, W_t, v: np.tanh(h @ W_h + x @ W_x) @ v
            ),
            "x_t W_x is missing.": (
                lambda h, x, t, W_h, W_x, W_t, v: np.tanh(h @ W_h + t @ W_t) @ v
            ),
            "W_h and W_h~ have changed places.": (
                lambda h, x, t, W_h, W_x, W_t, v: (
                    np.tanh(h @ W_t + x @ W_x + t @ W_h) @ v
                )
            ),
            "tanh is missing.": (
                lambda h, x, t, W_h, W_x, W_t, v: (h @ W_h + x @ W_x + t @ W_t) @ v
            ),
        },
    ),
    Exercise(
        "lstmn.summary",
        "[h~_t; c~_t] = Σ_i softmax(a)_i [h_i; c_i]",
        "Write [h~_t; c~_t] of the tapes h and c.",
        {"a": "S", "h": "S n", "c": "S n"},
        "2*n",
        lambda a, h, c: np.concatenate([softmax(a) @ h, softmax(a) @ c]),
        {
            "the order is [h~; c~].": (
                lambda a, h, c: np.concatenate([softmax(a) @ c, softmax(a) @ h])
            ),
            "c has weights as well, the same ones; this is the last c, as in an "
            "LSTM.": lambda a, h, c: np.concatenate([softmax(a) @ h, c[-1]]),
            "this is an LSTM, which reads the last state; the LSTMN reads all.": (
                lambda a, h, c: np.concatenate([h[-1], c[-1]])
            ),
            "the softmax is missing.": lambda a, h, c: np.concatenate([a @ h, a @ c]),
        },
    ),
    Exercise(
        "lstmn.gates",
        "i, f, o, ĉ of [h~_t; x_t] W",
        "Write the net inputs [h~_t; x_t] W; h is the tape, whose last row is h_{t-1}.",
        {"h_tilde": "n", "x": "m", "h": "S n", "W": "n+m 4*n"},
        "4*n",
        lambda t, x, h, W: t @ W[: len(t)] + x @ W[len(t) :],
        {
            "the order is [h~; x].": lambda t, x, h, W: np.concatenate([x, t]) @ W,
            "the gates read h~_t, the summary of all words, not h_{t-1}.": (
                lambda t, x, h, W: np.concatenate([h[-1], x]) @ W
            ),
            "x_t is missing.": lambda t, x, h, W: t @ W[: len(t)],
        },
    ),
    Exercise(
        "lstmn.fusion_gate",
        "deep fusion: r_t = σ([γ~_t; x_t] W_r)",
        "Write r_t.",
        {"gamma": "k", "x": "m", "W_r": "k+m n"},
        "n",
        lambda gamma, x, W: sigmoid(gamma @ W[: len(gamma)] + x @ W[len(gamma) :]),
        {
            "the order is [γ~; x].": (
                lambda gamma, x, W: sigmoid(np.concatenate([x, gamma]) @ W)
            ),
            "a gate is σ, not tanh.": (
                lambda gamma, x, W: np.tanh(np.concatenate([gamma, x]) @ W)
            ),
            "x_t is missing.": lambda gamma, x, W: sigmoid(gamma @ W[: len(gamma)]),
        },
    ),
    Exercise(
        "lstmn.cell",
        "c_t = r * α~ + f * c~ + i * ĉ",
        "Write c_t of the gates r, f and i; c_before is c_{t-1}.",
        {
            "r": "gates: n",
            "alpha": "n",
            "f": "gates: n",
            "c_tilde": "n",
            "c_before": "n",
            "i": "gates: n",
            "c_hat": "n",
        },
        "n",
        lambda r, alpha, f, t, before, i, new: r * alpha + f * t + i * new,
        {
            "the LSTMN forgets from c~_t, the summary of all words, not c_{t-1}.": (
                lambda r, alpha, f, t, before, i, new: r * alpha + f * before + i * new
            ),
            "r * α~, the source's part, is missing: this is shallow fusion.": (
                lambda r, alpha, f, t, before, i, new: f * t + i * new
            ),
            "f and i have changed places.": (
                lambda r, alpha, f, t, before, i, new: r * alpha + i * t + f * new
            ),
        },
    ),
    Exercise(
        "lstmn.output",
        "h_t = o * tanh(c_t)",
        "Write h_t of the gate o.",
        {"o": "gates: n", "c": "n"},
        "n",
        lambda o, c: o * np.tanh(c),
        {
            "tanh is missing.": lambda o, c: o * c,
            "the gate is outside: o * tanh(c), not tanh(o * c).": (
                lambda o, c: np.tanh(o * c)
            ),
            "o is a gate's value already.": lambda o, c: sigmoid(o) * np.tanh(c),
        },
    ),
    Exercise(
        "lstmn.skip",
        "skip connections: layer k + 1 reads [h_t; x_t]",
        "Write what layer k + 1 reads.",
        {"h": "n", "x": "m"},
        "n+m",
        lambda h, x: np.concatenate([h, x]),
        {
            "the order is [h_t; x_t].": lambda h, x: np.concatenate([x, h]),
            "the words are missing: h_t alone is the stack without skips.": (
                lambda h, x: h
            ),
        },
    ),
]
