"""Exercises of single recurrent nets: BiRNN and LSTM."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import chain, sigmoid


def _half(U):
    return np.full(len(U), 0.5)


BIRNN = [
    Exercise(
        "birnn.backward",
        "hf_t = tanh(x_t W_f + hf_{t-1} U_f + b_f), hb_t likewise from hb_{t+1}",
        "Write the states hb_1 … hb_T of the backward chain, from hb_{T+1} = 0.5.",
        {"x": "T m", "W_b": "m n", "U_b": "n n", "b_b": "n"},
        "T n",
        lambda x, W, U, b: chain((x @ W + b)[::-1], U, _half(U))[::-1],
        {
            "this chain reads forwards: hb_t comes from hb_{t+1}, not from hb_{t-1}.": (
                lambda x, W, U, b: chain(x @ W + b, U, _half(U))
            ),
            "row t holds the state of x_{T+1-t}: turn the states round, too.": (
                lambda x, W, U, b: chain((x @ W + b)[::-1], U, _half(U))
            ),
            "the chain starts from hb_{T+1} = 0.5, not from 0.": (
                lambda x, W, U, b: chain((x @ W + b)[::-1], U, np.zeros(len(U)))[::-1]
            ),
            "the bias b_b is missing.": (
                lambda x, W, U, b: chain((x @ W)[::-1], U, _half(U))[::-1]
            ),
        },
    ),
    Exercise(
        "birnn.start",
        "hf_0 = hb_{T+1} = 0.5",
        "Write the first state hf_1.",
        {"x_1": "m", "W_f": "m n", "U_f": "n n", "b_f": "n"},
        "n",
        lambda x, W, U, b: np.tanh(x @ W + 0.5 * U.sum(0) + b),
        {
            "hf_0 is 0.5 here, not 0.": lambda x, W, U, b: np.tanh(x @ W + b),
            "hf_0 goes through U_f.": lambda x, W, U, b: np.tanh(x @ W + 0.5 + b),
            "hf_0 is 0.5, not 1.": lambda x, W, U, b: np.tanh(x @ W + U.sum(0) + b),
        },
    ),
    Exercise(
        "birnn.output",
        "y_t = V_f hf_t + V_b hb_t + c",
        "Write the outputs y_1 … y_T.",
        {"hf": "T n", "hb": "T n", "V_f": "n k", "V_b": "n k", "c": "k"},
        "T k",
        lambda hf, hb, V_f, V_b, c: hf @ V_f + hb @ V_b + c,
        {
            "hb has a matrix of its own, V_b.": (
                lambda hf, hb, V_f, V_b, c: (hf + hb) @ V_f + c
            ),
            "hf and hb have exchanged their matrices.": (
                lambda hf, hb, V_f, V_b, c: hf @ V_b + hb @ V_f + c
            ),
            "c is added once: it belongs to the output, not to each chain.": (
                lambda hf, hb, V_f, V_b, c: hf @ V_f + hb @ V_b + 2 * c
            ),
            "y_t reads hb_t: the states stand in the order of time already.": (
                lambda hf, hb, V_f, V_b, c: hf @ V_f + hb[::-1] @ V_b + c
            ),
        },
    ),
]

LSTM = [
    Exercise(
        "lstm.net",
        "net inputs of gates and candidate: x_t W + h_{t-1} U + b",
        "Write the net inputs of all gates and of the candidate, beside each other.",
        {"x": "m", "h": "n", "W": "m 4*n", "U": "n 4*n", "b": "4*n"},
        "4*n",
        lambda x, h, W, U, b: x @ W + h @ U + b,
        {
            "h_{t-1} U is missing.": lambda x, h, W, U, b: x @ W + b,
            "x_t W is missing.": lambda x, h, W, U, b: h @ U + b,
            "b is missing.": lambda x, h, W, U, b: x @ W + h @ U,
            "a net input comes before σ and tanh.": (
                lambda x, h, W, U, b: sigmoid(x @ W + h @ U + b)
            ),
        },
    ),
    Exercise(
        "lstm.forget",
        "2000: f_t * s_{t-1}",
        "Write what is left of the old cell state; f is the gate's net input.",
        {"f": "n", "s": "n"},
        "n",
        lambda f, s: sigmoid(f) * s,
        {
            "f_t is σ(f): the net input has not gone through σ.": lambda f, s: f * s,
            "f_t = 1 keeps the state: it is f_t * s, not (1 - f_t) * s.": (
                lambda f, s: (1 - sigmoid(f)) * s
            ),
            "a gate is σ of its net input, not tanh: it lies between 0 and 1.": (
                lambda f, s: np.tanh(f) * s
            ),
        },
    ),
    Exercise(
        "lstm.carousel",
        "1997, `forget_gate=False`: s_{t-1} as it is",
        "Write the new cell state of 1997; i is the input gate, g the candidate.",
        {"s": "n", "i": "gates: n", "g": "n"},
        "n",
        lambda s, i, g: s + i * g,
        {
            "in 1997 nothing is forgotten: s_{t-1} stays as it is, without 1 - i.": (
                lambda s, i, g: (1 - i) * s + i * g
            ),
            "the input gate is missing.": lambda s, i, g: s + g,
            "the gate is for the candidate alone.": lambda s, i, g: i * (s + g),
        },
    ),
    Exercise(
        "lstm.cell",
        "s_t = … + in_t * g(net_c)",
        "Write s_t with a forget gate; f, i and net_c are net inputs, g is tanh.",
        {"s": "n", "f": "n", "i": "n", "net_c": "n"},
        "n",
        lambda s, f, i, c: sigmoid(f) * s + sigmoid(i) * np.tanh(c),
        {
            "the candidate goes through g, which is tanh here.": (
                lambda s, f, i, c: sigmoid(f) * s + sigmoid(i) * c
            ),
            "g is tanh here, not σ.": (
                lambda s, f, i, c: sigmoid(f) * s + sigmoid(i) * sigmoid(c)
            ),
            "f and i have changed places: f belongs to s_{t-1}, i to the candidate.": (
                lambda s, f, i, c: sigmoid(i) * s + sigmoid(f) * np.tanh(c)
            ),
            "the LSTM has an input gate of its own: it is i, not 1 - f.": (
                lambda s, f, i, c: sigmoid(f) * s + (1 - sigmoid(f)) * np.tanh(c)
            ),
        },
    ),
    Exercise(
        "lstm.output",
        "c_out_t = out_t * h(s_t)",
        "Write the cell's output; o is the gate's net input, h is tanh.",
        {"o": "n", "s": "n"},
        "n",
        lambda o, s: sigmoid(o) * np.tanh(s),
        {
            "s_t goes through h, which is tanh here.": lambda o, s: sigmoid(o) * s,
            "the gate is outside: out_t * h(s_t), not h(out_t * s_t).": (
                lambda o, s: np.tanh(sigmoid(o) * s)
            ),
            "out_t is σ of its net input, not tanh.": (
                lambda o, s: np.tanh(o) * np.tanh(s)
            ),
        },
    ),
    Exercise(
        "lstm.squash",
        "g: logistic in (-2, 2); h: in (-1, 1)",
        "Write g, the logistic function stretched to (-2, 2).",
        {"x": "n"},
        "n",
        lambda x: 4 * sigmoid(x) - 2,
        {
            "this is h, in (-1, 1).": lambda x: 2 * sigmoid(x) - 1,
            "this lies in (0, 4): subtract 2.": lambda x: 4 * sigmoid(x),
            "2 tanh(x) is too steep: the logistic function is tanh of half of x.": (
                lambda x: 2 * np.tanh(x)
            ),
        },
    ),
]

EXERCISES = [*BIRNN, *LSTM]
