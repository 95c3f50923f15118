"""One step of beam search, as functions of a `BeamState`. Imports no Keras.

Arrays are of any library: the search's `ops` has its functions.

Shapes: B sentences of K hypotheses each, S source positions, T steps, V words. A
missing hypothesis has the score `LOW`.
"""

from typing import Any, NamedTuple

import numpy as np

from zoo.backend import Tensor
from zoo.ids import PAD_ID

LOW = -1e9  # the score of a missing hypothesis
_UNCOVERED = 1e-10  # minimum attention of a source token


class BeamState(NamedTuple):
    """The hypotheses of a batch after some steps."""

    step: Any  # number of steps made, int ()
    # The model's, a nested structure of (B * K, ...). Caches, arrays of more than two
    # axes, have the rows of the hypotheses before the last step.
    state: Any
    parents: Any  # which of those the live ones extend, int (B, K); () with a beam of 1
    tokens: Any  # the last token of each hypothesis, int (B * K,)
    ids: Any  # the tokens of the live hypotheses, int (B, K, T)
    live: Any  # their log-probabilities, `LOW` if missing, (B, K)
    done_ids: Any  # of the finished ones, oldest first, int (B, K, T)
    done: Any  # their scores s(Y, X), `LOW` if missing, (B, K)
    coverage: Any  # Σ_j a_ij of the live ones, (B, K, S); () without the penalty


class SearchConstants(NamedTuple):
    """The constants of the search over a batch."""

    limits: Any  # maximum length of each translation, int (B, 1)
    real: Any  # 1 where the source is not padding, (B, 1, S); None without the penalty
    penalties: Any  # of length and coverage, (2,)
    mildest: Any  # lp(Y) of a translation at its limit, (B, 1)
    rank: Any  # the places of a beam, int (1, K)
    rows: Any  # the row of each sentence's first hypothesis, int (B, 1)
    places: Any  # the places of a translation, int (1, 1, T)
    memory: Any = None  # the model's
    prefix: Any = None  # given tokens, 0 where a place is free, int (B, T)


def step(
    search: Any, model: Any, beam: BeamState, constants: SearchConstants
) -> BeamState:
    """Returns the `BeamState` after one more step of a `BeamSearch`."""
    ops, rows = search.ops, constants.rows
    logits, state, weights = _run_model(search, model, beam, constants)
    scores, words, parents = extend(search, logits, beam, constants)
    # Finished hypotheses keep their places, which the beam loses.
    finished = ops.sum(ops.cast(beam.done > LOW / 2, "int32"), axis=1, keepdims=True)
    free = constants.rank < search.beam_size - finished
    valid = ops.logical_and(free, scores > LOW / 2)
    words = ops.where(valid, words, PAD_ID)
    ends = ops.logical_and(valid, words == search.end_id)
    here = constants.places == beam.step
    ids = ops.where(here, words[..., None], _pick(ops, beam.ids, parents, rows))
    coverage = beam.coverage
    if search.coverage_penalty:
        weights = ops.cast(ops.reshape(weights, ops.shape(coverage)), "float32")
        coverage = _pick(ops, coverage + weights, parents, rows)
    length = ops.cast(beam.step + 1, "float32")
    ranked = _score(search, scores, length, coverage, constants)
    done_ids, done = _finish(search, beam, ends, ids, ranked, finished, constants)
    alive = ops.logical_and(valid, ops.logical_not(ends))
    live = _prune(search, ops.where(alive, scores, LOW), done, constants)
    state = search.map_structure(
        lambda x: x if _is_cache(x) else _pick_rows(ops, x, parents, rows), state
    )
    tokens = ops.reshape(words, (-1,))
    after = state, parents, tokens, ids, live, done_ids, done, coverage
    return BeamState(beam.step + 1, *after)


def _run_model(search, model, beam, constants):
    """Returns the model's logits, state and weights, without gradients.

    Cache rows are gathered here rather than at the end of the last step, so that a
    compiler can make one pass of it and of the model's writing into the cache.
    """
    ops, source = search.ops, (beam.parents, constants.rows)
    state = search.map_structure(
        lambda x: _pick_rows(ops, x, *source) if _is_cache(x) else x, beam.state
    )
    outputs = model.step(beam.tokens, state, constants.memory)
    # Under torch, a search outside `no_grad` would keep every step for gradients.
    return search.map_structure(
        lambda x: None if x is None else ops.stop_gradient(x), outputs
    )


