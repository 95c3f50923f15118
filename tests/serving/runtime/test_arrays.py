import numpy as np
import pytest

from tests.decoding.reference import (
    ALL,
    END,
    LIMIT,
    LIMITS,
    NO_HYPOTHESIS,
    NODES,
    PENALTIES,
    RULES,
    SENTENCES,
    SOURCES,
    VOCABULARY,
    WIDTH,
    Table,
    check_row,
    exhaustive,
    log_softmax,
    narrow,
    search_of,
)
from zoo.decoding import BeamSearch
from zoo.serving.runtime.arrays import ArraySearch, top_k


class ArrayTable:
    """`tests.decoding.reference.Table` in NumPy: logits and weights of each prefix."""

    def __init__(self, seed, scale=2.0):
        rng = np.random.default_rng(seed)
        shape = (SENTENCES, NODES, VOCABULARY)
        self.logits = (rng.normal(size=shape) * scale).astype("float32")
        self.logits[..., END] += rng.uniform(-2, 2, size=(SENTENCES, 1))
        weights = rng.dirichlet(np.ones(WIDTH), size=(SENTENCES, NODES))
        weights *= (SOURCES != 0)[:, None]
        self.weights = weights.astype("float32")
        self.rows = []  # sentences in the batch at each step

    def encode(self, source_ids):
        return {"sentence": source_ids[:, 0] - 1}

    def start_for(self, memory, length):
        return self._state(np.full(len(memory["sentence"]), -1))

    def _state(self, node):
        # Twice, since a search picks the rows of caches elsewhere.
        return {"node": node, "cache": node[:, None, None]}

    def step(self, token_ids, state, memory):
        sentences = memory["sentence"]
        self.rows.append(len(sentences))
        before = state["node"]
        node = np.where(before < 0, 0, before * VOCABULARY + token_ids + 1)
        node = np.where(before == state["cache"][:, 0, 0], node, NODES - 1)
        rows = np.repeat(sentences, len(node) // len(sentences))
        place = rows, np.clip(node, 0, NODES - 1)
        return self.logits[place], self._state(node), self.weights[place]

    def follower(self, sentence):
        def follow(prefix):
            node = 0
            for token in prefix:
                node = node * VOCABULARY + token + 1
            logits = self.logits[sentence, node].astype("float64")
            return log_softmax(logits), self.weights[sentence, node].astype("float64")

        return follow


@pytest.mark.backend_free
@pytest.mark.parametrize("penalties", PENALTIES)
def test_a_wide_beam_finds_every_hypothesis_in_order(penalties):
    table = ArrayTable(seed=1)
    search = search_of(ArraySearch, ALL, penalties, ALL)
    ids, scores = search.find(table, SOURCES, LIMITS, LIMIT)
    assert scores.dtype == "float32"
    for row in range(SENTENCES):
        expected = exhaustive(table.follower(row), *RULES[row], *penalties)
        count = check_row(ids[row], scores[row], expected)
        assert (scores[row, count:] == NO_HYPOTHESIS).all()
        assert (ids[row, count:] == 0).all()


@pytest.mark.backend_free
@pytest.mark.parametrize("beams", [1, 2, 3])
@pytest.mark.parametrize("penalties", PENALTIES)
def test_a_narrow_beam_is_that_of_the_definition(beams, penalties):
    table = ArrayTable(seed=2, scale=1.0)
    search = search_of(ArraySearch, beams, penalties, beams)
    ids, scores = search.find(table, SOURCES, LIMITS, LIMIT)
    alpha, beta, least = penalties
    for row in range(SENTENCES):
        rules = *RULES[row], alpha, beta, beams, least
        expected = narrow(table.follower(row), *rules)
        check_row(ids[row], scores[row], expected)


@pytest.mark.parametrize("beams", [1, 4])
def test_ties_prefixes_and_banned_words_are_those_of_beam_search(beams):
    """All words but the end have one logit, so that most scores are exactly equal."""
    ours = ArrayTable(seed=3)
    ours.logits[:] = 0
    ours.logits[..., END] = np.arange(SENTENCES)[:, None] % 3
    table = Table()
    table.logits.assign(ours.logits.reshape(-1, VOCABULARY))
    table.weights.assign(ours.weights.reshape(-1, WIDTH))
    prefix = np.zeros((SENTENCES, LIMIT), "int32")
    prefix[0, :2], prefix[1, :1], prefix[4, :1] = [4, 1], 2, 4
    for options, given in ({}, {}), ({"banned_ids": [1]}, {"prefix": prefix}):
        arguments = beams, 0.0, 0.0, beams
        search = BeamSearch(*arguments, **options)
        wanted_ids, wanted = search.find(table, SOURCES, LIMITS, LIMIT, **given)
        search = ArraySearch(*arguments, **options)
        ids, scores = search.find(ours, SOURCES, LIMITS, LIMIT, **given)
        np.testing.assert_array_equal(ids, wanted_ids)
        np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-5)
        if beams > 1 and not given:  # there were ties indeed
            assert (np.diff(wanted[wanted > NO_HYPOTHESIS / 2]) == 0).any()


@pytest.mark.backend_free
def test_sentences_that_are_done_leave_the_batch():
    table = ArrayTable(seed=4)
    table.logits[:8, 0, END] += 50  # eight of ten end at once
    ArraySearch(2).find(table, SOURCES, np.full(SENTENCES, LIMIT), LIMIT)
    assert table.rows[0] == SENTENCES and table.rows[1] <= 2


@pytest.mark.backend_free
def test_the_padding_of_a_batch_is_not_read():
    table = ArrayTable(seed=5)
    ids, scores = ArraySearch(2).find(table, SOURCES, LIMITS, LIMIT)
    padded = np.pad(SOURCES, [(0, 6), (0, 5)])
    limits = np.pad(LIMITS, (0, 6), constant_values=1)
    found = ArraySearch(2).find(table, padded, limits, 9)
    np.testing.assert_array_equal(found[0], ids)
    np.testing.assert_array_equal(found[1], scores)


@pytest.mark.backend_free
@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_lower_index_comes_first_among_equals(k):
    values = np.random.default_rng(6).integers(0, 4, (3, 7, 31)).astype("float32")
    given = values.copy()
    largest, order = top_k(values, k)
    wanted = np.argsort(-values, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(largest, np.take_along_axis(values, wanted, -1))
    np.testing.assert_array_equal(values, given)


@pytest.mark.backend_free
def test_a_state_gets_room_as_it_grows():
    """The next word follows from the sum of a tape, one place longer than asked for."""
    rooms = []

    class Tape:
        def encode(self, source_ids):
            return {"ids": source_ids}

        def start_for(self, memory, length):
            rooms.append(length)
            shape = len(memory["ids"]), length + 1, 1
            return {"tape": np.zeros(shape, int), "place": np.zeros(shape[:1], int)}

        def step(self, token_ids, state, memory):
            tape, place = state["tape"].copy(), state["place"] + 1
            tape[:, place[0], 0] = token_ids
            logits = np.eye(9)[4 + tape.sum((1, 2)) % 5]
            return logits, {"tape": tape, "place": place}, None

    source, limits = np.array([[5, 6], [7, 0]]), np.array([50, 50])
    ids, _ = ArraySearch(1)(Tape(), source, limits, 50)
    words = [2]
    for _ in range(49):
        words.append(4 + sum(words) % 5)
    np.testing.assert_array_equal(ids[:, 0], [[*words[1:], 3]] * 2)
    assert rooms == [16, 32, 50]
