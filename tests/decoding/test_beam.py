import contextlib
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from tests.marks import once
from zoo.decoding import BeamSearch
from zoo.decoding.translate import compile_search
from zoo.models import Luong, LuongTranslator

START, END = 2, 3
VOCABULARY, LIMIT, SENTENCES, WIDTH = 5, 4, 10, 3
NODES = sum(VOCABULARY**depth for depth in range(LIMIT))  # prefixes that are read
# Hypotheses that end within the limit: a beam of as many places loses none.
ALL = sum((VOCABULARY - 1) ** depth for depth in range(LIMIT))
PENALTIES = [  # α, β, normalization, fewest tokens
    (0.0, 0.0, "gnmt", 0),
    (0.6, 0.0, "gnmt", 0),
    (1.0, 0.0, "gnmt", 0),
    (1.0, 0.2, "gnmt", 2),
    (0.0, 0.0, "plain", 3),
    (1.0, 0.0, "plain", 0),
    (0.7, 0.2, "plain", 3),
]
# The defaults and all of them under each backend, the others once.
VARIED = [p if i in (2, 6) else once(p) for i, p in enumerate(PENALTIES)]
SOURCES = np.array([[i + 1, 1, i % 2] for i in range(SENTENCES)], "int32")
LIMITS = np.array([LIMIT - i % LIMIT for i in range(SENTENCES)], "int32")
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
        return {"node": ops.full_like(memory, -1)}

    def step(self, token_ids, state, memory):
        self.steps += 1
        node = state["node"] * self.vocabulary + ops.cast(token_ids, "int32") + 1
        node = ops.where(state["node"] < 0, 0, node)
        # Hypotheses are rows of the state, not of what was encoded.
        assert memory.shape[0] == self.rows
        hypotheses = ops.shape(node)[0] // ops.shape(memory)[0]
        place = ops.repeat(memory, hypotheses) * NODES + ops.clip(node, 0, NODES - 1)
        logits = ops.take(self.logits, place, axis=0)
        return logits, {"node": node}, ops.take(self.weights, place, axis=0)

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


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def final_score(log_prob, length, coverage, real, alpha, beta, kind="gnmt"):
    """Wu et al. 2016, equation 14, with their length penalty or a plain one."""
    penalty = ((5 + length) / 6 if kind == "gnmt" else length) ** alpha
    covered = sum(
        np.log(min(max(c, 1e-10), 1.0))
        for c, r in zip(coverage, real, strict=True)
        if r
    )
    return log_prob / penalty + (beta * covered if beta else 0.0)


def exhaustive(follow, vocabulary, limit, real, alpha, beta, kind="gnmt", least=0):
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
            score = final_score(log_prob, length, coverage, real, alpha, beta, kind)
            found.append((score, hypothesis))
    return sorted(found, reverse=True)


def narrow(follow, vocabulary, limit, real, alpha, beta, beams, kind="gnmt", least=0):
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
        extensions.sort(key=lambda extension: -extension[0])
        live = []
        for log_prob, prefix, coverage in extensions[: beams - len(done)]:
            if prefix[-1] != END:
                live.append((prefix, log_prob, coverage))
                continue
            score = final_score(log_prob, step, coverage, real, alpha, beta, kind)
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


@pytest.fixture(scope="module")
def table():
    return Table()


# === Against exhaustive search ===


def search_of(beams, penalties, n_best):
    alpha, beta, kind, least = penalties
    return BeamSearch(beams, alpha, beta, n_best, kind, least)


@pytest.mark.parametrize("penalties", VARIED)
def test_a_wide_beam_finds_every_hypothesis_in_order(table, penalties):
    run = compile_search(table, search_of(ALL, penalties, ALL), LIMIT)
    for seed in range(2):
        ids, scores = run(SOURCES, LIMITS) if seed else run_filled(table, run)
        assert ids.shape == (SENTENCES, ALL, LIMIT) and scores.dtype == "float32"
        for row in range(SENTENCES):
            expected = exhaustive(
                table.follower(row), VOCABULARY, LIMITS[row], SOURCES[row], *penalties
            )
            count = check_row(ids[row], scores[row], expected)
            shortest = max(min(penalties[-1], LIMITS[row]) - 1, 0)
            lengths = range(shortest, LIMITS[row])
            assert count == sum((VOCABULARY - 1) ** length for length in lengths)
            assert (scores[row, count:] == NO_HYPOTHESIS).all()
            assert (ids[row, count:] == 0).all()
        table.fill(seed + 100)


