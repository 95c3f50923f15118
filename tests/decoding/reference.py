"""A model in a table, and beam search over it in plain Python."""

import itertools

import keras
import numpy as np
from keras import ops

from tests.marks import once

START, END = 2, 3
VOCABULARY, LIMIT, SENTENCES, WIDTH = 5, 4, 10, 3
NODES = sum(VOCABULARY**depth for depth in range(LIMIT))  # prefixes that are read
# Hypotheses that end within the limit: a beam of as many places loses none.
ALL = sum((VOCABULARY - 1) ** depth for depth in range(LIMIT))
PENALTIES = [  # α, β, fewest tokens
    (0.0, 0.0, 0),
    (0.6, 0.0, 0),
    (1.0, 0.0, 0),
    (1.0, 0.2, 2),
    (0.0, 0.0, 3),
]
# The defaults and all of them under each backend, the others once.
VARIED = [p if i in (2, 3) else once(p) for i, p in enumerate(PENALTIES)]
SOURCES = np.array([[i + 1, 1, i % 2] for i in range(SENTENCES)], "int32")
LIMITS = np.array([LIMIT - i % LIMIT for i in range(SENTENCES)], "int32")
# What `exhaustive` and `narrow` need to know of each sentence.
RULES = [(VOCABULARY, *pair) for pair in zip(LIMITS, SOURCES, strict=True)]
NO_HYPOTHESIS = -1e9


class Table:
    """A model that looks logits and attention weights up by (sentence, prefix).

    The first id of a source, less one, is the sentence's number. A prefix is a node of
    the tree of all prefixes, counted breadth first; -1 is before the start token.
    """

    def __init__(self, vocabulary=VOCABULARY):
        shape = (SENTENCES * NODES,)
        self.vocabulary = vocabulary
        self.logits = keras.Variable(np.zeros((*shape, vocabulary), "float32"))
        self.weights = keras.Variable(np.zeros((*shape, WIDTH), "float32"))
        self.variables = self.trainable_variables = [self.logits, self.weights]
        self.steps = 0

    def fill(self, seed, scale=2.0):
        rng = np.random.default_rng(seed)
        logits = rng.normal(size=(SENTENCES, NODES, self.vocabulary)) * scale
        # Some sentences end early, some late.
        logits[..., END] += rng.uniform(-2, 2, size=(SENTENCES, 1))
        weights = rng.dirichlet(np.ones(WIDTH), size=(SENTENCES, NODES))
        weights *= (SOURCES != 0)[:, None] * rng.uniform(0.3, 1, (SENTENCES, NODES, 1))
        # As a window does: some words get nothing, and may get nothing in the end.
        weights *= rng.uniform(size=weights.shape) > 0.3
        self.logits.assign(logits.reshape(-1, self.vocabulary))
        self.weights.assign(weights.reshape(-1, WIDTH))
        return self

    def encode(self, source_ids):
        self.rows = source_ids.shape[0]
        return ops.cast(source_ids[:, 0], "int32") - 1

    def start(self, memory):
        return self._state(ops.full_like(memory, -1))

    def _state(self, node):
        # Twice, since a search picks the rows of caches elsewhere.
        return {"node": node, "cache": node[:, None, None]}

    def step(self, token_ids, state, memory):
        self.steps += 1
        before = state["node"]
        node = before * self.vocabulary + ops.cast(token_ids, "int32") + 1
        node = ops.where(before < 0, 0, node)
        node = ops.where(before == state["cache"][:, 0, 0], node, NODES - 1)
        # Hypotheses are rows of the state, not of what was encoded.
        assert memory.shape[0] <= self.rows
        hypotheses = ops.shape(node)[0] // ops.shape(memory)[0]
        place = ops.repeat(memory, hypotheses) * NODES + ops.clip(node, 0, NODES - 1)
        logits = ops.take(self.logits, place, axis=0)
        return logits, self._state(node), ops.take(self.weights, place, axis=0)

    def follower(self, sentence):
        """prefix -> (log-probabilities, attention weights), as float64."""
        logits = ops.convert_to_numpy(self.logits).astype("float64")
        weights = ops.convert_to_numpy(self.weights).astype("float64")

        def follow(prefix):
            node = 0
            for token in prefix:
                node = node * self.vocabulary + token + 1
            place = sentence * NODES + node
            return log_softmax(logits[place]), weights[place]

        return follow


def search_of(cls, beams, penalties, n_best):
    alpha, beta, least = penalties
    return cls(beams, alpha, beta, n_best, least)


def compile_search(model, search, steps):
    """The search as a function of a batch and its limits, and of `given`, if any."""

    def run(source, limits, **given):
        return search.find(model, source, limits, steps, **given)

    return run


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def final_score(log_prob, length, coverage, real, alpha, beta):
    """Wu et al. 2016, equation 14."""
    penalty = ((5 + length) / 6) ** alpha
    covered = sum(
        np.log(min(max(c, 1e-10), 1.0))
        for c, r in zip(coverage, real, strict=True)
        if r
    )
    return log_prob / penalty + (beta * covered if beta else 0.0)


def exhaustive(follow, vocabulary, limit, real, alpha, beta, least=0):
    """All hypotheses of at most `limit` tokens, the end included, best first; of at
    least `least` where the limit lets them."""
    words = [w for w in range(vocabulary) if w != END]
    found = []
    for length in range(max(1, min(least, limit)), limit + 1):
        for body in itertools.product(words, repeat=length - 1):
            hypothesis, log_prob, coverage = [*body, END], 0.0, 0.0
            for position, token in enumerate(hypothesis):
                log_probs, weights = follow(tuple(hypothesis[:position]))
                log_prob += log_probs[token]
                coverage = coverage + weights
            score = final_score(log_prob, length, coverage, real, alpha, beta)
            found.append((score, hypothesis))
    return sorted(found, reverse=True)


def narrow(follow, vocabulary, limit, real, alpha, beta, beams, least=0):
    """Beam search as `BeamSearch` defines it, without stopping early."""
    words = [w for w in range(vocabulary) if w != END]
    live, done = [((), 0.0, 0.0)], []
    for step in range(1, limit + 1):
        if step == limit:
            allowed = [END]
        else:
            allowed = words if step < least else range(vocabulary)
        extensions = []
        for prefix, log_prob, coverage in live:
            log_probs, weights = follow(prefix)
            for token in allowed:
                total = log_prob + log_probs[token]
                extensions.append((total, (*prefix, token), coverage + weights))
        extensions = [x for x in extensions if x[0] > -np.inf]
        extensions.sort(key=lambda extension: -extension[0])
        live = []
        for log_prob, prefix, coverage in extensions[: beams - len(done)]:
            if prefix[-1] != END:
                live.append((prefix, log_prob, coverage))
                continue
            score = final_score(log_prob, step, coverage, real, alpha, beta)
            done.append((score, list(prefix)))
    return sorted(done, key=lambda hypothesis: -hypothesis[0])


def check_row(ids, scores, expected, rtol=1e-5):
    """`ids (K, steps)` and `scores (K,)` hold the expected hypotheses in their order.

    Returns how many there were.
    """
    for place, (score, hypothesis) in enumerate(expected):
        np.testing.assert_allclose(scores[place], score, rtol=rtol, atol=1e-5)
        pads = [0] * (ids.shape[1] - len(hypothesis))
        assert ids[place].tolist() == [*hypothesis, *pads], place
    return len(expected)
