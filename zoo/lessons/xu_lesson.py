"""Exercises of Xu et al. 2015, Show, Attend and Tell."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import sigmoid

EXERCISES = [
    Exercise(
        "xu.gate",
        "β_t = σ(f_β(h_{t-1})), z_t = β_t Σ_i α_ti a_i",
        "Write z_t; f_β(h) is h · w + b, b a vector of one number.",
        {"h": "n", "w": "n", "b": "1", "alpha": "weights: S", "a": "S m"},
        "m",
        lambda h, w, b, alpha, a: sigmoid(h @ w + b) * (alpha @ a),
        {
            "β_t is missing.": lambda h, w, b, alpha, a: alpha @ a,
            "β_t is a gate between 0 and 1: σ is missing.": (
                lambda h, w, b, alpha, a: (h @ w + b) * (alpha @ a)
            ),
            "β_t multiplies the context, it isn't added.": (
                lambda h, w, b, alpha, a: sigmoid(h @ w + b) + alpha @ a
            ),
            "the positions have weights: Σ α_i a_i, not the plain sum.": (
                lambda h, w, b, alpha, a: sigmoid(h @ w + b) * a.sum(0)
            ),
        },
    ),
    Exercise(
        "xu.draw",
        "s_t ~ Multinoulli(α_t) (8), by the Gumbel-max trick",
        "Write the place that is drawn at each step; g is Gumbel noise.",
        {"alpha": "weights: T S", "g": "T S"},
        "T",
        lambda alpha, g: np.argmax(np.log(alpha) + g, axis=-1),
        {
            "the noise is added to log α, not to α.": (
                lambda alpha, g: np.argmax(alpha + g, axis=-1)
            ),
            "without the noise nothing is drawn: this is always the likeliest place.": (
                lambda alpha, g: np.argmax(alpha, axis=-1)
            ),
            "the noise is added, not multiplied by.": (
                lambda alpha, g: np.argmax(np.log(alpha) * g, axis=-1)
            ),
            "the largest is drawn, not the smallest.": (
                lambda alpha, g: np.argmin(np.log(alpha) + g, axis=-1)
            ),
        },
    ),
    Exercise(
        "xu.reinforce",
        "λ_r (log p(y, given s and a) - b) ∇ log p(s), λ_e ∇ H[s]",
        "Write the loss of one sentence, whose gradient is minus this. drawn is log "
        "p(s) and log_p is log p(y, given s and a). All but alpha have one number.",
        {
            "log_p": "1",
            "b": "1",
            "drawn": "1",
            "alpha": "weights: T S",
            "lambda_r": "gates: 1",
            "lambda_e": "gates: 1",
        },
        "1",
        lambda log_p, b, drawn, alpha, r, e: (
            -r * (log_p - b) * drawn + e * (alpha * np.log(alpha)).sum()
        ),
        {
            "a loss falls where the objective rises: the first term's sign is wrong.": (
                lambda log_p, b, drawn, alpha, r, e: (
                    r * (log_p - b) * drawn + e * (alpha * np.log(alpha)).sum()
                )
            ),
            "the entropy is to grow: its sign in the loss is wrong. H is -Σ α log α.": (
                lambda log_p, b, drawn, alpha, r, e: (
                    -r * (log_p - b) * drawn - e * (alpha * np.log(alpha)).sum()
                )
            ),
            "the baseline b is missing.": (
                lambda log_p, b, drawn, alpha, r, e: (
                    -r * log_p * drawn + e * (alpha * np.log(alpha)).sum()
                )
            ),
            "λ_r and λ_e have changed places.": (
                lambda log_p, b, drawn, alpha, r, e: (
                    -e * (log_p - b) * drawn + r * (alpha * np.log(alpha)).sum()
                )
            ),
            "the entropy is missing.": (
                lambda log_p, b, drawn, alpha, r, e: -r * (log_p - b) * drawn
            ),
        },
    ),
    Exercise(
        "xu.baseline",
        "b ← 0.9 b + 0.1 log p(y, given s and a)",
        "Write the new baseline of a batch of sentences' log p.",
        {"b": "1", "log_p": "B"},
        "1",
        lambda b, log_p: 0.9 * b + 0.1 * log_p.mean(),
        {
            "0.9 belongs to the old b, 0.1 to the new value.": (
                lambda b, log_p: 0.1 * b + 0.9 * log_p.mean()
            ),
            "a batch counts once: by the mean of its sentences, not their sum.": (
                lambda b, log_p: 0.9 * b + 0.1 * log_p.sum()
            ),
            "the old b is multiplied by 0.9.": lambda b, log_p: b + 0.1 * log_p.mean(),
        },
    ),
    Exercise(
        "xu.doubly_stochastic",
        "λ Σ_i (1 - Σ_t α_ti)² (14)",
        "Write the penalty with λ = 1.",
        {"alpha": "weights: T S"},
        "",
        lambda alpha: sum((1 - column.sum()) ** 2 for column in alpha.T),
        {
            "the inner sum goes over the steps t. Over i it is 1 by the softmax.": (
                lambda alpha: np.square(1 - alpha.sum(1)).sum()
            ),
            "the square is missing.": lambda alpha: (1 - alpha.sum(0)).sum(),
            "first the sum over t, then the square.": (
                lambda alpha: np.square(1 - alpha).sum()
            ),
            "the outer sum over i is no mean.": (
                lambda alpha: np.square(1 - alpha.sum(0)).mean()
            ),
            "(1 - Σ α)², not 1 - (Σ α)².": (
                lambda alpha: (1 - np.square(alpha.sum(0))).sum()
            ),
        },
    ),
    Exercise(
        "xu.start",
        "c_0, h_0 = f(mean_i a_i)",
        "Write h_0, where f is tanh of a product with W.",
        {"a": "S m", "W": "m n"},
        "n",
        lambda a, W: np.tanh(sum(a) / len(a) @ W),
        {
            "f reads the mean of the annotations, not their sum.": (
                lambda a, W: np.tanh(a.sum(0) @ W)
            ),
            "f reads the mean of the annotations, not the last one.": (
                lambda a, W: np.tanh(a[-1] @ W)
            ),
            "the mean comes before f: f(mean a), not mean f(a).": (
                lambda a, W: np.tanh(a @ W).mean(0)
            ),
            "the mean goes over the positions, and f follows: tanh is missing.": (
                lambda a, W: a.mean(0) @ W
            ),
        },
    ),
    Exercise(
        "xu.readout",
        "y_{t-1} E + h_t L_h + z_t L_z, then L_o (7)",
        "Write the logits; e is y_{t-1} E.",
        {"e": "m", "h": "n", "z": "k", "L_h": "n m", "L_z": "k m", "L_o": "m V"},
        "V",
        lambda e, h, z, L_h, L_z, L_o: (e + h @ L_h + z @ L_z) @ L_o,
        {
            "L_z z_t is missing.": lambda e, h, z, L_h, L_z, L_o: (e + h @ L_h) @ L_o,
            "y_{t-1} E is missing.": (
                lambda e, h, z, L_h, L_z, L_o: (h @ L_h + z @ L_z) @ L_o
            ),
            "L_h h_t is missing.": lambda e, h, z, L_h, L_z, L_o: (e + z @ L_z) @ L_o,
            "there is no tanh before L_o.": (
                lambda e, h, z, L_h, L_z, L_o: np.tanh(e + h @ L_h + z @ L_z) @ L_o
            ),
        },
    ),
]