def run_filled(table, run):
    table.fill(0)
    return run(SOURCES, LIMITS)


@pytest.mark.parametrize("n_best", [1, 3])
@pytest.mark.parametrize("penalties", [VARIED[i] for i in (0, 3, 5, 6)])
def test_stopping_early_changes_no_wanted_hypothesis(table, n_best, penalties):
    run = compile_search(table, search_of(ALL, penalties, n_best), LIMIT)
    for seed, scale in enumerate((0.5, 2.0, 5.0)):
        table.fill(seed, scale)
        ids, scores = run(SOURCES, LIMITS)
        for row in range(SENTENCES):
            follow = table.follower(row)
            expected = exhaustive(
                follow, VOCABULARY, LIMITS[row], SOURCES[row], *penalties
            )
            check_row(ids[row], scores[row], expected[:n_best])


@pytest.mark.parametrize("banned", [(), (1, 4)])
def test_prefixes_and_banned_words_leave_the_rest_as_it_was(table, banned):
    table.fill(1)
    prefix = np.zeros((SENTENCES, LIMIT), "int32")
    prefix[0, :2], prefix[1, :1], prefix[4, :1] = [4, 1], 2, 4  # room for 4 and 3
    search = BeamSearch(ALL, 1.0, 0.2, n_best=ALL, min_length=2, banned_ids=banned)
    ids, scores = compile_search(table, search, LIMIT, prefixed=True)(
        SOURCES, LIMITS, prefix
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
            if hypothesis[: len(begun)] == begun
            and not set(hypothesis[len(begun) :]) & set(banned)
        ]
        counts.append(check_row(ids[row], scores[row], expected))
        assert (scores[row, counts[-1] :] == NO_HYPOTHESIS).all()
    assert len(set(counts)) >= 3 and min(counts) > 0


