"""Exercises of Luong, Pham & Manning 2015."""

from zoo.lessons.exercise import Exercise

EXERCISES = [
    Exercise(
        "luong.feeding",
        "input feeding: the first LSTM reads [y_{t-1} E; h~_{t-1}]",
        "Write the product of W with the first LSTM's input; e is y_{t-1} E, h_tilde "
        "h~_{t-1} and h the LSTM's own h_{t-1}.",
        "e: m, h_tilde: n, h: n, W: m+n k -> k",
        "e @ W[:len(e)] + h_tilde @ W[len(e):]",
        {
            "the word comes first, then h~.": "concatenate([h_tilde, e]) @ W",
            "what is fed back is h~_{t-1}, which has seen the context, not h_{t-1}.": (
                "concatenate([e, h]) @ W"
            ),
            "h~_{t-1} is missing: nothing is fed back.": "e @ W[:len(e)]",
        },
    ),
    Exercise(
        "luong.stack",
        "h_t = LSTM stack(…, h_{t-1})",
        "Write the second layer's new state; the layers are plain nets, tanh(x W + h "
        "U).",
        "x: m, h_1: n, h_2: n, W_1: m n, U_1: n n, W_2: n n, U_2: n n -> n",
        "tanh(tanh(x @ W_1 + h_1 @ U_1) @ W_2 + h_2 @ U_2)",
        {
            "the second layer reads the first one's new state, not its old one.": (
                "tanh(h_1 @ W_2 + h_2 @ U_2)"
            ),
            "each layer goes on from its own state: the two have changed places.": (
                "tanh(tanh(x @ W_1 + h_2 @ U_1) @ W_2 + h_1 @ U_2)"
            ),
            "W_2 and U_2 have changed places.": (
                "tanh(tanh(x @ W_1 + h_1 @ U_1) @ U_2 + h_2 @ W_2)"
            ),
        },
    ),
    Exercise(
        "luong.weights",
        "a_t = softmax of the score, c_t = Σ_s a_t(s) h_s (7)",
        "Write the context c_t; mask is true for the sentence and false for padding.",
        "e: S, h_s: S m, mask: mask S -> m",
        "softmax(e[mask]) @ h_s[mask]",
        {
            "padding has a weight, too: the mask is not used.": "softmax(e) @ h_s",
            "the weights of the sentence no longer sum to 1: mask the scores, before "
            "the softmax.": "(softmax(e) * mask) @ h_s",
            "a score of 0 is no mask: exp(0) = 1.": "softmax(e * mask) @ h_s",
            "the mask is the wrong way round.": "softmax(e[~mask]) @ h_s[~mask]",
        },
    ),
    Exercise(
        "luong.attentional",
        "h~_t = tanh([c_t; h_t] W_c) (5)",
        "Write h~_t.",
        "c: m, h: n, W_c: m+n k -> k",
        "tanh(c @ W_c[:len(c)] + h @ W_c[len(c):])",
        {
            "the context comes first: [c_t; h_t].": "tanh(concatenate([h, c]) @ W_c)",
            "tanh is missing.": "concatenate([c, h]) @ W_c",
            "h_t is missing.": "tanh(c @ W_c[:len(c)])",
            "c_t is missing.": "tanh(h @ W_c[len(c):])",
        },
    ),
    Exercise(
        "luong.output",
        "p(y_t) = softmax(h~_t W_s) (6)",
        "Write the distribution over the V words.",
        "h_tilde: n, h: n, W_s: n V -> V",
        "softmax(h_tilde @ W_s)",
        {
            "the output reads h~_t, not h_t.": "softmax(h @ W_s)",
            "the softmax is missing.": "h_tilde @ W_s",
            "the words share a distribution: no σ.": "sigmoid(h_tilde @ W_s)",
        },
    ),
    Exercise(
        "luong.dot",
        "dot: h_t · h_s",
        "Write the scores of every decoder state for every source position.",
        "h_t: T n, h_s: S n -> T S",
        "h_t @ h_s.T",
        {
            "dot is not scaled: dividing by sqrt(n) is the Transformer's.": (
                "h_t @ h_s.T / h_t.shape[-1] ** 0.5"
            ),
            "dot keeps the lengths of the vectors; this is their cosine.": (
                "h_t / np.linalg.norm(h_t, axis=-1, keepdims=True) @ (h_s / "
                "np.linalg.norm(h_s, axis=-1, keepdims=True)).T"
            ),
            "these are the weights: no softmax yet.": "softmax(h_t @ h_s.T)",
        },
    ),
    Exercise(
        "luong.general",
        "general: h_t · (h_s W_a)",
        "Write the scores; vectors are rows, so that h_s W_a is h_s @ W_a.",
        "h_t: T n, h_s: S n, W_a: n n -> T S",
        "h_t @ (h_s @ W_a).T",
        {
            "W_a multiplies h_s, not h_t.": "h_t @ W_a @ h_s.T",
            "W_a is missing: this is dot.": "h_t @ h_s.T",
            "general has no tanh.": "h_t @ tanh(h_s @ W_a).T",
            "W_a multiplies h_s alone, not h_t as well.": "h_t @ W_a @ (h_s @ W_a).T",
        },
    ),
    Exercise(
        "luong.concat",
        "concat: v_a · tanh([h_t; h_s] W_a)",
        "Write the scores of one decoder state for every source position.",
        "h_t: n, h_s: S m, W_a: n+m k, v_a: k -> S",
        "tanh(h_t @ W_a[:len(h_t)] + h_s @ W_a[len(h_t):]) @ v_a",
        {
            "the order is [h_t; h_s]: W_a's first rows are h_t's.": (
                "tanh(h_t @ W_a[-len(h_t):] + h_s @ W_a[:-len(h_t)]) @ v_a"
            ),
            "tanh is missing.": "(h_t @ W_a[:len(h_t)] + h_s @ W_a[len(h_t):]) @ v_a",
            "h_t is missing.": "tanh(h_s @ W_a[len(h_t):]) @ v_a",
            "v_a is missing: the hidden units are weighted, not just added up.": (
                "tanh(h_t @ W_a[:len(h_t)] + h_s @ W_a[len(h_t):]).sum(-1)"
            ),
        },
    ),
    Exercise(
        "luong.location",
        "location: a_t = softmax(h_t W_a) (8)",
        "Write the weights of a source of S positions; W_a has room for S + L.",
        "h_t: n, W_a: n S+L, S: size S -> S",
        "softmax(h_t @ W_a[:, :S])",
        {
            "positions beyond the source have a part: cut first, then the softmax.": (
                "softmax(h_t @ W_a)[:S]"
            ),
            "a source of S positions uses the first S columns, not the last.": (
                "softmax(h_t @ W_a[:, -S:])"
            ),
            "the softmax is missing.": "h_t @ W_a[:, :S]",
        },
    ),
    Exercise(
        "luong.local_m",
        "local-m: p_t = t, inside the sentence",
        "Write p_0 … p_{T-1} of a source of S positions, which count from 0.",
        "T: size T, S: size S -> T",
        "minimum(arange(T), S - 1)",
        {
            "p_t leaves the sentence if the target is longer.": "arange(T)",
            "the last position is S - 1, not S.": "minimum(arange(T), S)",
            "positions count from 0: p_0 = 0.": "minimum(arange(T) + 1, S)",
            "p_t = t: it is not stretched to the source's length.": "arange(T) * S / T",
        },
    ),
    Exercise(
        "luong.local_p",
        "local-p: p_t = S σ(v_p · tanh(h_t W_p)) (9)",
        "Write p_t.",
        "h_t: n, W_p: n k, v_p: k, S: size S -> ",
        "S * sigmoid(tanh(h_t @ W_p) @ v_p)",
        {
            "σ is missing: 0 < p_t < S.": "S * (tanh(h_t @ W_p) @ v_p)",
            "the inner tanh is missing.": "S * sigmoid(h_t @ W_p @ v_p)",
            "the factor is S, not S - 1.": "(S - 1) * sigmoid(tanh(h_t @ W_p) @ v_p)",
            "S is missing: this is a share of the sentence, not a position.": (
                "sigmoid(tanh(h_t @ W_p) @ v_p)"
            ),
        },
    ),
    Exercise(
        "luong.gaussian",
        "… * exp(-(s - p_t)² / 2σ²), σ = D / 2 (10)",
        "Write the weights a after the Gaussian; D is a vector of one number.",
        "a: weights S, p_t: 1, D: gates 1 -> S",
        "a * exp(-2 * ((arange(len(a)) - p_t) / D) ** 2)",
        {
            "σ is D / 2, not D.": "a * exp(-((arange(len(a)) - p_t) / D) ** 2 / 2)",
            "the distance is not squared.": (
                "a * exp(-2 * abs(arange(len(a)) - p_t) / D ** 2)"
            ),
            "σ is squared: 2σ², not 2σ.": "a * exp(-(arange(len(a)) - p_t) ** 2 / D)",
            "the paper doesn't bring the weights back to a sum of 1.": (
                "a * exp(-2 * ((arange(len(a)) - p_t) / D) ** 2) / (a * exp(-2 * "
                "((arange(len(a)) - p_t) / D) ** 2)).sum()"
            ),
            "the Gaussian multiplies the weights a.": (
                "exp(-2 * ((arange(len(a)) - p_t) / D) ** 2)"
            ),
        },
    ),
]
