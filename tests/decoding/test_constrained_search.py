"""Prefixes, banned words, repeats, against all hypotheses that are allowed."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding.reference import (
    ALL,
    LIMIT,
    LIMITS,
    NO_HYPOTHESIS,
    RULES,
    SENTENCES,
    SOURCES,
    check_row,
    compile_search,
    exhaustive,
    log_softmax,
    narrow,
)
from zoo.decoding import BeamSearch
from zoo.serving.runtime.arrays import ArraySearch

PREFIX = np.zeros((SENTENCES, LIMIT), "int32")
PREFIX[0, :2], PREFIX[1, :1], PREFIX[4, :1] = [4, 1], 2, 4  # room for 4 and 3


@pytest.mark.parametrize("banned", [(), (1, 4)])
def test_prefixes_and_banned_words_leave_the_rest_as_it_was(table, banned):
    table.fill(1)
    search = BeamSearch(ALL, 1.0, 0.2, n_best=ALL, min_length=2, banned_ids=banned)
    run = compile_search(table, search, LIMIT)
    ids, scores = run(SOURCES, LIMITS, prefix=PREFIX)
    counts = []
    for row in range(SENTENCES):
        begun = PREFIX[row][PREFIX[row] > 0].tolist()
        every = exhaustive(table.follower(row), *RULES[row], 1.0, 0.2, 2)
        expected = [
            (score, words)
            for score, words in every
            if words[: len(begun)] == begun and not {*words[len(begun) :]} & {*banned}
        ]
        counts.append(check_row(ids[row], scores[row], expected))
        assert (scores[row, counts[-1] :] == NO_HYPOTHESIS).all()
    assert len(set(counts)) >= 3 and min(counts) > 0


class Chain:
    """A model whose logits (B, T, V, V) depend on the place and the last word."""

    def __init__(self, ops, logits):
        self.ops, self.logits, self.variables = ops, logits, [logits]

    def encode(self, source_ids):
        return source_ids[:, 0] - 1

    def start(self, memory):
        return memory * self.logits.shape[1]

    def step(self, token_ids, state, memory):
        size = self.logits.shape[-1]
        rows = self.ops.reshape(self.logits, (-1, size))
        return self.ops.take(rows, state * size + token_ids, axis=0), state + 1, None


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_ngram_comes_twice(n):
    """With places for all and with few, after a prefix with repeats, in NumPy too."""
    words, steps = 4, 7
    sources, limits = np.array([[1], [2], [3]], "int32"), np.array([6, 6, 5], "int32")
    logits = np.random.default_rng(8).normal(size=(3, steps, words, words))
    logits = logits.astype("float32")
    logits[:, :, 1, 1] += 3
    prefix = np.zeros((3, steps), "int32")
    prefix[1, :4] = 1
    keras_model = Chain(ops, keras.Variable(logits))

    def follower(row):
        def follow(begun):
            log_probs = log_softmax(
                logits[row, len(begun), begun[-1] if begun else 2].astype(float)
            )
            ngrams = {begun[i : i + n] for i in range(len(begun))}
            for word in range(words):
                forced = prefix[row, len(begun)]
                again = (*begun[len(begun) + 1 - n :], word) in ngrams and word
                if word != forced if forced else again:
                    log_probs[word] = -np.inf
            return log_probs, np.zeros(1)

        return follow

    for beams in 1, 3, 364:
        options = {"n_best": beams, "no_repeat_ngram_size": n}
        search = BeamSearch(beams, **options)
        found = search.find(keras_model, sources, limits, steps, prefix=prefix)
        search = ArraySearch(beams, **options)
        chain = Chain(search.ops, logits)
        other = search.find(chain, sources, limits, steps, prefix=prefix)
        for ids, scores in found, other:
            for row in range(3):
                rules = words, limits[row], [1], 1.0, 0.0
                if beams == 364:
                    every = exhaustive(follower(row), *rules)
                else:
                    every = narrow(follower(row), *rules, beams)
                expected = [pair for pair in every if pair[0] > -np.inf]
                count = check_row(ids[row], scores[row], expected)
                assert (scores[row, count:] == NO_HYPOTHESIS).all()
