"""Exercises of Bahdanau et al. 2015, Xu et al. 2015 and the LSTMN."""

from zoo.lessons.exercise import Exercise

EXERCISES = [
    Exercise(
        "bahdanau.start",
        "s_0 = tanh(←h_1 W_s)",
        "Write s_0; forward and backward hold the encoder's states of x_1 … x_S.",
        "forward: S n, backward: S n, W_s: n k -> k",
        "tanh(backward[0] @ W_s)",
        {
            "←h_1 is the backward state at the first word: it has read them all. The "
            "one at the last word has read one.": "tanh(backward[-1] @ W_s)",
            "s_0 reads the backward states.": "tanh(forward[-1] @ W_s)",
            "→h_1 has read one word only.": "tanh(forward[0] @ W_s)",
            "tanh is missing.": "backward[0] @ W_s",
        },
    ),
    Exercise(
        "bahdanau.score",
        "e_ij = v_a · tanh(s_{i-1} W_a + h_j U_a)",
        "Write the scores of all source positions for one decoder state s.",
        "s: n, h: S m, W_a: n k, U_a: m k, v_a: k -> S",
        "tanh(s @ W_a + h @ U_a) @ v_a",
        {
            "tanh is missing. Without it s W_a adds the same to every score, and the "
            "softmax doesn't see it.": "(s @ W_a + h @ U_a) @ v_a",
            "tanh comes after the sum: one tanh of s W_a + h_j U_a, not two.": (
                "(tanh(s @ W_a) + tanh(h @ U_a)) @ v_a"
            ),
            "v_a is outside tanh.": "tanh((s @ W_a + h @ U_a) @ v_a)",
            "v_a is missing: the hidden units are weighted, not just added up.": (
                "tanh(s @ W_a + h @ U_a).sum(-1)"
            ),
            "s_{i-1} W_a is missing: nobody asks.": "tanh(h @ U_a) @ v_a",
            "the hidden layer is tanh, not σ.": "sigmoid(s @ W_a + h @ U_a) @ v_a",
            "s W_a + h_j U_a is a sum.": "tanh(s @ W_a * (h @ U_a)) @ v_a",
        },
    ),
    Exercise(
        "bahdanau.context",
        "α_i = softmax(e_i), c_i = Σ_j α_ij h_j",
        "Write the contexts c_i of the scores e of several steps.",
        "e: T S, h: S m -> T m",
        "softmax(e) @ h",
        {
            "the softmax goes over the source positions j, not over the steps i.": (
                "softmax(e, axis=0) @ h"
            ),
            "exp(e) is not divided by its sum: weights must sum to 1.": "exp(e) @ h",
            "the scores go through exp before they are divided by their sum.": (
                "e / e.sum(-1, keepdims=True) @ h"
            ),
            "the softmax is missing.": "e @ h",
            "this is hard attention; c_i is a mean.": "h[e.argmax(-1)]",
            "the weights share one distribution: softmax, not σ.": "sigmoid(e) @ h",
        },
    ),
    Exercise(
        "bahdanau.query",
        "asked with s_{i-1}",
        "Write the states that the attention is asked with at the steps 1 … T; s_0 is "
        "the first state, s holds s_1 … s_T.",
        "s_0: n, s: T n -> T n",
        "concatenate([s_0[None], s[:-1]])",
        {
            "s_i is Luong's query. Bahdanau asks with the state before, s_{i-1}.": "s",
            "s_{i+1} doesn't exist yet.": "concatenate([s[1:], s_0[None]])",
            "s_0 is the first query alone.": "np.repeat(s_0[None], len(s), 0)",
        },
    ),
    Exercise(
        "bahdanau.candidate",
        "s_i = GRU([y_{i-1} E; c_i], s_{i-1})",
        "Write the candidate s~; W reads the word e and the context c, in this order, "
        "and r is the reset gate.",
        "e: m, c: k, s: n, r: gates n, W: m+k n, U: n n -> n",
        "tanh(e @ W[:len(e)] + c @ W[len(e):] + r * s @ U)",
        {
            "the word comes first, then the context: [y E; c].": (
                "tanh(concatenate([c, e]) @ W + r * s @ U)"
            ),
            "the context is missing.": "tanh(e @ W[:len(e)] + r * s @ U)",
            "r comes before U: (r * s) U, not r * (s U).": (
                "tanh(concatenate([e, c]) @ W + r * (s @ U))"
            ),
            "the reset gate is missing.": "tanh(concatenate([e, c]) @ W + s @ U)",
        },
    ),
    Exercise(
        "bahdanau.update",
        "s_i = (1 - z) * s_{i-1} + z * s~",
        "Write the new state s_i.",
        "z: gates n, s: n, s_tilde: n -> n",
        "(1 - z) * s + z * s_tilde",
        {
            "z takes the new state in this paper; z * s_{i-1} is Cho et al.'s.": (
                "z * s + (1 - z) * s_tilde"
            ),
            "the old state has the weight 1 - z.": "s + z * s_tilde",
        },
    ),
    Exercise(
        "bahdanau.readout",
        "t~ = s_{i-1} U_o + y_{i-1} E V_o + c_i C_o",
        "Write t~ of the step i; s_before is s_{i-1}, s_after is s_i.",
        "s_before: n, s_after: n, e: m, c: k, U_o: n j, V_o: m j, C_o: k j -> j",
        "s_before @ U_o + e @ V_o + c @ C_o",
        {
            "the readout sees s_{i-1}, the state before the step, not s_i.": (
                "s_after @ U_o + e @ V_o + c @ C_o"
            ),
            "C_o c_i is missing.": "s_before @ U_o + e @ V_o",
            "y_{i-1} E V_o is missing.": "s_before @ U_o + c @ C_o",
            "there is no tanh here.": "tanh(s_before @ U_o + e @ V_o + c @ C_o)",
        },
    ),
    Exercise(
        "bahdanau.maxout",
        "t_j = max(t~_{2j-1}, t~_{2j})",
        "Write t_1, t_2, …",
        "t_tilde: 2*j -> j",
        "maximum(t_tilde[0::2], t_tilde[1::2])",
        {
            "the pairs are neighbours, not the two halves.": (
                "maximum(t_tilde[:len(t_tilde) // 2], t_tilde[len(t_tilde) // 2:])"
            ),
            "the larger one is wanted.": "minimum(t_tilde[0::2], t_tilde[1::2])",
            "maxout takes one of the two, no sum.": "t_tilde[0::2] + t_tilde[1::2]",
            "it is the larger one with its sign, not the larger magnitude.": (
                "np.where(abs(t_tilde[0::2]) > abs(t_tilde[1::2]), abs(t_tilde[0::2]), "
                "abs(t_tilde[1::2]))"
            ),
        },
    ),
    Exercise(
        "xu.gate",
        "β_t = σ(f_β(h_{t-1})), z_t = β_t Σ_i α_ti a_i",
        "Write z_t; f_β(h) is h · w + b, b a vector of one number.",
        "h: n, w: n, b: 1, alpha: weights S, a: S m -> m",
        "sigmoid(h @ w + b) * (alpha @ a)",
        {
            "β_t is missing.": "alpha @ a",
            "β_t is a gate between 0 and 1: σ is missing.": "(h @ w + b) * (alpha @ a)",
            "β_t multiplies the context.": "sigmoid(h @ w + b) + alpha @ a",
            "the positions have weights: Σ α_i a_i, not the plain sum.": (
                "sigmoid(h @ w + b) * a.sum(0)"
            ),
        },
    ),
    Exercise(
        "xu.draw",
        "s_t ~ Multinoulli(α_t) (8), by the Gumbel-max trick",
        "Write the place that is drawn at each step; g is Gumbel noise.",
        "alpha: weights T S, g: T S -> T",
        "np.argmax(log(alpha) + g, axis=-1)",
        {
            "the noise is added to log α, not to α.": "np.argmax(alpha + g, axis=-1)",
            "without the noise nothing is drawn: this is always the likeliest place.": (
                "np.argmax(alpha, axis=-1)"
            ),
            "the noise is added to log α.": "np.argmax(log(alpha) * g, axis=-1)",
            "the largest is drawn.": "np.argmin(log(alpha) + g, axis=-1)",
        },
    ),
    Exercise(
        "xu.reinforce",
        "λ_r (log p(y, given s and a) - b) ∇ log p(s), λ_e ∇ H[s]",
        "Write the loss of one sentence, whose gradient is minus this. drawn is log "
        "p(s) and log_p is log p(y, given s and a). All but alpha have one number.",
        "log_p: 1, b: 1, drawn: 1, alpha: weights T S, lambda_r: gates 1, lambda_e: "
        "gates 1 -> 1",
        "-lambda_r * (log_p - b) * drawn + lambda_e * (alpha * log(alpha)).sum()",
        {
            "a loss falls where the objective rises: the first term's sign is wrong.": (
                "lambda_r * (log_p - b) * drawn + lambda_e * (alpha * log(alpha)).sum()"
            ),
            "the entropy is to grow: its sign in the loss is wrong. H is -Σ α log α.": (
                "-lambda_r * (log_p - b) * drawn - lambda_e * (alpha * "
                "log(alpha)).sum()"
            ),
            "the baseline b is missing.": (
                "-lambda_r * log_p * drawn + lambda_e * (alpha * log(alpha)).sum()"
            ),
            "λ_r and λ_e have changed places.": (
                "-lambda_e * (log_p - b) * drawn + lambda_r * (alpha * "
                "log(alpha)).sum()"
            ),
            "the entropy is missing.": "-lambda_r * (log_p - b) * drawn",
        },
    ),
    Exercise(
        "xu.baseline",
        "b ← 0.9 b + 0.1 log p(y, given s and a)",
        "Write the new baseline of a batch of sentences' log p.",
        "b: 1, log_p: B -> 1",
        "0.9 * b + 0.1 * log_p.mean()",
        {
            "0.9 belongs to the old b, not 0.1.": "0.1 * b + 0.9 * log_p.mean()",
            "a batch counts once: by the mean of its sentences, not their sum.": (
                "0.9 * b + 0.1 * log_p.sum()"
            ),
            "the old b is multiplied by 0.9.": "b + 0.1 * log_p.mean()",
        },
    ),
    Exercise(
        "xu.doubly_stochastic",
        "λ Σ_i (1 - Σ_t α_ti)² (14)",
        "Write the penalty with λ = 1.",
        "alpha: weights T S -> ",
        "((1 - alpha.sum(0)) ** 2).sum()",
        {
            "the inner sum goes over the steps t. Over i it is 1 by the softmax.": (
                "np.square(1 - alpha.sum(1)).sum()"
            ),
            "the square is missing.": "(1 - alpha.sum(0)).sum()",
            "first the sum over t, then the square.": "np.square(1 - alpha).sum()",
            "the outer sum over i is no mean.": "np.square(1 - alpha.sum(0)).mean()",
            "(1 - Σ α)², not 1 - (Σ α)².": "(1 - np.square(alpha.sum(0))).sum()",
        },
    ),
    Exercise(
        "xu.start",
        "c_0, h_0 = f(mean_i a_i)",
        "Write h_0, where f is tanh of a product with W.",
        "a: S m, W: m n -> n",
        "tanh(sum(a) / len(a) @ W)",
        {
            "f reads the mean of the annotations, not their sum.": "tanh(a.sum(0) @ W)",
            "f reads the mean of the annotations, not the last one.": "tanh(a[-1] @ W)",
            "the mean comes before f: f(mean a), not mean f(a).": "tanh(a @ W).mean(0)",
            "tanh is missing.": "a.mean(0) @ W",
        },
    ),
    Exercise(
        "xu.readout",
        "y_{t-1} E + h_t L_h + z_t L_z, then L_o (7)",
        "Write the logits; e is y_{t-1} E.",
        "e: m, h: n, z: k, L_h: n m, L_z: k m, L_o: m V -> V",
        "(e + h @ L_h + z @ L_z) @ L_o",
        {
            "L_z z_t is missing.": "(e + h @ L_h) @ L_o",
            "y_{t-1} E is missing.": "(h @ L_h + z @ L_z) @ L_o",
            "L_h h_t is missing.": "(e + z @ L_z) @ L_o",
            "there is no tanh before L_o.": "tanh(e + h @ L_h + z @ L_z) @ L_o",
        },
    ),
    Exercise(
        "lstmn.score",
        "a_i = v · tanh(h_i W_h + x_t W_x + h~_{t-1} W_h~)",
        "Write the scores of all earlier words; h holds their h_i.",
        "h: S n, x: m, h_tilde: n, W_h: n k, W_x: m k, W_h_tilde: n k, v: k -> S",
        "tanh(h @ W_h + x @ W_x + h_tilde @ W_h_tilde) @ v",
        {
            "h~_{t-1} W_h~ is missing.": "tanh(h @ W_h + x @ W_x) @ v",
            "x_t W_x is missing.": "tanh(h @ W_h + h_tilde @ W_h_tilde) @ v",
            "W_h and W_h~ have changed places.": (
                "tanh(h @ W_h_tilde + x @ W_x + h_tilde @ W_h) @ v"
            ),
            "tanh is missing.": "(h @ W_h + x @ W_x + h_tilde @ W_h_tilde) @ v",
        },
    ),
    Exercise(
        "lstmn.summary",
        "[h~_t; c~_t] = Σ_i softmax(a)_i [h_i; c_i]",
        "Write [h~_t; c~_t] of the tapes h and c.",
        "a: S, h: S n, c: S n -> 2*n",
        "concatenate([softmax(a) @ h, softmax(a) @ c])",
        {
            "the order is [h~; c~].": "concatenate([softmax(a) @ c, softmax(a) @ h])",
            "c has the same weights; this is the last c, as in an LSTM.": (
                "concatenate([softmax(a) @ h, c[-1]])"
            ),
            "this is an LSTM, which reads the last state; the LSTMN reads all.": (
                "concatenate([h[-1], c[-1]])"
            ),
            "the softmax is missing.": "concatenate([a @ h, a @ c])",
        },
    ),
    Exercise(
        "lstmn.gates",
        "i, f, o, ĉ of [h~_t; x_t] W",
        "Write the net inputs [h~_t; x_t] W; h is the tape, whose last row is h_{t-1}.",
        "h_tilde: n, x: m, h: S n, W: n+m 4*n -> 4*n",
        "h_tilde @ W[:len(h_tilde)] + x @ W[len(h_tilde):]",
        {
            "the order is [h~; x].": "concatenate([x, h_tilde]) @ W",
            "the gates read h~_t, not h_{t-1}.": "concatenate([h[-1], x]) @ W",
            "x_t is missing.": "h_tilde @ W[:len(h_tilde)]",
        },
    ),
    Exercise(
        "lstmn.fusion_gate",
        "deep fusion: r_t = σ([γ~_t; x_t] W_r)",
        "Write r_t.",
        "gamma: k, x: m, W_r: k+m n -> n",
        "sigmoid(gamma @ W_r[:len(gamma)] + x @ W_r[len(gamma):])",
        {
            "the order is [γ~; x].": "sigmoid(concatenate([x, gamma]) @ W_r)",
            "a gate is σ, not tanh.": "tanh(concatenate([gamma, x]) @ W_r)",
            "x_t is missing.": "sigmoid(gamma @ W_r[:len(gamma)])",
        },
    ),
    Exercise(
        "lstmn.cell",
        "c_t = r * α~ + f * c~ + i * ĉ",
        "Write c_t of the gates r, f and i; c_before is c_{t-1}.",
        "r: gates n, alpha: n, f: gates n, c_tilde: n, c_before: n, i: gates n, c_hat: "
        "n -> n",
        "r * alpha + f * c_tilde + i * c_hat",
        {
            "the LSTMN forgets from c~_t, the summary of all words, not c_{t-1}.": (
                "r * alpha + f * c_before + i * c_hat"
            ),
            "r * α~, the source's part, is missing.": "f * c_tilde + i * c_hat",
            "f and i have changed places.": "r * alpha + i * c_tilde + f * c_hat",
        },
    ),
    Exercise(
        "lstmn.output",
        "h_t = o * tanh(c_t)",
        "Write h_t of the gate o.",
        "o: gates n, c: n -> n",
        "o * tanh(c)",
        {
            "tanh is missing.": "o * c",
            "the gate is outside: o * tanh(c), not tanh(o * c).": "tanh(o * c)",
            "o is a gate's value already.": "sigmoid(o) * tanh(c)",
        },
    ),
    Exercise(
        "lstmn.skip",
        "skip connections: layer k + 1 reads [h_t; x_t]",
        "Write what layer k + 1 reads.",
        "h: n, x: m -> n+m",
        "concatenate([h, x])",
        {
            "the order is [h_t; x_t].": "concatenate([x, h])",
            "the words are missing: h_t alone is the stack without skips.": "h",
        },
    ),
]
