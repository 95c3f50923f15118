"""Prefixes, terms and repeats, against all hypotheses that are allowed."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding.reference import (
    ALL,
    END,
    LIMIT,
    LIMITS,
    NO_HYPOTHESIS,
    SENTENCES,
    SOURCES,
    VOCABULARY,
    Table,
    check_row,
    compile_search,
    exhaustive,
    log_softmax,
    narrow,
)
from zoo.decoding import BeamSearch
from zoo.serving.runtime.arrays import ArraySearch


@pytest.fixture(scope="module")
def table():
    return Table()


PREFIX = "prefix", "completions"


def beginnings(hypothesis, begun, completions):
    """Where what a prefix gives ends: after it, or before a completion of it."""
    for bit in range(len(begun) + 1):
        kept = len(begun) - bit
        same = hypothesis[:kept] == begun[:kept]
        free = not bit and not (completions & 1).any()
        if same and (free or completions[hypothesis[kept]] >> bit & 1):
            yield kept


@pytest.mark.parametrize("banned", [(), (1, 4)])
def test_prefixes_and_banned_words_leave_the_rest_as_it_was(table, banned):
    table.fill(1)
    prefix = np.zeros((SENTENCES, LIMIT), "int32")
    prefix[0, :2], prefix[1, :1], prefix[4, :1] = [4, 1], 2, 4  # room for 4 and 3
    completions = np.zeros((SENTENCES, VOCABULARY), "int32")
    completions[0, [1, 2]], completions[1, [0, 4]] = [0b100, 0b010], 0b10
    completions[4, [2, END]] = 1  # alone may follow the prefix
    search = BeamSearch(ALL, 1.0, 0.2, n_best=ALL, min_length=2, banned_ids=banned)
    ids, scores = compile_search(table, search, LIMIT, PREFIX)(
        SOURCES, LIMITS, prefix, completions
    )
    counts = []
    for row in range(SENTENCES):
        follow, begun = table.follower(row), prefix[row][prefix[row] > 0].tolist()
        penalties = 1.0, 0.2, "gnmt", 2
        expected = [
            (score, hypothesis)
            for score, hypothesis in exhaustive(
                follow, VOCABULARY, LIMITS[row], SOURCES[row], *penalties
            )
            if any(
                not set(hypothesis[kept:]) & set(banned)
                for kept in beginnings(hypothesis, begun, completions[row])
            )
        ]
        counts.append(check_row(ids[row], scores[row], expected))
        assert (scores[row, counts[-1] :] == NO_HYPOTHESIS).all()
    assert len(set(counts)) >= 3 and min(counts) > 0


TERMS = {0: [[4, 1]], 2: [[4], [1]], 4: [[1], [1]], 6: [[4, 4]]}  # of some sentences


def term_arrays():
    """`terms` and `firsts` of `TERMS`, with room for one token more."""
    terms, firsts = np.zeros((2, SENTENCES, 3), "int32")
    for row, phrases in TERMS.items():
        tokens = [token for phrase in phrases for token in phrase]
        first = [i * len(phrase) for i, phrase in enumerate(phrases) for _ in phrase]
        terms[row, : len(tokens)], firsts[row, : len(tokens)] = tokens, first
    return terms, firsts


def holds(hypothesis, phrases):
    """Whether a hypothesis has the phrases, each in a place of its own."""
    if not phrases:
        return True
    size = len(phrases[0])
    return any(
        hypothesis[i : i + size] == phrases[0]
        and holds([*hypothesis[:i], -1, *hypothesis[i + size :]], phrases[1:])
        for i in range(len(hypothesis))
    )


def test_hypotheses_hold_their_terms(table):
    """With places for all, those that hold them and no others; with few, the best has
    them, and where there are none nothing changes."""
    table.fill(5)
    limits = np.full(SENTENCES, LIMIT, "int32")
    search = BeamSearch(ALL, 1.0, 0.2, n_best=ALL)
    arrays = term_arrays()
    ids, scores = compile_search(table, search, LIMIT, ("terms", "firsts"))(
        SOURCES, limits, *arrays
    )
    for row in range(SENTENCES):
        every = exhaustive(
            table.follower(row), VOCABULARY, LIMIT, SOURCES[row], 1.0, 0.2
        )
        expected = [pair for pair in every if holds(pair[1], TERMS.get(row, []))]
        assert (row in TERMS) == (len(expected) < len(every))
        count = check_row(ids[row], scores[row], expected)
        assert (scores[row, count:] == NO_HYPOTHESIS).all()
    for beams in 1, 3:
        narrow_ones = compile_search(table, BeamSearch(beams), LIMIT)(SOURCES, limits)
        ids, scores = compile_search(
            table, BeamSearch(beams), LIMIT, ("terms", "firsts")
        )(SOURCES, limits, *arrays)
        for row in range(SENTENCES):
            if row in TERMS:
                assert holds(ids[row, 0].tolist(), TERMS[row])
            else:
                np.testing.assert_array_equal(ids[row, 0], narrow_ones[0][row, 0])
                np.testing.assert_allclose(scores[row, 0], narrow_ones[1][row, 0], 1e-5)


def test_beam_1_with_a_prefix_and_banned_words(table):
    table.fill(7)
    prefix = np.zeros((SENTENCES, LIMIT), "int32")
    prefix[0, :2], prefix[1, :1], prefix[4, :1] = [4, 1], 2, 4  # room for 4 and 3
    banned = 1, 4
    search = BeamSearch(1, 1.0, min_length=2, banned_ids=banned)
    run = compile_search(table, search, LIMIT, PREFIX)
    ids, scores = run(SOURCES, LIMITS, prefix, np.zeros((SENTENCES, 1)))
    for row in range(SENTENCES):
        follow = table.follower(row)
        words, log_prob = [], 0.0
        while not words or words[-1] != END:
            place, (log_probs, _) = len(words), follow(tuple(words))
            free = np.where(np.isin(np.arange(VOCABULARY), banned), -np.inf, log_probs)
            free[END] += -np.inf if place == 0 else 0.0
            last = place + 1 == LIMITS[row]
            given = END if last else prefix[row, place]
            words.append(int(given or np.argmax(free)))
            log_prob += log_probs[words[-1]]
        check_row(ids[row], scores[row], [(log_prob / ((5 + len(words)) / 6), words)])


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
    given = prefix, np.zeros((3, 1), "int32")
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
        search = BeamSearch(beams, n_best=beams, no_repeat_ngram_size=n)
        found = compile_search(keras_model, search, steps, PREFIX)(
            sources, limits, *given
        )
        search = ArraySearch(**search.get_config())
        other = search.program(Chain(search.ops, logits), steps, PREFIX)
        for ids, scores in found, other(sources, limits, *given):
            for row in range(3):
                rules = words, limits[row], [1], 1.0, 0.0
                if beams == 364:
                    every = exhaustive(follower(row), *rules)
                else:
                    every = narrow(follower(row), *rules, beams)
                expected = [pair for pair in every if pair[0] > -np.inf]
                count = check_row(ids[row], scores[row], expected)
                assert (scores[row, count:] == NO_HYPOTHESIS).all()
    # Terms may repeat what they must.
    terms = np.array([[1, 1]] * 3), np.array([[0, 0]] * 3)
    search = BeamSearch(2, no_repeat_ngram_size=n)
    run = compile_search(keras_model, search, steps, ("terms", "firsts"))
    assert all(
        holds(row.tolist(), [[1, 1]]) for row in run(sources, limits, *terms)[0][:, 0]
    )
