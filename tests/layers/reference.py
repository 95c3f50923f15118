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


def lstm_stack(stack, x, h, c):
    """A step of layers by their `named` weights; sets the states `h` and `c`."""
    for k, weights in enumerate(stack):
        kernels = weights["kernel"], weights["recurrent_kernel"]
        h[k], c[k] = lstm_step(x, h[k], c[k], *kernels, weights.get("bias", 0.0))
        x = h[k]
    return x


def lstm_1997_step(x, h, c, kernel, recurrent, bias=0.0):
    """Hochreiter & Schmidhuber 1997: no forget gate, g and h scaled logistics; parts
    input gate, candidate, output gate."""
    i, candidate, o = np.split(x @ kernel + h @ recurrent + bias, 3)
    c = c + sigmoid(i) * (4 * sigmoid(candidate) - 2)
    return sigmoid(o) * (2 * sigmoid(c) - 1), c


def named(layer):
    """A layer's variables as float64 arrays by name."""
    from keras import ops

    return {
        v.name: ops.convert_to_numpy(v.value).astype("float64")
        for v in layer.trainable_variables
    }


def lstmn_run(xs, weights, first, source=None, fusion=None, skip=0):
    """Cheng, Dong & Lapata 2016: lists of h_t, c_t and the weights on the source.

    `first` is (h, c) of slot 0; `source` (γ, α), each (S, n); the attention does not
    see the last `skip` numbers of an x.
    """
    w, n = weights, len(first[0])
    H, C, hs, cs, ps = [first[0]], [first[1]], [], [], []
    htilde, gammatilde = np.zeros(n), np.zeros(n)
    for x in xs:
        seen = x[: len(x) - skip]
        a = [
            w["v"] @ np.tanh(h @ w["W_h"] + seen @ w["W_x"] + htilde @ w["W_htilde"])
            for h in H
        ]
        s = softmax(np.array(a))
        gates = x @ w["kernel"] + w["bias"]
        extra, p = 0.0, np.zeros(0)
        if fusion == "shallow":
            p = _source_weights(source[0], w, H[-1] @ w["W_q"])
            context = p @ source[0] if len(p) else np.zeros(n)
            gates = gates + context @ w["context_kernel"]
        if fusion == "deep":
            query = seen @ w["W_xgamma"] + gammatilde @ w["W_gammatilde"]
            p = _source_weights(source[0], w, query)
            gammatilde, alpha = (p @ y if len(p) else np.zeros(n) for y in source)
            r = sigmoid(np.concatenate([gammatilde, x]) @ w["W_r"] + w["b_r"])
            extra = r * alpha
        htilde, ctilde = s @ np.array(H), s @ np.array(C)
        i, f, g, o = np.split(gates + htilde @ w["recurrent_kernel"], 4)
        c = sigmoid(f) * ctilde + sigmoid(i) * np.tanh(g) + extra
        h = sigmoid(o) * np.tanh(c)
        H.append(h), C.append(c), hs.append(h), cs.append(c), ps.append(p)
    return hs, cs, ps


def _source_weights(gamma, w, query):
    if not len(gamma):
        return np.zeros(0)
    return softmax(
        np.array([w["u"] @ np.tanh(g @ w["W_gamma"] + query) for g in gamma])
    )