@pytest.mark.parametrize(
    ("penalties", "n_best", "steps"),
    [
        ((1.0, 0.0, "gnmt", 0), 1, 1),
        once((1.0, 0.0, "plain", 0), 1, 1),
        once((1.0, 0.1, "gnmt", 0), 1, 1),
        ((0.5, 0.0, "plain", 3), 1, 3),
        ((0.0, 0.0, "gnmt", 0), 2, 2),
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
        ids, _ = search_of(3, penalties, n_best)(table, SOURCES, limits, 20)
    ids = ops.convert_to_numpy(ids)
    least = max(penalties[-1], 1)
    assert (ids[:, 0, least - 1] == END).all() and (ids[:, 0, least:] == 0).all()
    assert table.steps == steps


def test_it_stops_at_the_last_limit():
    table = Table().fill(0)
    table.logits.assign_sub(100.0 * (np.arange(VOCABULARY) == END))
    with eagerly():
        BeamSearch(2, 1.0)(table, SOURCES, np.minimum(LIMITS, 3), 50)
    assert table.steps == 3


def eagerly():
    """Lets `ops.while_loop` run its body step by step."""
    if keras.backend.backend() != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.disable_jit()


# === Against beam search in plain Python ===


@pytest.mark.parametrize("beams", [1, 2, 3])
@pytest.mark.parametrize("penalties", VARIED)
def test_a_narrow_beam_follows_the_definition(table, beams, penalties):
    run = compile_search(table, search_of(beams, penalties, beams), LIMIT)
    alpha, beta, *rest = penalties
    lengths = set()
    for seed, scale in enumerate((0.5, 1.0, 2.0, 5.0)):
        table.fill(seed, scale)
        ids, scores = run(SOURCES, LIMITS)
        for row in range(SENTENCES):
            follow = table.follower(row)
            expected = narrow(
                follow, VOCABULARY, LIMITS[row], SOURCES[row], alpha, beta, beams, *rest
            )
            count = check_row(ids[row], scores[row], expected)
            assert (scores[row, count:] == NO_HYPOTHESIS).all()
            lengths |= {len(hypothesis) for _, hypothesis in expected}
    assert lengths == {1, 2, 3, 4}  # the tables let rows end at all times


def test_the_definition_is_not_exhaustive_search():
    """Otherwise the tests above would not tell a narrow beam from a wide one."""
    table = Table().fill(0, scale=1.0)
    differs = [
        narrow(table.follower(row), VOCABULARY, LIMIT, SOURCES[row], 1.0, 0, 2)[0]
        != exhaustive(table.follower(row), VOCABULARY, LIMIT, SOURCES[row], 1.0, 0)[0]
        for row in range(SENTENCES)
    ]
    assert any(differs)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.0, 0.0), (0.6, 0.0), (2.0, 0.0), (1.0, 0.2), (0.0, 3.0)]
)
def test_beam_1_is_greedy_search_under_every_penalty(table, alpha, beta):
    table.fill(7)
    run = compile_search(table, BeamSearch(1, alpha, beta), LIMIT)
    ids, scores = run(SOURCES, LIMITS)
    for row in range(SENTENCES):
        follow = table.follower(row)
        words, log_prob, coverage = [], 0.0, 0.0
        while not words or words[-1] != END:
            log_probs, weights = follow(tuple(words))
            last = len(words) + 1 == LIMITS[row]
            words.append(END if last else int(np.argmax(log_probs)))
            log_prob += log_probs[words[-1]]
            coverage = coverage + weights
        score = final_score(log_prob, len(words), coverage, SOURCES[row], alpha, beta)
        check_row(ids[row], scores[row], [(score, words)])


def test_beam_1_with_a_prefix_and_banned_words(table):
    table.fill(7)
    prefix = np.zeros((SENTENCES, LIMIT), "int32")
    prefix[0, :2], prefix[1, :1], prefix[4, :1] = [4, 1], 2, 4  # room for 4 and 3
    banned = 1, 4
    search = BeamSearch(1, 1.0, min_length=2, banned_ids=banned)
    run = compile_search(table, search, LIMIT, prefixed=True)
    ids, scores = run(SOURCES, LIMITS, prefix)
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


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="unknown shapes are TensorFlow's"
)
@pytest.mark.parametrize("beams", [1, 2])
def test_a_model_may_lose_the_batch_that_is_known(table, beams):
    """A batch known to be 1, and logits of which only the vocabulary is known."""
    import tensorflow as tf

    class Losing(Table):
        def step(self, token_ids, state, memory):
            logits, state, weights = super().step(token_ids, state, memory)
            shape = [None, VOCABULARY]
            return tf.compat.v1.placeholder_with_default(logits, shape), state, weights

    losing = Losing().fill(3)
    limits = LIMITS[:1]
    expected = BeamSearch(beams)(table.fill(3), SOURCES[:1], limits, LIMIT)
    found = tf.function(
        lambda: BeamSearch(beams)(losing, tf.constant(SOURCES[:1]), limits, LIMIT)
    )()
    np.testing.assert_array_equal(found[0].numpy(), expected[0].numpy())
    np.testing.assert_allclose(found[1].numpy(), expected[1].numpy(), rtol=1e-6)


def test_a_finished_hypothesis_is_frozen():
    """By hand: [end] has log 0.6 for good, however sure the words after it are."""
    table = Table()
    logits = np.full((SENTENCES, NODES, VOCABULARY), -50.0, "float32")
    logits[:, 0, END], logits[:, 0, 4] = np.log(0.6), np.log(0.4)
    logits[:, 1 + 4, 1] = 0.0  # after 4 always 1
    logits[:, 1 + VOCABULARY * 5 + 1, END] = 0.0  # and then the end
    table.logits.assign(logits.reshape(-1, VOCABULARY))
    search = BeamSearch(2, 0.0, n_best=2)
    ids, scores = compile_search(table, search, LIMIT)(SOURCES, LIMITS * 0 + LIMIT)
    assert ids[0].tolist() == [[END, 0, 0, 0], [4, 1, END, 0]]
    np.testing.assert_allclose(scores[0], np.log([0.6, 0.4]), rtol=1e-5)


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


