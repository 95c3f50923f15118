"""The papers' equations in plain NumPy float64, one sentence and one step at a time."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def score(kind, h, hs, weights):
    """Luong et al. 2015, section 3.1, and Bahdanau et al. 2015, A.1.2."""
    if kind == "dot":
        return h @ hs
    if kind == "scaled_dot":
        return h @ hs / np.sqrt(len(h))
    if kind == "general":
        return h @ (weights["W_a"].T @ hs)
    if kind == "concat":
        return weights["v_a"] @ np.tanh(weights["W_a"].T @ np.concatenate([h, hs]))
    if kind == "additive":
        hidden = np.tanh(weights["W_a"].T @ h + weights["U_a"].T @ hs)
        return weights["v_a"] @ hidden
    raise AssertionError(kind)


def attend(kind, h, memory, weights, positions=None):
    """Softmax of the score over `positions` (all by default): (context, weights)."""
    a = np.zeros(len(memory))
    positions = list(range(len(memory))) if positions is None else list(positions)
    if positions:
        a[positions] = softmax(
            np.array([score(kind, h, memory[s], weights) for s in positions])
        )
    return a @ memory, a


def local(kind, h, memory, weights, centre, window, focus=None):
    """Section 3.2: the window around a centre, and equation 10 where focus is given."""
    low, high = max(0, centre - window), min(len(memory) - 1, centre + window)
    _, a = attend(kind, h, memory, weights, range(low, high + 1))
    if focus is not None:
        sigma = window / 2
        s = np.arange(len(memory))
        a = a * np.exp(-((s - focus) ** 2) / (2 * sigma**2))
    return a @ memory, a


def predicted_focus(h, length, weights):
    """Equation 9."""
    return length * sigmoid(weights["v_p"] @ np.tanh(weights["W_p"].T @ h))


def gru_step(x, h, kernel, recurrent, bias=0.0, keep=True, after=None):
    """Cho et al. 2014, equations 5 to 8; gates z, r, candidate in Keras's order. With
    `after`, the reset gate scales U h + after, as in the appendix's decoder; the bias
    then has a second row, of U h."""
    n = len(h)
    bias, inner = (bias, 0.0) if after is None else bias
    p = x @ kernel + bias
    q = h @ recurrent + inner
    z, r = sigmoid(p[:n] + q[:n]), sigmoid(p[n : 2 * n] + q[n : 2 * n])
    if after is None:
        inner = (r * h) @ recurrent[:, 2 * n :]
    else:
        inner = r * (q[2 * n :] + after)
    candidate = np.tanh(p[2 * n :] + inner)
    return z * h + (1 - z) * candidate if keep else (1 - z) * h + z * candidate


def maxout(state, word, context, weights):
    """Bahdanau et al. 2015, appendix A.2.2: t_i."""
    t = state @ weights["U_o"] + word @ weights["V_o"] + context @ weights["C_o"]
    t = t + weights.get("b_o", 0.0)
    return np.array([max(t[2 * j], t[2 * j + 1]) for j in range(len(t) // 2)])


def lstm_step(x, h, c, kernel, recurrent, bias=0.0):
    """Gates i, f, candidate, o in Keras's order."""
    z = x @ kernel + h @ recurrent + bias
    i, f, g, o = np.split(z, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def named(layer):
    """A layer's variables as float64 arrays by name."""
    from keras import ops

    return {
        v.name: ops.convert_to_numpy(v.value).astype("float64")
        for v in layer.trainable_variables
    }
