"""Prefixes and terms, against all hypotheses that hold them."""

import numpy as np
import pytest

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
)
from zoo.decoding import BeamSearch


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