def extend(
    search: Any, logits: Tensor, beam: BeamState, constants: SearchConstants
) -> tuple[Tensor, Tensor, Any]:
    """Extends each hypothesis by each word, and keeps the K best of a sentence.

        log P(y_1 … y_t | X) = log P(y_1 … y_t-1 | X) + log p(y_t | y_1 … y_t-1, X)

    Returns:
        `(scores, words, parents)`: log-probabilities, the new words and the hypotheses
        that they extend (() with a beam of 1), each (B, K), best first.
    """
    ops, beams = search.ops, search.beam_size
    batch = ops.shape(beam.live)[0]
    logits = ops.cast(logits, "float32")
    total = search.log_sum_exp(logits)
    # Other words do not get the probability of words that are ruled out.
    best, words = candidates(search, logits, beam, constants)
    width = best.shape[-1]
    # In the batch's shape, which a user's model may not keep.
    log_probs = ops.reshape(best - total, (batch, beams, width)) + beam.live[..., None]
    flat = ops.reshape(log_probs, (batch, beams * width))
    words = ops.reshape(words, (batch, beams * width))
    if beams == 1:  # nothing to choose from
        return flat, words, ()
    scores, picks = search.top_k(flat, beams)  # (B, K)
    picks = ops.cast(picks, "int32")
    return scores, ops.take_along_axis(words, picks, axis=1), picks // width


def candidates(
    search: Any, logits: Tensor, beam: BeamState, constants: SearchConstants
) -> tuple[Tensor, Tensor]:
    """Returns logits and ids `(B * K, k)` of the best allowed words per hypothesis.

    A single top-k over beams times vocabulary would be slow under XLA.
    """
    ops, beams, vocabulary = search.ops, search.beam_size, logits.shape[-1]
    width = min(beams, vocabulary)
    best, words = search.top_k(_allowed(search, logits, beam, constants), width)
    # At its limit a sentence takes the end token.
    full = beam.step + 1 >= constants.limits  # (B, 1)
    if beams > 1:
        full = ops.repeat(full, beams, axis=0)  # (B * K, 1)
    first = ops.arange(width, dtype="int32")[None] == 0
    end = ops.where(first, logits[:, search.end_id : search.end_id + 1], LOW)
    words = ops.where(full, search.end_id, ops.cast(words, "int32"))
    return ops.where(full, end, best), words


def _allowed(search, logits, beam, constants):
    """Returns logits (B * K, V) with `LOW` for words that may not come next."""
    ops, vocabulary = search.ops, logits.shape[-1]
    words = ops.arange(vocabulary, dtype="int32")[None]
    free = logits
    if search.banned_ids:
        banned = np.isin(np.arange(vocabulary), search.banned_ids)
        free = ops.where(banned[None], LOW, free)
    if search.min_length:
        early = beam.step + 1 < search.min_length
        free = ops.where(ops.logical_and(words == search.end_id, early), LOW, free)
    if search.no_repeat_ngram_size:
        free = ops.where(_repeats(search, beam, constants, vocabulary), LOW, free)
    if constants.prefix is not None:
        given = ops.take(constants.prefix, ops.reshape(beam.step, (1,)), axis=1)
        given = ops.repeat(given, search.beam_size, axis=0)  # (B * K, 1)
        begun = ops.where(words == given, logits, LOW)
        free = ops.where(given == PAD_ID, free, begun)
    return free


def _repeats(search, beam, constants, vocabulary):
    """Returns which words (B * K, V) but the end and padding would repeat an n-gram."""
    ops, ids, places = search.ops, beam.ids, constants.places
    before = search.no_repeat_ngram_size - 1
    repeats = ops.logical_and(places >= before, places < beam.step)  # (1, 1, T)
    kept = ops.logical_or(ids == PAD_ID, ids == search.end_id)
    repeats = ops.logical_and(repeats, ops.logical_not(kept))  # (B, K, T)
    for back in range(1, min(before, places.shape[-1]) + 1):
        shifted = ops.pad(ids, [(0, 0), (0, 0), (back, 0)])[..., :-back]
        last = ops.reshape(ops.maximum(beam.step - back, 0), (1,))
        repeats = ops.logical_and(repeats, shifted == ops.take(ids, last, axis=2))
    index = (constants.rows + constants.rank)[..., None] * vocabulary + ids
    counts = ops.segment_sum(
        ops.reshape(ops.cast(repeats, "int32"), (-1,)),
        ops.reshape(index, (-1,)),
        ops.shape(ids)[0] * search.beam_size * vocabulary,
    )
    return ops.reshape(counts, (-1, vocabulary)) > 0


