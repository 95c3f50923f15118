"""Beam search against exhaustive search, and against its definition."""

import contextlib
from unittest import mock

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
    NODES,
    RULES,
    SENTENCES,
    SOURCES,
    VARIED,
    VOCABULARY,
    WIDTH,
    Table,
    check_row,
    compile_search,
    exhaustive,
    log_softmax,
    narrow,
    search_of,
)
from tests.marks import once
from zoo.decoding import BeamSearch

# === Against exhaustive search ===


@pytest.mark.parametrize("penalties", VARIED)
def test_a_wide_beam_finds_every_hypothesis_in_order(table, penalties):
    run = compile_search(table, search_of(BeamSearch, ALL, penalties, ALL), LIMIT)
    for seed in (0, 100):
        table.fill(seed)
        ids, scores = run(SOURCES, LIMITS)
        assert ids.shape == (SENTENCES, ALL, LIMIT) and scores.dtype == "float32"
        for row in range(SENTENCES):
            expected = exhaustive(table.follower(row), *RULES[row], *penalties)
            count = check_row(ids[row], scores[row], expected)
            shortest = max(min(penalties[-1], LIMITS[row]) - 1, 0)
            lengths = range(shortest, LIMITS[row])
            assert count == sum((VOCABULARY - 1) ** length for length in lengths)
            assert (scores[row, count:] == NO_HYPOTHESIS).all()
            assert (ids[row, count:] == 0).all()


@pytest.mark.parametrize("n_best", [once(1), 3])
@pytest.mark.parametrize("penalties", [VARIED[i] for i in (0, 3)])
def test_stopping_early_changes_no_wanted_hypothesis(table, n_best, penalties):
    run = compile_search(table, search_of(BeamSearch, ALL, penalties, n_best), LIMIT)
    for seed, scale in enumerate((0.5, 2.0, 5.0)):
        table.fill(seed, scale)
        ids, scores = run(SOURCES, LIMITS)
        for row in range(SENTENCES):
            expected = exhaustive(table.follower(row), *RULES[row], *penalties)
            check_row(ids[row], scores[row], expected[:n_best])


@pytest.mark.parametrize(
    ("penalties", "n_best", "steps"),
    [
        ((1.0, 0.0, 0), 1, 1),
        once((1.0, 0.1, 0), 1, 1),
        ((0.5, 0.0, 3), 1, 3),
        ((0.0, 0.0, 0), 2, 2),
    ],
)
def test_it_stops_when_nothing_better_can_come(penalties, n_best, steps):
    table = Table()
    table.fill(0)
    logits = np.zeros((SENTENCES * NODES, VOCABULARY), "float32")
    logits[:, END] = 400.0
    table.logits.assign(logits)
    limits = np.full(SENTENCES, 20, "int32")
    with eagerly():
        ids, _ = search_of(BeamSearch, 3, penalties, n_best)(table, SOURCES, limits, 20)
    ids = ops.convert_to_numpy(ids)
    least = max(penalties[-1], 1)
    assert (ids[:, 0, least - 1] == END).all() and (ids[:, 0, least:] == 0).all()
    assert table.steps == steps


def eagerly():
    """Lets the search run its steps one by one."""
    if keras.backend.backend() == "torch":
        return mock.patch("zoo.decoding.beam.can_trace", lambda model: False)
    if keras.backend.backend() != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.disable_jit()


# === Against beam search in plain Python ===


@pytest.mark.parametrize("beams", [1, once(2), 3])
@pytest.mark.parametrize("penalties", VARIED)
def test_a_narrow_beam_follows_the_definition(table, beams, penalties):
    run = compile_search(table, search_of(BeamSearch, beams, penalties, beams), LIMIT)
    alpha, beta, *rest = penalties
    lengths = set()
    for seed, scale in enumerate((0.5, 1.0, 2.0, 5.0)):
        table.fill(seed, scale)
        ids, scores = run(SOURCES, LIMITS)
        for row in range(SENTENCES):
            rules = *RULES[row], alpha, beta, beams, *rest
            expected = narrow(table.follower(row), *rules)
            count = check_row(ids[row], scores[row], expected)
            assert (scores[row, count:] == NO_HYPOTHESIS).all()
            lengths |= {len(hypothesis) for _, hypothesis in expected}
    assert lengths == {1, 2, 3, 4}  # the tables let rows end at all times


def test_the_hardest_penalty_loses_no_hypothesis(table):
    table.fill(3)
    run = compile_search(table, BeamSearch(3, coverage_penalty=1e20, n_best=3), LIMIT)
    ids, scores = run(SOURCES, LIMITS)
    assert (ids == END).any(axis=-1)[LIMITS > 1].all()
    assert (scores[LIMITS > 1] > NO_HYPOTHESIS).all()


class Constant:
    """A model of the same logits at every step."""

    variables = ()

    def __init__(self, logits):
        self.logits = np.array(logits, "float32")[None]

    def encode(self, source_ids):
        return source_ids

    def start(self, memory):
        return {"unused": ops.cast(memory[:, :1], "float32")}

    def step(self, token_ids, state, memory):
        rows = ops.shape(token_ids)[0]
        weights = ops.ones((rows, WIDTH), dtype="float32")
        return ops.tile(self.logits, (rows, 1)), state, weights


@pytest.mark.parametrize("beams", [1, once(2), 4])
@pytest.mark.parametrize("end", [0.0, once(-5.0)])
def test_of_equals_the_earlier_hypothesis_and_the_lower_id(beams, end):
    """Where half of the words are as good as each other, and the end is or is not."""
    logits = np.where(np.arange(50) % 3, 0.0, -5.0)
    logits[END] = end
    model = Constant(logits)
    expected = narrow(
        lambda prefix: (log_softmax(logits), np.ones(WIDTH)),
        *(50, LIMIT, SOURCES[0], 0.0, 0.0, beams),
    )
    run = compile_search(model, BeamSearch(beams, 0.0, n_best=beams), LIMIT)
    ids, scores = run(SOURCES[:2], np.array([LIMIT, LIMIT], "int32"))
    for row in range(2):
        assert check_row(ids[row], scores[row], expected) == beams


class Turned(Table):
    """The same model in a vocabulary where the end token and word 4 change places, and
    whose start token is word 1."""

    turn = np.array([0, 1, 2, 4, END], "int32")

    def step(self, token_ids, state, memory):
        first = state["node"] < 0
        words = ops.take(self.turn, ops.cast(token_ids, "int32"))
        logits, state, weights = super().step(words, state, memory)
        # Started otherwise, it would say something else.
        wrong = ops.logical_and(first, ops.not_equal(token_ids, 1))
        logits = ops.where(wrong[:, None], -logits, logits)
        return ops.take(logits, self.turn, axis=-1), state, weights


def test_a_vocabulary_of_ones_own(table):
    table.fill(4)
    ids, scores = compile_search(table, BeamSearch(3), LIMIT)(SOURCES, LIMITS)
    turned = Turned().fill(4)
    search = BeamSearch(3, start_id=1, end_id=4)
    got, got_scores = compile_search(turned, search, LIMIT)(SOURCES, LIMITS)
    np.testing.assert_array_equal(Turned.turn[got], ids)
    np.testing.assert_allclose(got_scores, scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("beams", [1, 2])
def test_logits_that_are_not_finite_give_no_hypothesis(beams, value):
    table = Table()
    table.logits.assign(np.full((SENTENCES * NODES, VOCABULARY), value))
    _, scores = BeamSearch(beams)(table, SOURCES, LIMITS, LIMIT)
    assert (ops.convert_to_numpy(scores)[0] == NO_HYPOTHESIS).all()
