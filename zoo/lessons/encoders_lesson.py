"""Exercises of the RNN Encoder-Decoder and of seq2seq."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import chain, sigmoid, softmax

CHO = [
    Exercise(
        "cho.gate",
        "r = σ(x W_r + h U_r), z = σ(x W_z + h U_z) (5, 6)",
        "Write the reset gate r.",
        {"x": "m", "h": "n", "W_r": "m n", "U_r": "n n"},
        "n",
        lambda x, h, W, U: sigmoid(x @ W + h @ U),
        {
            "a gate is σ, not tanh.": lambda x, h, W, U: np.tanh(x @ W + h @ U),
            "the gate reads h as well: h U_r is missing.": (
                lambda x, h, W, U: sigmoid(x @ W)
            ),
            "U_r is the wrong way round: `h @ U_r`.": (
                lambda x, h, W, U: sigmoid(x @ W + U @ h)
            ),
        },
    ),
    Exercise(
        "cho.candidate",
        "h~ = tanh(x W + (r * h) U) (8)",
        "Write the candidate h~.",
        {"x": "m", "h": "n", "r": "gates: n", "W": "m n", "U": "n n"},
        "n",
        lambda x, h, r, W, U: np.tanh(x @ W + (r * h) @ U),
        {
            "r comes before U: (r * h) U, not r * (h U).": (
                lambda x, h, r, W, U: np.tanh(x @ W + r * (h @ U))
            ),
            "r is missing.": lambda x, h, r, W, U: np.tanh(x @ W + h @ U),
            "r = 1 keeps h: it is r * h, not (1 - r) * h.": (
                lambda x, h, r, W, U: np.tanh(x @ W + ((1 - r) * h) @ U)
            ),
        },
    ),
    Exercise(
        "cho.update",
        "h = z * h_{t-1} + (1 - z) * h~ (7)",
        "Write the new state h.",
        {"z": "gates: n", "h": "n", "h_tilde": "n"},
        "n",
        lambda z, h, new: z * h + (1 - z) * new,
        {
            "z keeps the old state in this paper; (1 - z) * h is Bahdanau's.": (
                lambda z, h, new: (1 - z) * h + z * new
            ),
            "the candidate has the weight 1 - z.": lambda z, h, new: z * h + new,
        },
    ),
    Exercise(
        "cho.context",
        "c = tanh(h_N V), h'_0 = tanh(c V')",
        "Write the decoder's first state h'_0; h holds h_1 … h_N.",
        {"h": "N n", "V": "n k", "V_prime": "k n"},
        "n",
        lambda h, V, W: np.tanh(np.tanh(h[-1] @ V) @ W),
        {
            "c reads the last state h_N, not the first.": (
                lambda h, V, W: np.tanh(np.tanh(h[0] @ V) @ W)
            ),
            "c reads h_N alone, not the states' mean.": (
                lambda h, V, W: np.tanh(np.tanh(h.mean(0) @ V) @ W)
            ),
            "c itself is tanh(h_N V): the inner tanh is missing.": (
                lambda h, V, W: np.tanh(h[-1] @ V @ W)
            ),
        },
    ),
    Exercise(
        "cho.context_gate",
        "decoder: + c C_z, + c C_r in the gates",
        "Write the decoder's update gate z'.",
        {"e": "m", "h": "n", "c": "k", "W_z": "m n", "U_z": "n n", "C_z": "k n"},
        "n",
        lambda e, h, c, W, U, C: sigmoid(e @ W + h @ U + c @ C),
        {
            "c C_z is missing: each step of the decoder sees the context.": (
                lambda e, h, c, W, U, C: sigmoid(e @ W + h @ U)
            ),
            "c C_z belongs inside σ.": (
                lambda e, h, c, W, U, C: sigmoid(e @ W + h @ U) + c @ C
            ),
            "h' U_z is missing.": lambda e, h, c, W, U, C: sigmoid(e @ W + c @ C),
        },
    ),
    Exercise(
        "cho.context_candidate",
        "decoder: h~' = tanh(e W' + r' * (h' U' + c C))",
        "Write the decoder's candidate h~'.",
        {
            "e": "m",
            "h": "n",
            "c": "k",
            "r": "gates: n",
            "W": "m n",
            "U": "n n",
            "C": "k n",
        },
        "n",
        lambda e, h, c, r, W, U, C: np.tanh(e @ W + r * (h @ U + c @ C)),
        {
            "r' gates the context as well.": (
                lambda e, h, c, r, W, U, C: np.tanh(e @ W + r * (h @ U) + c @ C)
            ),
            "here r' comes after U': r' * (U' h'), not U' (r' * h').": (
                lambda e, h, c, r, W, U, C: np.tanh(e @ W + (r * h) @ U + r * (c @ C))
            ),
            "r' gates the state and the context, not the word.": (
                lambda e, h, c, r, W, U, C: np.tanh(r * (e @ W + h @ U + c @ C))
            ),
        },
    ),
    Exercise(
        "cho.first_word",
        "e(y_0) = 0",
        "Write the word vectors of y, zeros for the start token, whose id is 2.",
        {"y": "ids<V: T", "E": "V m"},
        "T m",
        lambda y, E: E[y] * (y != 2)[:, None],
        {
            "the start token's vector is 0, not its row of E.": lambda y, E: E[y],
            "the other way round: all but the start token are 0.": (
                lambda y, E: E[y] * (y == 2)[:, None]
            ),
            "the start token is told by its id, not by its place.": (
                lambda y, E: E[y] * (np.arange(len(y)) > 0)[:, None]
            ),
        },
    ),
    Exercise(
        "cho.maxout",
        "s = maxout(h' O_h + e O_y + c O_c)",
        "Write s: of the sum's values 1 and 2, 3 and 4, … the larger one.",
        {
            "h": "n",
            "e": "m",
            "c": "k",
            "O_h": "n 2*j",
            "O_y": "m 2*j",
            "O_c": "k 2*j",
        },
        "j",
        lambda h, e, c, H, Y, C: (h @ H + e @ Y + c @ C).reshape(-1, 2).max(1),
        {
            "the pairs are neighbours, not the two halves.": (
                lambda h, e, c, H, Y, C: (h @ H + e @ Y + c @ C).reshape(2, -1).max(0)
            ),
            "maxout takes the larger one, not the sum.": (
                lambda h, e, c, H, Y, C: (h @ H + e @ Y + c @ C).reshape(-1, 2).sum(1)
            ),
            "the maximum comes after the sum, not before.": (
                lambda h, e, c, H, Y, C: sum(
                    net.reshape(-1, 2).max(1) for net in (h @ H, e @ Y, c @ C)
                )
            ),
            "c O_c is missing.": (
                lambda h, e, c, H, Y, C: (h @ H + e @ Y).reshape(-1, 2).max(1)
            ),
        },
    ),
    Exercise(
        "cho.softmax",
        "p(y) = softmax(s G_r G_l)",
        "Write the distribution over the V words.",
        {"s": "j", "G_r": "j k", "G_l": "k V"},
        "V",
        lambda s, G_r, G_l: softmax(s @ G_r @ G_l),
        {
            "the softmax is missing.": lambda s, G_r, G_l: s @ G_r @ G_l,
            "exp alone doesn't sum to 1.": lambda s, G_r, G_l: np.exp(s @ G_r @ G_l),
            "there is no nonlinearity between G_r and G_l.": (
                lambda s, G_r, G_l: softmax(np.tanh(s @ G_r) @ G_l)
            ),
        },
    ),
]

SEQ2SEQ = [
    Exercise(
        "seq2seq.encoder",
        "v = all layers' final (h, c) over x_S … x_1",
        "Write v of one layer of a plain net, h = tanh(x W + h U), from 0.",
        {"x": "S m", "W": "m n", "U": "n n"},
        "n",
        lambda x, W, U: chain(x[::-1] @ W, U, np.zeros(len(U)))[-1],
        {
            "the source is read backwards, from x_S to x_1.": (
                lambda x, W, U: chain(x @ W, U, np.zeros(len(U)))[-1]
            ),
            "the state is the first one, after x_S; v comes after x_1.": (
                lambda x, W, U: chain(x[::-1] @ W, U, np.zeros(len(U)))[0]
            ),
            "v is the final state, not the mean.": (
                lambda x, W, U: chain(x[::-1] @ W, U, np.zeros(len(U))).mean(0)
            ),
        },
    ),
    Exercise(
        "seq2seq.decoder",
        "h_t = LSTM stack(y_{t-1} E, h_{t-1}), started from v",
        "Write h_1 … h_T of a plain net; y holds y_0 … y_T, y_0 the start token.",
        {"y": "ids<V: T+1", "v": "n", "E": "V m", "W": "m n", "U": "n n"},
        "T n",
        lambda y, v, E, W, U: chain(E[y[:-1]] @ W, U, v),
        {
            "h_t reads the word before, y_{t-1}: this net sees what it is to write.": (
                lambda y, v, E, W, U: chain(E[y[1:]] @ W, U, v)
            ),
            "the decoder starts from v, not from 0.": (
                lambda y, v, E, W, U: chain(E[y[:-1]] @ W, U, 0 * v)
            ),
            "v is the first state alone; after it h_t reads h_{t-1}.": (
                lambda y, v, E, W, U: np.tanh(E[y[:-1]] @ W + v @ U)
            ),
        },
    ),
    Exercise(
        "seq2seq.softmax",
        "p(y_t) = softmax(h_t W) (1)",
        "Write the distribution over the V words at each step.",
        {"h": "T n", "W": "n V"},
        "T V",
        lambda h, W: softmax(h @ W),
        {
            "the softmax goes over the words, not over the steps.": (
                lambda h, W: softmax(h @ W, axis=0)
            ),
            "the softmax goes over the words of each step, not over all at once.": (
                lambda h, W: np.exp(h @ W) / np.exp(h @ W).sum()
            ),
            "the words share one distribution: softmax, not σ.": (
                lambda h, W: sigmoid(h @ W)
            ),
        },
    ),
]

EXERCISES = [*CHO, *SEQ2SEQ]