@pytest.mark.parametrize("beams", [1, 2, 4])
@pytest.mark.parametrize("end", [0.0, -5.0])
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


# === With a trained architecture's four methods ===


@pytest.fixture(scope="module")
def translator():
    keras.utils.set_random_seed(3)
    backbone = Luong(
        vocabulary_size=6,
        num_layers=2,
        hidden_dim=5,
        embedding_dim=3,
        window=4,
        dropout=0.0,
        initializer_range=1.5,
    )
    return LuongTranslator(backbone)


LUONG_SOURCES = np.array([[4, 5, 1], [5, 0, 0], [4, 4, 0]], "int32")
LUONG_LIMITS = np.array([3, 3, 2], "int32")
LUONG_ALL = 1 + 5 + 25


@pytest.fixture(scope="module")
def luong_answers(translator):
    """For each row, its answers to every prefix: the four methods and nothing else."""
    answers = [{}, {}, {}]
    memory = translator.encode(LUONG_SOURCES)
    state, prefixes = translator.start(memory), [()]
    for _ in range(LUONG_LIMITS.max()):
        last = [prefix[-1] if prefix else START for prefix in prefixes]
        words = np.array(last * 3, "int32")  # the prefixes of row 0, of row 1, ...
        logits, state, weights = translator.step(words, state, memory)
        logits, weights = (
            ops.convert_to_numpy(x).astype("float64").reshape(3, len(prefixes), -1)
            for x in (logits, weights)
        )
        for row in range(3):
            for k, prefix in enumerate(prefixes):
                answers[row][prefix] = log_softmax(logits[row, k]), weights[row, k]
        state = keras.tree.map_structure(lambda x: ops.repeat(x, 5, axis=0), state)
        prefixes = [(*p, w) for p in prefixes for w in (0, 1, 2, 4, 5)]
    return answers


@pytest.mark.parametrize(("alpha", "beta"), [once(0.0, 0.0), (0.6, 0.2)])
def test_luong_against_exhaustive_search(translator, luong_answers, alpha, beta):
    search = BeamSearch(LUONG_ALL, alpha, beta, n_best=LUONG_ALL)
    ids, scores = compile_search(translator, search, 3)(LUONG_SOURCES, LUONG_LIMITS)
    for row in range(3):
        follow = luong_answers[row].__getitem__
        limit, source = LUONG_LIMITS[row], LUONG_SOURCES[row]
        expected = exhaustive(follow, 6, limit, source, alpha, beta)
        check_row(ids[row], scores[row], expected, rtol=1e-4)


def test_neighbours_padding_and_width_change_nothing(translator):
    search = BeamSearch(3, 1.0, 0.2, n_best=3)
    run = compile_search(translator, search, 6)
    limits = np.array([6, 5, 4], "int32")
    ids, scores = run(LUONG_SOURCES, limits)
    padded, padded_scores = run(np.pad(LUONG_SOURCES, ((0, 0), (0, 2))), limits)
    np.testing.assert_array_equal(padded, ids)
    np.testing.assert_allclose(padded_scores, scores, rtol=1e-5)
    order = [2, 0, 1]
    turned, turned_scores = run(LUONG_SOURCES[order], limits[order])
    np.testing.assert_array_equal(turned, ids[order])
    np.testing.assert_allclose(turned_scores, scores[order], rtol=1e-5)
    wide = compile_search(translator, search, 8)
    for row in range(3):
        alone, alone_scores = wide(LUONG_SOURCES[row : row + 1], limits[row : row + 1])
        np.testing.assert_array_equal(alone[0, :, :6], ids[row])
        assert not alone[0, :, 6:].any()
        np.testing.assert_allclose(alone_scores[0], scores[row], rtol=1e-5)


