"""Exercises of decoding: penalties (Wu et al. 2016) and ensembles."""

import numpy as np

from zoo.lessons.exercise import Exercise
from zoo.lessons.functions import softmax

EXERCISES = [
    Exercise(
        "beam.length_penalty",
        "s(Y, X) = log P(Y|X) / lp(Y), lp(Y) = ((5 + |Y|) / 6)^α",
        "Write the scores of hypotheses of L = |Y| pieces; alpha is a vector of one "
        "number.",
        {"log_p": "K", "L": "ids<n: K", "alpha": "gates: 1"},
        "K",
        lambda log_p, L, alpha: log_p * (6 / (5 + L)) ** alpha,
        {
            "log P is divided by lp, not multiplied: it is negative, and a long "
            "hypothesis would lose more.": (
                lambda log_p, L, alpha: log_p * ((5 + L) / 6) ** alpha
            ),
            "the 6 is missing: lp must be 1 for a single piece.": (
                lambda log_p, L, alpha: log_p / (5 + L) ** alpha
            ),
            "α is an exponent, not a factor.": (
                lambda log_p, L, alpha: log_p / (alpha * (5 + L) / 6)
            ),
            "the exponent α is missing.": (
                lambda log_p, L, alpha: log_p / ((5 + L) / 6)
            ),
        },
    ),
    Exercise(
        "beam.coverage",
        "cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))",
        "Write the coverage penalty with β = 1; a has a row for each target piece j "
        "and a column for each source piece i.",
        {"a": "weights: T S"},
        "",
        lambda a: np.sum(np.log(np.minimum(a.sum(0), 1))),
        {
            "the inner sum goes over the target's pieces: over the source's it is 1.": (
                lambda a: np.sum(np.log(np.minimum(a.sum(1), 1)))
            ),
            "min(…, 1) is missing: a piece that is seen twice gains nothing.": (
                lambda a: np.sum(np.log(a.sum(0)))
            ),
            "min comes after the sum over j.": (
                lambda a: np.sum(np.log(np.minimum(a, 1)))
            ),
            "the logarithm is missing.": lambda a: np.sum(np.minimum(a.sum(0), 1)),
        },
    ),
    Exercise(
        "beam.ensemble",
        "p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)",
        "Write the log-probabilities of an ensemble, from its members' logits.",
        {"logits": "M V"},
        "V",
        lambda logits: np.log(softmax(logits).mean(0)),
        {
            "probabilities are averaged, not their logarithms.": (
                lambda logits: np.log(softmax(logits)).mean(0)
            ),
            "probabilities are averaged, not logits: each softmax comes first.": (
                lambda logits: np.log(softmax(logits.mean(0)))
            ),
            "the members are averaged, not added: divide by M.": (
                lambda logits: np.log(softmax(logits).sum(0))
            ),
            "log-probabilities are wanted; these are probabilities.": (
                lambda logits: softmax(logits).mean(0)
            ),
            "the softmax goes over the words, not over the members.": (
                lambda logits: np.log(softmax(logits, axis=0).mean(0))
            ),
        },
    ),
]