def _score(search, log_probs, length, coverage, constants):
    """Returns s(Y, X) of hypotheses of one length, (B, K)."""
    ops = search.ops
    # s(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)     (Wu et al. 2016, equation 14)
    ranked = log_probs / length_norm(search, length, constants.penalties[0])
    if search.coverage_penalty:
        # cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))
        covered = ops.log(ops.clip(coverage, _UNCOVERED, 1.0)) * constants.real
        ranked = ranked + constants.penalties[1] * ops.sum(covered, axis=-1)
        # Whatever the penalty, a finished hypothesis is not a missing one.
        ranked = ops.maximum(ranked, LOW / 4)
    return ranked


def length_norm(search: Any, length: Tensor, penalty: Tensor) -> Any:
    """Returns lp(Y) = ((5 + |Y|) / 6)^α."""
    if not search.length_penalty:
        return 1.0
    return search.ops.power((5.0 + length) / 6.0, penalty)


def _finish(search, beam, ends, ids, ranked, finished, constants):
    """Moves hypotheses that ended to the places after the `finished` (B, 1) ones."""
    ops = search.ops
    if search.beam_size == 1:
        moved, taken = ends, ids
    else:
        place = finished + ops.cumsum(ops.cast(ends, "int32"), axis=1) - 1
        move = ops.logical_and(
            ends[:, None], place[:, None] == constants.rank[..., None]
        )
        moved = ops.any(move, axis=-1)  # (B, K): this place is filled now
        source = ops.cast(ops.argmax(ops.cast(move, "int32"), axis=-1), "int32")
        taken = _pick(ops, ids, source, constants.rows)
        ranked = ops.take_along_axis(ranked, source, axis=1)
    done_ids = ops.where(moved[..., None], taken, beam.done_ids)
    return done_ids, ops.where(moved, ranked, beam.done)


def _prune(search, live, done, constants):
    """Drops live hypotheses if none can reach the best `n_best` finished ones.

    Log-probabilities only fall, and the length penalty is mildest at the limit, so no
    live hypothesis of a sentence can end above max log P / lp(limit).
    """
    ops = search.ops
    bound = ops.max(live, axis=1, keepdims=True) / constants.mildest
    if search.n_best == 1:
        settled = ops.max(done, axis=1, keepdims=True)
    else:
        settled = ops.top_k(done, search.n_best)[0][:, -1:]
    return ops.where(bound <= settled, LOW, live)


# === Rows ===


def keep(
    search: Any, chosen: Any, beam: BeamState, constants: SearchConstants
) -> tuple[BeamState, SearchConstants]:
    """Returns the state and the constants of the sentences at some places, int (n,)."""
    ops = search.ops
    rows = ops.take(constants.rows, chosen, axis=0) + constants.rank
    rows = ops.reshape(rows, (-1,))

    def take(values, names, places):
        def taken(x):
            return ops.take(x, places, axis=0) if getattr(x, "shape", ()) else x

        parts = {name: getattr(values, name) for name in names}
        return values._replace(**search.map_structure(taken, parts))

    beam = take(beam, ("state", "tokens"), rows)
    held = "memory", "limits", "prefix", "real", "mildest"
    constants = take(constants, held, chosen)
    names = "parents", "ids", "live", "done_ids", "done", "coverage"
    left = constants.rows[: len(chosen)]
    return take(beam, names, chosen), constants._replace(rows=left)


def _is_cache(values):
    """Whether an array has more than two axes: its rows are gathered a step later."""
    return values is not None and len(values.shape) > 2


def _pick(ops, values, index, first):
    """Returns values (B, K, n) of the hypotheses `index` (B, K)."""
    if isinstance(index, tuple):
        return values
    rows = ops.reshape(values, (-1, ops.shape(values)[2]))
    return ops.reshape(_pick_rows(ops, rows, index, first), ops.shape(values))


def _pick_rows(ops, values, index, first):
    """Returns values `(B * K, ...)` of the hypotheses `index` after `first` (B, 1)."""
    if isinstance(index, tuple):  # () with a beam of 1
        return values
    return ops.take(values, ops.reshape(index + first, (-1,)), axis=0)