def test_a_compiled_search_uses_the_weights_of_the_moment(translator):
    run = compile_search(translator, BeamSearch(1, 0.0), 6)
    limits = np.array([6, 5, 4], "int32")
    before = run(LUONG_SOURCES, limits)
    readout = translator.backbone.output_layer.kernel
    values = ops.convert_to_numpy(readout)
    readout.assign(values * 0)
    ids, scores = run(LUONG_SOURCES, limits)
    readout.assign(values)
    # Every word is as good as any other: the first of equals is word 0.
    wanted = [[0] * (limit - 1) + [END] + [0] * (6 - limit) for limit in limits]
    assert ids[:, 0].tolist() == wanted
    np.testing.assert_allclose(scores[:, 0], limits * np.log(1 / 6), rtol=1e-5)
    after = run(LUONG_SOURCES, limits)
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])


# === Arguments ===


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_size": 0}, "beam_size=0"),
        ({"beam_size": -2}, "beam_size=-2"),
        ({"beam_size": 2.0}, "beam_size=2.0"),
        ({"beam_size": True}, "beam_size=True"),
        ({"n_best": 0}, "n_best=0"),
        ({"n_best": 3, "beam_size": 2}, "n_best=3, beam_size=2"),
        ({"length_penalty": -0.1}, "-0.1"),
        ({"length_penalty": "1"}, "'1'"),
        ({"length_penalty": float("nan")}, "nan"),
        ({"length_penalty": float("inf")}, "inf"),
        ({"coverage_penalty": -1}, "-1"),
        ({"coverage_penalty": None}, "None"),
        ({"coverage_penalty": True}, "True"),
        ({"length_normalization": "wu"}, "length_normalization='wu'"),
        ({"min_length": -1}, "min_length=-1"),
        ({"min_length": 1.5}, "min_length=1.5"),
        ({"end_id": -1}, "end_id=-1"),
        ({"end_id": True}, "end_id=True"),
        ({"start_id": 2.7}, "start_id=2.7"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=f"Received.*{message}"):
        BeamSearch(**arguments)


def test_searches_share_a_program_when_their_arguments_are_equal():
    # Other numbers, but for 0, are other arguments of the same program.
    assert BeamSearch(3, 1).key() == BeamSearch(3, 0.5).key()
    several = [BeamSearch(3, 1, beta, min_length=m) for beta, m in ((0.1, 2), (2, 5))]
    assert len({search.key() for search in several}) == 1
    others = [BeamSearch(3, 1, 0.1), BeamSearch(3, 0), BeamSearch(4, 1)]
    others += [BeamSearch(3, 1, n_best=2), BeamSearch(3, 1, end_id=4)]
    others += [BeamSearch(3, 1, start_id=4), BeamSearch(3, 1, min_length=2)]
    others.append(BeamSearch(3, 1, length_normalization="plain"))
    others.append(BeamSearch(3, 1, banned_ids=[5]))
    assert len({search.key() for search in [BeamSearch(3, 1), *others]}) == 10
    for search in others:
        assert BeamSearch(**search.get_config()).key() == search.key()


def test_limits_and_steps_have_defaults_and_no_gradient_is_kept():
    model = Luong(9, num_layers=1, hidden_dim=8, embedding_dim=6, initializer_range=0.9)
    source = np.array([[4, 5, 6], [7, 0, 0]], "int32")
    search, limits = BeamSearch(2), np.array([16, 12], "int32")
    wanted = search(model, source, limits, 16)
    for found in (search(model, source), search(model, source, limits)):
        for got, own in zip(found, wanted, strict=True):
            # As arrays at once: under torch that fails where a gradient is kept.
            np.testing.assert_array_equal(np.asarray(got), np.asarray(own))
    ids, _ = BeamSearch(2, min_length=20)(model, source)
    assert ids.shape == (2, 2, 20)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        spec = tf.TensorSpec([None, None], "int32")
        with pytest.raises(ValueError, match="`steps` must be given.*steps=None"):
            tf.function(lambda ids: search(model, ids)).get_concrete_function(spec)
